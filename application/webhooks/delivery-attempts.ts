import { PLATFORM } from '../../domain/core/platform.ts';
import { truncate } from '../../domain/core/text.ts';
import { tenantStream } from '../../domain/tenancy/tenant.ts';
import { type AttemptOutcome, deliveryStream, dropDelivery } from '../../domain/webhooks/delivery.ts';
import { retryAfterOf, retryDelayMs } from '../../domain/webhooks/retry-delay.ts';
import {
  SUBSCRIPTIONS,
  type Subscription,
  subscriptionIn,
  subscriptionsStream,
} from '../../domain/webhooks/subscription.ts';
import type { Written } from '../core/commands/command.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { EventCodec } from '../core/events/event-codec.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { monotonic } from '../core/runtime/timers.ts';
import { continueSpan } from '../core/runtime/tracing.ts';
import { systemCauseOf } from '../core/subscriptions/caused-by.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { OutboundAnswer, OutboundHttp } from '../ports/outbound-http.ts';
import type { DeliveryBatches, KnownDelivery } from './delivery-batches.ts';
import { bodyOf, isWhole, readBody } from './event-data.ts';
import { headersOf, SigningKeys } from './signature.ts';

export interface AttemptHints extends KnownDelivery {
  /** Called on success, before the success is recorded. */
  readonly onDelivered?: () => void;
  /** Whether other deliveries wait until the attempt is recorded. */
  readonly ordered?: boolean;
}

/** The outcome of an attempt, and the position of the delivery's last event. */
type AttemptResult = Written<{ readonly outcome: AttemptOutcome['kind'] }>;

const MAX_RESPONSE_BYTES = 16 * 1024;
const MAX_ERROR = 500;
/** For a subscription that a restored log has, although its key was destroyed or is not in the restored key store. */
const NO_SECRET = {
  kind: 'failed',
  message: 'The signing secret cannot be opened. Delete this subscription and create another one.',
} as const;

/**
 * Makes one attempt of a delivery: signs, calls, records. The record comes last, so that an interrupted attempt is made
 * again with the same id, number and body; a late record has no effect.
 */
export class DeliveryAttempts extends WithDeps<{
  readonly streams: Streams;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly deliveries: DeliveryBatches;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly http: Pick<OutboundHttp, 'request'>;
  /** Jitter, 0 to 1. */
  readonly random: () => number;
  readonly metrics: Pick<Metrics, 'deliveryAttempted'>;
  readonly retrySeconds: readonly number[];
  readonly timeoutMs: number;
}> {
  readonly #secrets = new SigningKeys(this.deps);

  /**
   * The subscription if its deliveries may be sent; `waits` while it is paused or its tenant is suspended. Reads the
   * store before it reports a subscription as deleted.
   */
  async activeSubscription(tenantId: string, id: string): Promise<Subscription | 'waits' | 'deleted'> {
    const { streams } = this.deps;
    const subscriptions = await streams
      .of(subscriptionsStream, tenantId, SUBSCRIPTIONS)
      .loadWhere((cached) => subscriptionIn(cached, id) !== undefined);
    const subscription = subscriptionIn(subscriptions, id);
    if (subscription === undefined) return 'deleted';
    if (subscription.state === 'paused') return 'waits';
    const { state: tenant } = await streams.of(tenantStream, PLATFORM, tenantId).load();
    return tenant.exists && tenant.status === 'suspended' ? 'waits' : subscription;
  }

  /**
   * @param signal aborts the call; an aborted attempt is not recorded
   * @returns undefined when the delivery cannot be sent now, and the caller must read the subscription again; a result
   * without an outcome when nothing is due
   */
  async attempt(
    tenantId: string,
    deliveryId: string,
    signal: AbortSignal,
    hints: AttemptHints,
  ): Promise<AttemptResult | Pick<AttemptResult, 'position'> | undefined> {
    const { clock, deliveries, http, timeoutMs } = this.deps;
    const { loaded, body: known } = await deliveries.load(tenantId, deliveryId, hints);
    const { state, position } = loaded;
    // Nothing is due: the read model was behind. Once it has folded `position`, it no longer lists this attempt as due.
    if (state.kind !== 'scheduled' || state.dueAt === null || state.dueAt > clock.now()) return { position };
    const events = isWhole(known) ? known : await readBody(this.deps, tenantId, deliveryId);
    const [first] = events;
    // Checks the subscription last, so that changes during the read of a long body count.
    const subscription = await this.activeSubscription(tenantId, state.subscriptionId);
    if (typeof subscription === 'string') return undefined;
    const secret = await this.#secrets.of(subscription.secret);
    if (first === undefined) return undefined;
    // The secret's key is destroyed when the subscription is deleted: the delivery will be dropped.
    if (secret === undefined && (await this.#isDeleted(tenantId, subscription.id))) return undefined;
    const isGrace = subscription.previous !== undefined && clock.now() < subscription.previous.until;
    const previous = isGrace ? await this.#secrets.of(subscription.previous.secret) : undefined;
    const attempt = state.attempts + 1;
    const calledAt = clock.now();
    const began = monotonic();
    const span = continueSpan('webhook', 'client', first.traceparent, {
      'event.name': state.event,
      'delivery.attempt': attempt,
      'tenant.id': tenantId,
    });
    const body = bodyOf(events);
    const headers =
      secret && headersOf({ event: state.event, deliveryId, attempt, body, now: calledAt, secret, previous });
    const answer =
      headers === undefined
        ? NO_SECRET
        : await http.request(
            {
              url: subscription.url,
              method: 'POST',
              headers: span === undefined ? headers : { ...headers, traceparent: span.traceparent },
              body,
              timeoutMs,
              maxResponseBytes: MAX_RESPONSE_BYTES,
              reuse: `${tenantId}/${subscription.id}`,
            },
            signal,
          );
    const outcome = this.#outcomeOf(answer, attempt);
    span?.end(
      answer.kind === 'answered' ? { 'http.response.status_code': answer.status } : {},
      outcome.kind === 'delivered' ? undefined : outcome.kind,
    );
    this.deps.metrics.deliveryAttempted(outcome.kind, (monotonic() - began) / 1000);
    if (outcome.kind === 'delivered') hints.onDelivered?.();
    const ms = clock.now() - calledAt;
    const record = { attempt, replayId: state.replay?.id, ms, outcome };
    const urgency = outcome.kind === 'delivered' && hints.ordered !== true ? 'with others' : 'soon';
    const done = { tenantId, deliveryId, loaded, record, cause: systemCauseOf(first, 'webhooks') };
    return { outcome: outcome.kind, position: await deliveries.record(done, urgency, signal) };
  }

  /** Whether the subscription is deleted in the store: the cached state may be older. */
  async #isDeleted(tenantId: string, id: string): Promise<boolean> {
    const { state } = await this.deps.streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS).refresh();
    return subscriptionIn(state, id) === undefined;
  }

  #outcomeOf(answer: OutboundAnswer | typeof NO_SECRET, attempt: number): AttemptOutcome {
    const { clock, random, retrySeconds } = this.deps;
    switch (answer.kind) {
      case 'refused':
        return { kind: 'refused', error: cleanMessage(answer.message) };
      case 'failed': {
        const delayMs = retryDelayMs({ retrySeconds, attempt, random: random() });
        return { kind: 'failed', responseCode: null, error: cleanMessage(answer.message), delayMs };
      }
      case 'answered': {
        const { status, headers, body } = answer;
        if (status >= 200 && status < 300) return { kind: 'delivered', responseCode: status };
        const retryAfterMs = retryAfterOf(status, headers['retry-after'], clock.now());
        const delayMs = retryDelayMs({ retrySeconds, attempt, random: random(), retryAfterMs });
        const text = body.toString('utf8').trim();
        const error = cleanMessage(text === '' ? `HTTP ${status}` : `HTTP ${status}: ${text}`);
        return { kind: 'failed', responseCode: status, error, delayMs };
      }
      default:
        return answer satisfies never;
    }
  }

  /** Drops a delivery of a deleted subscription. */
  async drop(tenantId: string, deliveryId: string): Promise<Position | undefined> {
    const [first] = await readBody(this.deps, tenantId, deliveryId);
    if (first === undefined) return undefined;
    const stream = this.deps.streams.of(deliveryStream, tenantId, deliveryId);
    const { position } = await stream.execute({ cause: systemCauseOf(first, 'webhooks') }, dropDelivery);
    stream.evict();
    return position;
  }
}

/** Cleans an external message for storing and display: no control characters, at most 500 characters. */
const cleanMessage = (message: string): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed
  return truncate(message.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' '), MAX_ERROR);
};
