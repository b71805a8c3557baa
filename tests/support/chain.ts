import { createHash } from 'node:crypto';
import type { StoredEvent } from '../../application/ports/event-store.ts';

/**
 * Checks the hash chain by the published recipe: SHA-256 in hex over the lines prev_hash, stream, revision, id, type,
 * data text, metadata text without the member "hash".
 * @returns a sentence for each fault
 */
export const chainFaults = (
  events: readonly Pick<StoredEvent, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>[],
  from = 0,
  previous = '0'.repeat(64),
): string[] => {
  const faults: string[] = [];
  let expected = previous;
  events.forEach((event, index) => {
    const name = `${event.stream}@${event.revision}`;
    if (event.revision !== from + index) faults.push(`${name} is out of order`);
    const member = /"hash":"([0-9a-f]{64})",/.exec(event.metadata);
    const before = /"prev_hash":"([0-9a-f]{64})"/.exec(event.metadata)?.[1];
    if (member === null || before !== expected) faults.push(`${name} is not chained to its predecessor`);
    const rest = event.metadata.replace(member?.[0] ?? '', '');
    const lines = [
      before ?? '',
      event.stream,
      String(event.revision),
      event.id,
      event.type,
      event.data,
      rest,
    ];
    const digest = createHash('sha256').update(lines.join('\n'), 'utf8').digest('hex');
    if (digest !== member?.[1]) faults.push(`${name} does not match its hash`);
    expected = member?.[1] ?? '';
  });
  return faults;
};
