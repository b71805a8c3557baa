import { z } from 'zod';
import type { Report } from './areas/area.ts';
import type { Fact } from './log.ts';

const resolved = z.looseObject({
  attempt: z.string(),
  first: z.number(),
  rows: z.array(z.looseObject({ record_id: z.string() })),
});
const previewed = z.looseObject({ attempt: z.string() });
const indexes = z.array(z.number());
const processed = z.looseObject({
  succeeded: indexes,
  skipped: indexes,
  errors: z.array(z.looseObject({ row: z.number() })),
});
const deleted = z.looseObject({ record_id: z.string(), deletion_id: z.string() });

/** Event types by which a row of a bulk session changes its record. */
const EFFECTS = new Set(['RecordUpdated', 'RecordDeleted', 'JobTransitioned']);

/** Each row of a bulk session has one outcome; a succeeded row was applied once, any other row never. */
export const checkBulkRows = (log: readonly Fact[], report: Report): void => {
  const effects = new Map<string, number>();
  for (const event of log) {
    const name = EFFECTS.has(event.type) ? rowOf(event) : undefined;
    if (name !== undefined) effects.set(name, (effects.get(name) ?? 0) + 1);
  }
  const sessions = log.filter(({ type }) => type.startsWith('Bulk'));
  for (const [stream, events] of Map.groupBy(sessions, (event) => event.stream)) {
    const id = stream.slice(stream.indexOf('.bulk-') + '.bulk-'.length);
    const { attempt } = previewed.parse(
      events.find(({ type }) => type === 'BulkPreviewed')?.facts ?? { attempt: '' },
    );
    const records = new Map<number, string>();
    for (const { type, facts } of events) {
      if (type !== 'BulkRowsResolved') continue;
      const { attempt: made, first, rows } = resolved.parse(facts);
      if (made === attempt) rows.forEach(({ record_id }, at) => void records.set(first + at, record_id));
    }
    const ended = new Set<number>();
    const succeeded = new Set<string>();
    for (const { type, facts } of events) {
      if (type !== 'BulkRowsProcessed') continue;
      const done = processed.parse(facts);
      for (const row of [...done.succeeded, ...done.skipped, ...done.errors.map((error) => error.row)]) {
        if (ended.has(row)) report(`row ${row} of session ${id} has two outcomes`);
        ended.add(row);
      }
      for (const row of done.succeeded) succeeded.add(records.get(row) ?? `row ${row}`);
    }
    if (events.some(({ type }) => type === 'BulkCommitted') && ended.size !== records.size)
      report(`session ${id} has ended with ${ended.size} of ${records.size} rows`);
    for (const record of new Set(records.values())) {
      const times = effects.get(`${id}:${record}`) ?? 0;
      if (times !== (succeeded.has(record) ? 1 : 0))
        report(
          `session ${id} has changed ${record} ${times} times, ${succeeded.has(record) ? 'and' : 'not'} by its outcome`,
        );
    }
  }
};

/** The session and the record of an effect; undefined for an effect of no session. */
const rowOf = ({ type, causation, facts }: Fact): string | undefined => {
  if (type !== 'RecordDeleted') return /^bulk:([^:]+:[^:]+)$/.exec(causation)?.[1];
  // Includes records that a cascade of the session has deleted.
  const { record_id, deletion_id } = deleted.parse(facts);
  const session = /^bulk:([^:]+):/.exec(deletion_id)?.[1];
  return session === undefined ? undefined : `${session}:${record_id}`;
};
