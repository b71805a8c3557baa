import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { DeliveryBodyContinued, DeliveryScheduled } from '../../domain/webhooks/delivery.ts';
import { type AnyEvent, dataOf } from '../core/events/event-codec.ts';

/**
 * A stored body: plain, or compressed and split when long, since it must fit into an event together with other data.
 */
export interface StoredBody {
  readonly encoding: 'plain' | 'deflate';
  readonly bodyParts: readonly string[];
}

/** Bytes as JSON. */
const PLAIN = 128 * 1024;
/** Characters of base64. */
const PART = 300_000;

export const storedBody = (body: string): StoredBody => {
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
