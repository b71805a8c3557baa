import { deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  DeliveryBodyContinued,
  DeliveryScheduled,
  deliveryStream,
  type ScheduleDelivery,
} from '../../domain/webhooks/delivery.ts';
import type { DeliveredEvent } from '../../domain/webhooks/event-types.ts';
import { type AnyEvent, dataOf, type EventCodec, type LoggedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import type { EventStore } from '../ports/event-store.ts';

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

/** Bytes as JSON. */
const PLAIN = 128 * 1024;
/** Characters of base64. */
const PART = 300_000;

/** Plain, or compressed and split when long, since it must fit into an event together with other data. */
export const storedBody = (body: string): Pick<ScheduleDelivery, 'encoding' | 'bodyParts'> => {
  if (Buffer.byteLength(JSON.stringify(body)) <= PLAIN) return { encoding: 'plain', bodyParts: [body] };
  const text = deflateRawSync(body).toString('base64');
  const bodyParts: string[] = [];
  for (let at = 0; at < text.length; at += PART) bodyParts.push(text.slice(at, at + PART));
  return { encoding: 'deflate', bodyParts };
};

/** Number of events that hold the body, from the first one. */
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

/** Reads the events of a delivery's body; empty when it does not exist. */
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
