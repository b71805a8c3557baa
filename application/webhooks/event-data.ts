import { deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  JobOverridden,
  JobTransitioned,
  RecordCreated,
  RecordDeleted,
  RecordUpdated,
} from '../../domain/entities/record.ts';
import { FormSubmitted } from '../../domain/forms/submission.ts';
import {
  DeliveryBodyContinued,
  DeliveryScheduled,
  deliveryStream,
  type ScheduleDelivery,
} from '../../domain/webhooks/delivery.ts';
import type { DeliveredEvent, WebhookEvent } from '../../domain/webhooks/event-types.ts';
import { type AnyEvent, dataOf, type EventCodec, type LoggedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import type { EventStore } from '../ports/event-store.ts';

/** Makes the body of deliveries from an event, and the body to send from a delivery's stored events. */

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

/** A job has the id of its record. */
const jobOf = (data: { record_id: string; entity_name: string; from_state: string; to_state: string }) => ({
  job_id: data.record_id,
  ...entityOf(data),
  from_state: data.from_state,
  to_state: data.to_state,
});

/** The body of a delivery (specification, Webhook events, Envelope). */
export const envelopeText = (envelope: {
  readonly id: string;
  readonly event: DeliveredEvent;
  /** ms */
  readonly occurredAt: number;
  readonly tenantId: string;
  readonly data: Readonly<Record<string, unknown>>;
}): string =>
  JSON.stringify({
    id: envelope.id,
    event: envelope.event,
    occurred_at: new Date(envelope.occurredAt).toISOString(),
    tenant_id: envelope.tenantId,
    data: envelope.data,
  });

/** Maximum size (bytes, as JSON) of a body that is stored uncompressed. */
const PLAIN = 128 * 1024;
/** Maximum number of base64 characters in one part. */
const PART = 300_000;

/** The body as stored: plain, or compressed and split if long, so that each part fits into one event. */
export const storedBody = (body: string): Pick<ScheduleDelivery, 'encoding' | 'bodyParts'> => {
  if (Buffer.byteLength(JSON.stringify(body)) <= PLAIN) return { encoding: 'plain', bodyParts: [body] };
  const text = deflateRawSync(body).toString('base64');
  const bodyParts: string[] = [];
  for (let at = 0; at < text.length; at += PART) bodyParts.push(text.slice(at, at + PART));
  return { encoding: 'deflate', bodyParts };
};

/** Number of events that hold the body, according to the first of them. */
export const partsOf = (first: AnyEvent | undefined): number =>
  (first === undefined ? undefined : dataOf(DeliveryScheduled, first)?.parts) ?? 1;

/** Whether these are all events of a body. */
export const isWhole = (events: readonly AnyEvent[]): boolean =>
  events.length > 0 && events.length === partsOf(events[0]);

/** The bytes to send, from the events of a body in order. */
export const bodyOf = (events: readonly AnyEvent[]): Buffer => {
  const [first, ...rest] = events;
  const scheduled = first === undefined ? undefined : dataOf(DeliveryScheduled, first);
  if (scheduled === undefined || rest.length !== scheduled.parts - 1) {
    throw new Error('a delivery without its body');
  }
  if (scheduled.encoding === 'plain') return Buffer.from(scheduled.body);
  const text = rest.map((event) => dataOf(DeliveryBodyContinued, event)?.body ?? '').join('');
  return inflateRawSync(Buffer.from(scheduled.body + text, 'base64'));
};

/** Reads the events of a delivery's body; empty when the delivery does not exist. */
export const readBody = async (
  { events, codec }: { readonly events: EventStore; readonly codec: EventCodec },
  tenantId: string,
  id: string,
): Promise<readonly LoggedEvent[]> => {
  const stream = streamName(tenantId, deliveryStream.category, id);
  const read = async (from: number, limit: number) =>
    (await events.readStream(stream, { from, limit })).map((stored) => codec.decode(stored));
  const [first] = await read(0, 1);
  if (first === undefined) return [];
  const parts = partsOf(first);
  return parts === 1 ? [first] : [first, ...(await read(1, parts - 1))];
};
