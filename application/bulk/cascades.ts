import type { Cascade } from '../../domain/bulk/session-events.ts';
import { RecordDeleted, RecordUpdated, recordStream } from '../../domain/entities/record.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import { dataOf, type EventCodec } from '../core/events/event-codec.ts';
import { logPages } from '../core/events/log-pages.ts';
import { tenantPrefix } from '../core/events/stream-name.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { CommitRun } from './row.ts';

export const NO_CASCADE: Cascade = { by_entity: [], total: 0 };

export interface Referrers {
  /** Whether any entity has a reference field whose target is this entity. */
  canPointTo(tenantId: string, entityName: string): Promise<boolean>;
  /** Records that refer to a record. */
  of(tenantId: string, recordId: string): AsyncIterable<{ readonly id: string }>;
}

/** Prefix of the ids of a session's deletions: a record's deletion id shows which session deleted the record. */
export const deletionPrefix = (sessionId: string): string => `bulk:${sessionId}:`;

export const isDeletionOf = (sessionId: string, deletionId: string): boolean =>
  deletionId.startsWith(deletionPrefix(sessionId));

/** Events per read: the event of a deletion holds the whole record. */
const PAGE = 64;

/**
 * Counts the records that the session deleted in addition to its rows, and the records in which it cleared references;
 * undefined for other operations than deletion. Reads the log, so that the counts include all runs.
 */
export const countCascade = async (
  deps: {
    readonly events: Pick<EventStore, 'readAll'>;
    readonly codec: EventCodec;
    readonly referrers: Pick<Referrers, 'canPointTo'>;
  },
  run: Pick<CommitRun, 'opParams' | 'tenantId' | 'sessionId' | 'entityName' | 'since'>,
  rows: readonly string[],
): Promise<Cascade | undefined> => {
  const { opParams, tenantId, sessionId, entityName, since } = run;
  if (opParams.kind !== 'delete') return undefined;
  if (!(await deps.referrers.canPointTo(tenantId, entityName))) return NO_CASCADE;
  const filter = {
    streamPrefix: `${tenantPrefix(tenantId)}${recordStream.category}-`,
    types: [RecordDeleted.type, RecordUpdated.type],
  };
  /** Entity names by record id. */
  const deleted = new Map<string, string>();
  /** Records in which any deletion cleared a reference; `by` is the deleted record to which the reference pointed. */
  const clears: { readonly id: string; readonly name: string; readonly by: string }[] = [];
  const slice = timeSlices.of(tenantId, 'countCascade');
  for await (const page of logPages(deps.events, { from: since, filter, limit: PAGE })) {
    for (const stored of page) {
      await slice.pause();
      const event = deps.codec.decodeOnce(stored);
      const gone = dataOf(RecordDeleted, event);
      if (gone !== undefined && isDeletionOf(sessionId, gone.deletion_id)) {
        deleted.set(gone.record_id, gone.entity_name);
      }
      const updated = dataOf(RecordUpdated, event);
      if (updated?.cleared_by !== undefined) {
        const { record_id: id, entity_name: name, cleared_by: by } = updated;
        clears.push({ id, name, by });
      }
    }
  }
  const cleared = new Map(clears.filter(({ by }) => deleted.has(by)).map(({ id, name }) => [id, name]));
  return cascadeOf(deleted, cleared, new Set(rows));
};

/** `deleted` and `cleared` hold entity names by record id. */
export const cascadeOf = (
  deleted: ReadonlyMap<string, string>,
  cleared: ReadonlyMap<string, string>,
  selected: ReadonlySet<string>,
): Cascade => {
  const beside = [...deleted].filter(([id]) => !selected.has(id));
  const kept = [...cleared].filter(([id]) => !deleted.has(id));
  const counted = (records: typeof beside, action: 'delete' | 'clear') => {
    const counts = new Map<string, number>();
    for (const [, name] of records) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].map(([entity_name, count]) => ({ entity_name, action, count }));
  };
  const by_entity = [...counted(beside, 'delete'), ...counted(kept, 'clear')].toSorted((a, b) =>
    a.entity_name < b.entity_name ? -1 : a.entity_name > b.entity_name ? 1 : 0,
  );
  return { by_entity, total: by_entity.reduce((sum, { count }) => sum + count, 0) };
};
