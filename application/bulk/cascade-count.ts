import type { Cascade } from '../../domain/bulk/session-events.ts';
import { recordDecider } from '../../domain/entities/record.ts';
import { RecordDeleted, RecordUpdated } from '../../domain/entities/record-events.ts';
import { dataOf, type EventCodec } from '../codec.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import { tenantPrefix } from '../streams.ts';
import { cascadeOf } from './deletion-plan.ts';
import { isDeletionOf } from './row-job.ts';

const PAGE = 1000;

/**
 * What the deletions of a session took along and cleared, counted in the log itself: so it is right whoever did it, and
 * however often they were cut off.
 */
export const countCascade = async (
  { events, codec }: { readonly events: EventStore; readonly codec: EventCodec },
  tenantId: string,
  sessionId: string,
  selected: ReadonlySet<string>,
  since: Position,
): Promise<Cascade> => {
  const filter = {
    streamPrefix: `${tenantPrefix(tenantId)}${recordDecider.category}-`,
    types: [RecordDeleted.type, RecordUpdated.type],
  };
  /** Entity names by id. */
  const deleted = new Map<string, string>();
  const cleared = new Map<string, string>();
  for (let from = since; ; ) {
    const page = await events.readAll({ from, filter, limit: PAGE });
    for (const stored of page) {
      const event = codec.decodeOnce(stored);
      const gone = dataOf(RecordDeleted, event);
      if (gone !== undefined && isDeletionOf(sessionId, gone.deletion_id)) {
        deleted.set(gone.record_id, gone.entity_name);
      }
      // A reference is cleared after its target is deleted.
      const updated = dataOf(RecordUpdated, event);
      if (updated?.cleared_by !== undefined && deleted.has(updated.cleared_by)) {
        cleared.set(updated.record_id, updated.entity_name);
      }
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    from = last.position;
  }
  const beside = [...deleted].filter(([id]) => !selected.has(id));
  const kept = [...cleared].filter(([id]) => !deleted.has(id));
  return cascadeOf(
    beside.map(([, name]) => name),
    kept.map(([, name]) => name),
  );
};
