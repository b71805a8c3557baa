import { notFound } from '../../domain/core/errors.ts';
import {
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
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { systemCauseOf } from '../core/subscriptions/caused-by.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import { envelopeText, storedBody } from './body.ts';

/** A delivery in a dead-letter log. */
interface DeadLetter {
  readonly id: string;
  /** RFC 3339; orders the log, ties by id. */
  readonly deadAt: string;
}

/** A dead-letter log at a position or later, oldest first. */
export type DeadLetterLog = (
  tenantId: string,
  subscriptionId: string,
  position: Position | undefined,
) => AsyncIterable<DeadLetter>;

/** Tests and replays of deliveries (specification, Webhooks; decisions, section 8). */
export class WebhookDeliveries extends WithDeps<{
  readonly streams: Streams;
  readonly clock: Clock;
  readonly deadLetters: DeadLetterLog;
  readonly end: () => Promise<Position | undefined>;
}> {
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
    const { subscriptionId } = await this.#delivery(tenantId, deliveryId);
    await this.#checkNotPaused(tenantId, subscriptionId);
    const replayId = context.newId();
    const { position } = await this.deps.streams
      .of(deliveryStream, tenantId, deliveryId)
      .execute(context, (current, { now }) => requestReplay(current, { id: replayId, dueAt: now }));
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
    for await (const { deadAt } of this.deps.deadLetters(tenantId, id, await this.deps.end())) {
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

  /** One after another, so that the order holds after an interruption. Safe to repeat. */
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

  /** @throws `not_found` */
  async #delivery(tenantId: string, id: string): Promise<ScheduledDelivery> {
    const stream = this.deps.streams.of(deliveryStream, tenantId, id);
    const state = await stream.loadWhere(({ kind }) => kind === 'scheduled');
    if (state.kind !== 'scheduled') throw notFound();
    return state;
  }
}
