import { type Tenant, tenantStream } from '../../domain/tenancy/tenant.ts';
import {
  type AttemptOutcome,
  deliveryStream,
  dropDelivery,
  type ScheduledDelivery,
} from '../../domain/webhooks/delivery.ts';
import { retryAfterOf, retryDelayMs } from '../../domain/webhooks/retry-delay.ts';
import type { Subscription } from '../../domain/webhooks/subscription.ts';
import type { Written } from '../core/commands/command.ts';
import type { StreamStates } from '../core/commands/stream-states.ts';
import type { EventCodec, LoggedEvent } from '../core/events/event-codec.ts';
import { PLATFORM } from '../core/events/stream-name.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { monotonic } from '../core/runtime/timers.ts';
import { continueSpan } from '../core/runtime/tracing.ts';
import { systemCauseOf } from '../core/subscriptions/caused-by.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { OutboundAnswer, OutboundHttp } from '../ports/outbound-http.ts';
import { AttemptRecorder, type RecorderDeps } from './attempt-recorder.ts';
import { bodyOf, isWhole, readBody } from './body.ts';
import { DeliveryReader, type Found, type FoundDelivery } from './delivery-reader.ts';
import { headersOf, type SigningKey, SigningKeys } from './signature.ts';
import { SubscriptionLookup } from './subscription-lookup.ts';

export interface AttemptDeps extends RecorderDeps {
  readonly states: StreamStates;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly http: Pick<OutboundHttp, 'request'>;
  /** Jitter, 0 to 1. */
  readonly random: () => number;
  readonly metrics: Pick<Metrics, 'deliveryAttempted'>;
  readonly retrySeconds: readonly number[];
  readonly timeoutMs: number;
}

/** Data already at hand for an attempt. */
export interface AttemptHints {
  /** The first event of the delivery. */
  readonly made?: LoggedEvent | undefined;
  /** From {@link DeliveryAttempts.gather}. */
  readonly found?: Found | undefined;
  /** Called on success, before that is recorded. */
  readonly delivered?: () => void;
  /** Other deliveries wait until the attempt is recorded. */
  readonly ordered?: boolean;
}

/** The outcome of an attempt, and the position of the delivery's last event. */
export type Made = Written<{ readonly outcome: AttemptOutcome['kind'] }>;

const MAX_RESPONSE_BYTES = 16 * 1024;
const MAX_ERROR = 500;

/**
 * One attempt of one delivery: sign, call, record. The record comes last, so that an interrupted attempt is made again
 * with the same id, number and body; a late record has no effect.
 */
export class DeliveryAttempts extends WithDeps<AttemptDeps> {
  readonly #subscriptions = new SubscriptionLookup(this.deps.streams);
  readonly #secrets = new SigningKeys(this.deps.keys);
  readonly #reader = new DeliveryReader(this.deps);
  readonly #recorder = new AttemptRecorder(this.deps);

  /** Undefined for a deleted subscription; reads the store when the cache does not have it. */
  subscription(tenantId: string, id: string): Promise<Subscription | undefined> {
    return this.#subscriptions.look(tenantId, id);
  }

  /** Deliveries wait while the subscription is paused or the tenant suspended. */
  async waits(tenantId: string, { state }: Subscription): Promise<boolean> {
    if (state === 'paused') return true;
    const { state: tenant } = await this.deps.streams.of(tenantStream, PLATFORM, tenantId).load();
    return isSuspended(tenant);
  }

  /** Reads deliveries together shortly before they are passed to {@link make}. The map belongs to the caller. */
  gather(tenantId: string, ids: readonly string[]): Promise<Map<string, FoundDelivery>> {
    return this.#reader.gather(tenantId, ids);
  }

  /** Records finished attempts now. */
  hurry(): void {
    this.#recorder.hurry();
  }

  /**
   * @param signal aborts the call; an aborted attempt is not recorded
   * @returns undefined when the delivery must wait; without an outcome when nothing is due
   */
  async make(
    tenantId: string,
    deliveryId: string,
    signal: AbortSignal,
    own: AttemptHints = {},
  ): Promise<Made | Pick<Made, 'position'> | undefined> {
    const { clock } = this.deps;
    const looked = this.#reader.look(tenantId, deliveryId, own);
    const { head, body } = looked instanceof Promise ? await looked : looked;
    const { state, position } = head;
    // The read model was behind: nothing is due, as it will show at this position.
    if (state.kind !== 'scheduled' || state.dueAt === null || state.dueAt > clock.now()) return { position };
    const events = isWhole(body) ? body : await readBody(this.deps, tenantId, deliveryId);
    const [first] = events;
    // Checked last, so that changes during the read of a long body count.
    const subscription = this.#goesOn(tenantId, state) ?? (await this.#mayGo(tenantId, state));
    if (subscription === undefined) return undefined;
    const secret = this.#secrets.known(subscription.secret) ?? (await this.#secrets.of(subscription.secret));
    // The subscription's key is destroyed after its deletion: the delivery will be dropped.
    if (secret === undefined || first === undefined) return undefined;
    const { previous } = subscription;
    const isGrace = previous !== undefined && clock.now() < previous.until;
    const before = isGrace ? await this.#secrets.of(previous.secret) : undefined;
    const attempt = state.attempts + 1;
    const connection = `${tenantId}/${subscription.id}`;
    const calledAt = clock.now();
    const began = monotonic();
    const span = continueSpan('webhook', 'client', first.traceparent, {
      ...{ 'event.name': state.event, 'delivery.attempt': attempt, 'tenant.id': tenantId },
    });
    const traced = { body: bodyOf(events), traceparent: span?.traceparent };
    const answer = await this.#call(connection, state, subscription, secret, before, traced, signal);
    const outcome = this.#outcomeOf(answer, attempt);
    span?.end(
      answer.kind === 'answered' ? { 'http.response.status_code': answer.status } : {},
      outcome.kind === 'delivered' ? undefined : outcome.kind,
    );
    this.deps.metrics.deliveryAttempted(outcome.kind, (monotonic() - began) / 1000);
    if (outcome.kind === 'delivered') own.delivered?.();
    const ms = clock.now() - calledAt;
    const record = { attempt, replayId: state.replay?.id, ms, outcome };
    const urgency = outcome.kind === 'delivered' && own.ordered !== true ? 'with others' : 'soon';
    const done = { tenantId, deliveryId, head, record, cause: systemCauseOf(first, 'webhooks') };
    return { outcome: outcome.kind, position: await this.#recorder.record(done, urgency) };
  }

  /** The subscription if it is active, from cached states only. */
  #goesOn(tenantId: string, { subscriptionId }: ScheduledDelivery): Subscription | undefined {
    const subscription = this.#subscriptions.known(tenantId, subscriptionId);
    const tenant = this.deps.streams.of(tenantStream, PLATFORM, tenantId).cached();
    if (subscription?.state !== 'active' || tenant === undefined) return undefined;
    return isSuspended(tenant.state) ? undefined : subscription;
  }

  async #mayGo(tenantId: string, { subscriptionId }: ScheduledDelivery): Promise<Subscription | undefined> {
    const subscription = await this.subscription(tenantId, subscriptionId);
    if (subscription === undefined || (await this.waits(tenantId, subscription))) return undefined;
    return subscription;
  }

  /** Drops a delivery of a deleted subscription. */
  async drop(tenantId: string, deliveryId: string): Promise<Position | undefined> {
    const [first] = await readBody(this.deps, tenantId, deliveryId);
    if (first === undefined) return undefined;
    const { position } = await this.deps.streams
      .of(deliveryStream, tenantId, deliveryId)
      .execute({ cause: systemCauseOf(first, 'webhooks') }, dropDelivery);
    this.deps.streams.of(deliveryStream, tenantId, deliveryId).evict();
    return position;
  }

  #call(
    reuse: string,
    { id, event, attempts }: ScheduledDelivery,
    { url }: Subscription,
    secret: SigningKey,
    before: SigningKey | undefined,
    { body, traceparent }: { readonly body: Buffer; readonly traceparent: string | undefined },
    signal: AbortSignal,
  ): Promise<OutboundAnswer> {
    const { clock, http, timeoutMs } = this.deps;
    const signed = { event, deliveryId: id, attempt: attempts + 1, body, now: clock.now(), secret };
    const signatures = headersOf({ ...signed, previous: before });
    const headers = traceparent === undefined ? signatures : { ...signatures, traceparent };
    const maxResponseBytes = MAX_RESPONSE_BYTES;
    return http.request({ url, method: 'POST', headers, body, timeoutMs, maxResponseBytes, reuse }, signal);
  }

  #outcomeOf(answer: OutboundAnswer, attempt: number): AttemptOutcome {
    const { clock, random, retrySeconds } = this.deps;
    switch (answer.kind) {
      case 'refused':
        return { kind: 'refused', error: cut(answer.message) };
      case 'failed': {
        const delayMs = retryDelayMs({ retrySeconds, attempt, random: random() });
        return { kind: 'failed', responseCode: null, error: cut(answer.message), delayMs };
      }
      case 'answered': {
        const { status, headers, body } = answer;
        if (status >= 200 && status < 300) return { kind: 'delivered', responseCode: status };
        const retryAfterMs = retryAfterOf(status, headers['retry-after'], clock.now());
        const delayMs = retryDelayMs({ retrySeconds, attempt, random: random(), retryAfterMs });
        const text = body.toString('utf8').trim();
        const error = cut(text === '' ? `HTTP ${status}` : `HTTP ${status}: ${text}`);
        return { kind: 'failed', responseCode: status, error, delayMs };
      }
      default:
        return answer satisfies never;
    }
  }
}

const isSuspended = (tenant: Tenant): boolean => tenant.exists && tenant.status === 'suspended';

/** Cleans an external message for storing and display: no control characters, at most 500 characters. */
const cut = (message: string): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed
  const plain = message.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return [...plain.slice(0, 2 * MAX_ERROR)].slice(0, MAX_ERROR).join('').toWellFormed();
};
