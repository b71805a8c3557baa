import {
  JobOverridden,
  JobTransitioned,
  RecordCreated,
  RecordDeleted,
  RecordUpdated,
} from '../../domain/entities/record.ts';
import { FormSubmitted } from '../../domain/forms/submission.ts';
import type { WebhookEvent } from '../../domain/webhooks/event-types.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';

/** Event types that webhooks deliver. */
export const WEBHOOK_SOURCES = [
  JobTransitioned,
  JobOverridden,
  FormSubmitted,
  RecordCreated,
  RecordUpdated,
  RecordDeleted,
].map(({ type }) => type);

/** The public name and data of an event (decisions, section 8, Data). */
export interface WebhookEventData {
  readonly event: WebhookEvent;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Undefined for an event that no webhook delivers. */
export const webhookDataOf = (logged: LoggedEvent): WebhookEventData | undefined => {
  const actor = { kind: logged.actor.kind, id: logged.actor.id };
  const moved = dataOf(JobTransitioned, logged);
  if (moved !== undefined) {
    return { event: 'job.transition', data: { ...jobOf(moved), event_name: moved.event_name, actor } };
  }
  const overridden = dataOf(JobOverridden, logged);
  if (overridden !== undefined) {
    const { reason } = overridden;
    return {
      event: 'job.admin_override',
      data: { ...jobOf(overridden), event_name: 'admin_override', actor, reason },
    };
  }
  const form = dataOf(FormSubmitted, logged);
  if (form !== undefined) {
    const { form_id, submission_id, entity_name, entity_id, values } = form;
    return { event: 'form.submitted', data: { form_id, submission_id, entity_name, entity_id, values } };
  }
  return recordDataOf(logged);
};

const recordDataOf = (logged: LoggedEvent): WebhookEventData | undefined => {
  const created = dataOf(RecordCreated, logged);
  if (created !== undefined) {
    return { event: 'entity.created', data: { ...entityOf(created), values: created.values, version: 1 } };
  }
  const updated = dataOf(RecordUpdated, logged);
  if (updated !== undefined) {
    const { values, changed, version } = updated;
    return { event: 'entity.updated', data: { ...entityOf(updated), values, changed, version } };
  }
  const deleted = dataOf(RecordDeleted, logged);
  if (deleted !== undefined) {
    const { values, version } = deleted;
    return { event: 'entity.deleted', data: { ...entityOf(deleted), values, version } };
  }
  return undefined;
};

const entityOf = (data: { record_id: string; entity_name: string }) => ({
  entity_name: data.entity_name,
  entity_id: data.record_id,
});

/** A job's id is its record's. */
const jobOf = (data: { record_id: string; entity_name: string; from_state: string; to_state: string }) => ({
  job_id: data.record_id,
  ...entityOf(data),
  from_state: data.from_state,
  to_state: data.to_state,
});
