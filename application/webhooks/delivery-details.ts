import { notFound } from '../../domain/core/errors.ts';
import {
  DeliveryDeadLettered,
  DeliveryFailed,
  DeliveryRefused,
  DeliverySucceeded,
  deliveryStream,
  type ScheduledDelivery,
} from '../../domain/webhooks/delivery.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { EventStore } from '../ports/event-store.ts';
import { bodyOf, readBody } from './body.ts';

export interface PastAttempt {
  readonly attempt: number;
  /** ms; when its outcome was recorded. */
  readonly at: number;
  readonly status: 'delivered' | 'failed' | 'refused';
  readonly responseCode: number | null;
  /** Duration of the call; null for attempts of former versions. */
  readonly ms: number | null;
  readonly error: string | null;
}

interface DeliveryDetail {
  readonly delivery: ScheduledDelivery;
  /** The text of the body as sent. */
  readonly body: string;
  /** The latest, oldest first. */
  readonly history: readonly PastAttempt[];
}

/** A replay adds an attempt, and there may be any number of replays. */
const MAX_ATTEMPTS_SHOWN = 100;

/** Reads a delivery with its body and its attempts from its stream. */
export class DeliveryDetails extends WithDeps<{
  readonly streams: Streams;
  readonly events: EventStore;
  readonly codec: EventCodec;
}> {
  /** @throws `not_found` */
  async read(tenantId: string, id: string): Promise<DeliveryDetail> {
    const stream = this.deps.streams.of(deliveryStream, tenantId, id);
    const { state: delivery, revision } = await stream.refresh();
    if (delivery.kind !== 'scheduled') throw notFound();
    const body = await readBody(this.deps, tenantId, id);
    // A replayed attempt has two events: the request and the outcome.
    const limit = 2 * MAX_ATTEMPTS_SHOWN;
    const from = Math.max(body.length, revision + 1 - limit);
    const events = await this.deps.events.readStream(stream.name, { from, limit });
    const history = events.flatMap((stored) => attemptOf(this.deps.codec.decode(stored)) ?? []);
    return { delivery, body: bodyOf(body).toString('utf8'), history: history.slice(-MAX_ATTEMPTS_SHOWN) };
  }
}

const attemptOf = (event: LoggedEvent): PastAttempt | undefined => {
  const delivered = dataOf(DeliverySucceeded, event);
  const refused = dataOf(DeliveryRefused, event);
  const failed = dataOf(DeliveryFailed, event) ?? dataOf(DeliveryDeadLettered, event);
  const data = delivered ?? refused ?? failed;
  if (data === undefined) return undefined;
  return {
    attempt: data.attempt,
    at: event.at,
    status: delivered !== undefined ? 'delivered' : refused !== undefined ? 'refused' : 'failed',
    responseCode: (delivered ?? failed)?.response_code ?? null,
    ms: data.ms ?? null,
    error: (refused ?? failed)?.error ?? null,
  };
};
