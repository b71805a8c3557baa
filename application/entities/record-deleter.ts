import {
  RecordDeleted,
  RecordDeletionAbandoned,
  RecordDeletionStarted,
} from '../../domain/entities/record.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { causeOf, withReadModel } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Deletions } from './deletions.ts';

/**
 * Continues deletions of crashed processes (docs/decisions/0011-references-are-registered-first.md); a repeat of a
 * finished step has no effect.
 */
export const recordDeleter = ({ deletions }: { readonly deletions: Deletions }): Subscriber => ({
  name: 'record-deleter',
  types: [RecordDeletionStarted.type, RecordDeletionAbandoned.type, RecordDeleted.type],
  handle: (event) => withReadModel(() => goOn(deletions, event)),
});

const goOn = async (deletions: Deletions, event: LoggedEvent): Promise<void> => {
  const { tenantId, position } = event;
  const started = dataOf(RecordDeletionStarted, event);
  const abandoned = dataOf(RecordDeletionAbandoned, event);
  const deleted = dataOf(RecordDeleted, event);
  const data = started ?? abandoned ?? deleted;
  if (data === undefined) return;
  const { record_id: id, deletion_id: deletionId, cascade_of: rootId = id } = data;
  const attempt = { tenantId, cause: causeOf(event), deletionId, rootId };
  if (id !== rootId) {
    if (started !== undefined) await deletions.follow(attempt, id);
    // An older version of this code deleted a record before it cleared the references to that record.
    else if (deleted !== undefined) await deletions.finish(attempt, id, position);
  } else if (started !== undefined) await deletions.resume(attempt);
  else if (deleted !== undefined) await deletions.sweep(attempt, position);
  else await deletions.takeBack(attempt, position);
};
