import { randomUUID } from 'node:crypto';
import type { StoredEvent } from '../../application/ports/event-store.ts';
import type { ImportedLog, LogImport } from '../../infrastructure/event-store/log-import.ts';
import { formatPosition } from '../../infrastructure/event-store/positions.ts';

/** Metadata like the product's, and texts that parsing and writing again would change. */
const METADATA = [
  '{"tenant_id":"acme","hash":"ab"}',
  '{"b":1,"a":{"__proto__":1}}',
  '{ "spaced" : 1 }',
  '{"$position":"0000000000000001"}',
  '{"$metadata":"text"}',
  '{"2":"two","1":"one"}',
  '[1,2]',
  '{"n":1e400}',
];

/** A log of several tenants. @param gap distance of two positions; 1 as in an embedded log */
export const exportedEvents = (count: number, gap: number): StoredEvent[] => {
  const revisions = new Map<string, number>();
  return Array.from({ length: count }, (_, n) => {
    const stream = `t${n % 3}.note-${Math.floor(n / 7) % 40}`;
    const revision = (revisions.get(stream) ?? -1) + 1;
    revisions.set(stream, revision);
    return {
      id: randomUUID(),
      type: n % 5 === 0 ? 'NoteRemoved' : 'NoteTaken',
      data: JSON.stringify({ n, text: 'größer \u2028 😀' }),
      metadata: METADATA[n % METADATA.length] ?? '{}',
      stream,
      revision,
      position: formatPosition((n + 1) * gap),
    };
  });
};

export const describedLog = (events: readonly StoredEvent[], id: string = randomUUID()): ImportedLog => ({
  id,
  events: events.length,
  end: events.at(-1)?.position,
});

export const isNew = async (): Promise<void> => undefined;

/** Imports all events in appends of 100. */
export const importAll = async (target: LogImport, events: readonly StoredEvent[]): Promise<void> => {
  const log = describedLog(events);
  await target.begin(log, isNew);
  for (let at = 0; at < events.length; at += 100) await target.append(events.slice(at, at + 100));
  await target.finish(log);
  await target.close();
};
