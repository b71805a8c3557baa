import { notFound } from '../../domain/core/errors.ts';
import {
  DeliveryDeadLettered,
  DeliveryFailed,
  DeliveryRefused,
  DeliverySucceeded,
  deliveryStream,
  requestReplay,
  type ScheduledDelivery,
  scheduleDelivery,
} from '../../domain/webhooks/delivery.ts';
import { TEST_DATA, TEST_EVENT } from '../../domain/webhooks/event-types.ts';
import {
  checkNotPaused,
  replayDeadLetters,
  SUBSCRIPTIONS,
  subscriptionIn,
  subscriptionsStream,
  WebhookDeadLettersReplayed,
} from '../../domain/webhooks/subscription.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../core/events/event-codec.ts';
import { systemCauseOf, withReadModel } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import { bodyOf, envelopeText, readBody, storedBody } from './event-data.ts';

/** A delivery in a dead-letter log. */
interface DeadLetter {
  readonly id: string;
  /** RFC 3339. The log is in the order of these times, then of ids. */
  readonly deadAt: string;
}

/** Reads a subscription's dead-letter log as of a position or later, oldest first. */
export type DeadLetterLog = (
  tenantId: string,
  subscriptionId: string,
  position: Position | undefined,
) => AsyncIterable<DeadLetter>;

export interface PastAttempt {
  readonly attempt: number;
  /** When the outcome was recorded (ms). */
  readonly at: number;
  readonly status: 'delivered' | 'failed' | 'refused';
  readonly responseCode: number | null;
  /** Duration of the call (ms); null for attempts that earlier versions of the code recorded. */
  readonly ms: number | null;
  readonly error: string | null;
}

interface DeliveryDetail {
  readonly delivery: ScheduledDelivery;
  /** The text of the body as sent. */
  readonly body: string;
  /** The latest attempts, oldest first. */
  readonly history: readonly PastAttempt[];
}

/** A limit, since each replay adds an attempt and the number of replays is unlimited. */
const MAX_ATTEMPTS_SHOWN = 100;

/** Use cases on deliveries: reading, tests and replays (specification, Webhooks; decisions, section 8). */
export class WebhookDeliveries extends WithDeps<{
  readonly streams: Streams;
  readonly clock: Clock;
  readonly deadLetters: DeadLetterLog;
  readonly events: EventStore;
  readonly codec: EventCodec;
}> {
  /** Reads a delivery with its body and its attempts from its stream. @throws `not_found` */
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

  /** @throws `not_found`, `subscription_paused` */
  async test(
    tenantId: string,
    id: string,
    context: RequestContext,
  ): Promise<Written<{ deliveryId: string }>> {
    await this.#checkNotPaused(tenantId, id);
    const deliveryId = context.newId();
    const occurredAt = this.deps.clock.now();
    const body = envelopeText({ id: deliveryId, event: TEST_EVENT, occurredAt, tenantId, data: TEST_DATA });
    const { position } = await this.deps.streams
      .of(deliveryStream, tenantId, deliveryId)
      .execute(context, (state) =>
        scheduleDelivery(state, {
          id: deliveryId,
          subscriptionId: id,
          event: TEST_EVENT,
          ...storedBody(body),
        }),
      );
    return { deliveryId, position };
  }

  /** @throws `not_found`, `subscription_paused` */
  async replay(tenantId: string, deliveryId: string, context: RequestContext): Promise<Position | undefined> {
    const stream = this.deps.streams.of(deliveryStream, tenantId, deliveryId);
    const delivery = await stream.loadWhere(({ kind }) => kind === 'scheduled');
    if (delivery.kind !== 'scheduled') throw notFound();
    await this.#checkNotPaused(tenantId, delivery.subscriptionId);
    const id = context.newId();
    const { position } = await stream.execute(context, (current, { now: dueAt }) =>
      requestReplay(current, { id, dueAt }),
    );
    return position;
  }

  /**
   * Requests a replay of the whole dead-letter log, which {@link replayEach} carries out.
   * @returns the number of deliveries
   * @throws `not_found`, `subscription_paused`
   */
  async replayDeadLetters(
    tenantId: string,
    id: string,
    context: RequestContext,
  ): Promise<Written<{ replayed: number }>> {
    await this.#checkNotPaused(tenantId, id);
    let count = 0;
    let until = '';
    for await (const { deadAt } of this.deps.deadLetters(tenantId, id, await this.deps.events.end())) {
      count += 1;
      until = deadAt;
    }
    const replayId = context.newId();
    const { events, position } = await this.deps.streams
      .of(subscriptionsStream, tenantId, SUBSCRIPTIONS)
      .execute(context, (state) => replayDeadLetters(state, id, { id: replayId, until, count }));
    const noted = events.map((event) => dataOf(WebhookDeadLettersReplayed, event)?.count ?? 0);
    return { replayed: noted[0] ?? 0, position };
  }

  /** Requests the replays one after another, so that their order holds after an interruption. Safe to repeat. */
  async replayEach(
    event: LoggedEvent,
    asked: { readonly subscription_id: string; readonly replay_id: string; readonly until: string },
  ): Promise<void> {
    const { tenantId, position, at } = event;
    const { subscription_id: id, replay_id: replayId, until } = asked;
    for await (const { id: deliveryId, deadAt } of this.deps.deadLetters(tenantId, id, position)) {
      if (deadAt > until) return;
      await this.deps.streams
        .of(deliveryStream, tenantId, deliveryId)
        .execute({ cause: systemCauseOf(event, 'webhooks') }, (state) =>
          state.kind === 'scheduled' ? requestReplay(state, { id: replayId, dueAt: at, order: deadAt }) : [],
        );
    }
  }

  /** @throws `not_found`, `subscription_paused` */
  async #checkNotPaused(tenantId: string, id: string): Promise<void> {
    const stream = this.deps.streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS);
    checkNotPaused(await stream.loadWhere((cached) => subscriptionIn(cached, id)?.state === 'active'), id);
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

/** Requests replays of the deliveries in a dead-letter log; continues after a crash. */
export const deadLetterReplayer = (deps: { readonly webhookDeliveries: WebhookDeliveries }): Subscriber => ({
  name: 'webhook-dead-letter-replayer',
  types: [WebhookDeadLettersReplayed.type],
  handle: async (event) => {
    const asked = dataOf(WebhookDeadLettersReplayed, event);
    if (asked !== undefined) await withReadModel(() => deps.webhookDeliveries.replayEach(event, asked));
  },
});
