import { DomainError } from '../../domain/errors.ts';
import { tenantDecider } from '../../domain/tenancy/tenant.ts';
import {
  type AttemptOutcome,
  type Delivery,
  deliveryDecider,
  dropDelivery,
  recordAttempt,
  type ScheduledDelivery,
} from '../../domain/webhooks/delivery.ts';
import { retryAfterOf, retryDelayMs } from '../../domain/webhooks/schedule.ts';
import type { Subscription } from '../../domain/webhooks/subscription.ts';
import type { Cause, EventCodec, LoggedEvent } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import type { Clock } from '../ports/clock.ts';
import { type EventStore, type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { OutboundAnswer, OutboundHttp } from '../ports/outbound-http.ts';
import type { KeyRing } from '../sealing.ts';
import type { StreamState, StreamStates } from '../stream-states.ts';
import { PLATFORM, streamName } from '../streams.ts';
import { bodyOf, isWhole, partsOf } from './body.ts';
import { headersOf, type SigningKey, SigningKeys } from './signature.ts';
import { SubscriptionLookup } from './subscription-lookup.ts';
import { systemCause } from './system-cause.ts';

export interface AttemptDeps {
  readonly commands: CommandHandler;
  readonly states: StreamStates;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly keys: KeyRing;
  readonly http: Pick<OutboundHttp, 'request'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to 1: jitter. */
  readonly random: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly retrySeconds: readonly number[];
  readonly timeoutMs: number;
}

/** What became of an attempt, and how far the log is known of its delivery. */
export interface Made {
  readonly outcome: AttemptOutcome['kind'];
  readonly position: Position | undefined;
}

const MAX_RESPONSE_BYTES = 16 * 1024;
const MAX_ERROR = 500;
const RECORD_TRIES = 6;

/**
 * One attempt of one delivery: sign, call, record. It is recorded after the call, so that one that a crash cut off is
 * made again, under the same id, number and body; a record that comes too late changes nothing.
 */
export class Attempts {
  readonly #deps: AttemptDeps;
  readonly #subscriptions: SubscriptionLookup;
  readonly #secrets: SigningKeys;

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
    this.#subscriptions = new SubscriptionLookup(deps.states);
    this.#secrets = new SigningKeys(deps.keys);
  }

  /** Undefined for one that was deleted: what this node remembers may be older than what it was just told. */
  subscription(tenantId: string, id: string): Promise<Subscription | undefined> {
    return this.#subscriptions.look(tenantId, id);
  }

  /** Deliveries wait while the subscription is paused or the tenant suspended. */
  async waits(tenantId: string, { state }: Subscription): Promise<boolean> {
    if (state === 'paused') return true;
    const { state: tenant } = await this.#deps.states.load(PLATFORM, tenantDecider, tenantId);
    return tenant.exists && tenant.status === 'suspended';
  }

  /**
   * @param signal gives the call up; such an attempt is not recorded
   * @param own `made`: the first event of the delivery, for who has it at hand; `delivered` is told when the receiver
   * has taken it, before that is recorded
   * @returns undefined when there was nothing to do for now; without an outcome when nothing is due
   */
  async make(
    tenantId: string,
    deliveryId: string,
    signal: AbortSignal,
    { made, delivered }: { made?: LoggedEvent | undefined; delivered?: () => void } = {},
  ): Promise<Made | Pick<Made, 'position'> | undefined> {
    const { clock } = this.#deps;
    const { head, body } = await this.#look(tenantId, deliveryId, made);
    const { state, position } = head;
    // The read model was behind: nothing is due, and it will say so when it has come this far.
    if (state.kind !== 'scheduled' || state.dueAt === null || state.dueAt > clock.now()) return { position };
    const subscription = await this.subscription(tenantId, state.subscriptionId);
    if (subscription === undefined || (await this.waits(tenantId, subscription))) return undefined;
    const events = isWhole(body) ? body : await this.#bodyEvents(tenantId, deliveryId);
    const [first] = events;
    const secret = await this.#secrets.of(subscription.secret);
    // The key goes after the subscription: it is about to be dropped.
    if (secret === undefined || first === undefined) return undefined;
    const attempt = state.attempts + 1;
    const connection = `${tenantId}/${subscription.id}`;
    const answer = await this.#call(connection, state, subscription, secret, bodyOf(events), signal);
    const outcome = this.#outcomeOf(answer, attempt);
    if (outcome.kind === 'delivered') delivered?.();
    const record = { attempt, replayId: state.replay?.id, outcome };
    const recorded = await this.#record(tenantId, state, record, systemCause(first));
    return { outcome: outcome.kind, position: recorded };
  }

  /** A delivery as it is, and what has come to light of the events that hold its body. */
  async #look(
    tenantId: string,
    deliveryId: string,
    made: LoggedEvent | undefined,
  ): Promise<{ head: StreamState<Delivery>; body: readonly LoggedEvent[] }> {
    const { states } = this.#deps;
    const stream = streamName(tenantId, deliveryDecider.category, deliveryId);
    const cached = states.cached(stream);
    // The stream's name says which decider folded it.
    if (cached !== undefined) {
      return { head: cached as StreamState<Delivery>, body: made === undefined ? [] : [made] };
    }
    const body: LoggedEvent[] = [];
    const see = (event: LoggedEvent): void => void (event.revision === body.length && body.push(event));
    const head = await states.refresh(stream, deliveryDecider, see);
    return { head: head as StreamState<Delivery>, body: body.slice(0, partsOf(body[0])) };
  }

  /** Of a delivery whose subscription is gone. */
  async drop(tenantId: string, deliveryId: string): Promise<Position | undefined> {
    const [first] = await this.#bodyEvents(tenantId, deliveryId);
    if (first === undefined) return undefined;
    const { position } = await this.#deps.commands.execute({
      tenantId,
      decider: deliveryDecider,
      id: deliveryId,
      cause: systemCause(first),
      decide: dropDelivery,
    });
    this.#deps.states.drop(streamName(tenantId, deliveryDecider.category, deliveryId));
    return position;
  }

  async #bodyEvents(tenantId: string, deliveryId: string) {
    const { events, codec } = this.#deps;
    const stream = streamName(tenantId, deliveryDecider.category, deliveryId);
    const read = async (from: number, limit: number) =>
      (await events.readStream(stream, { from, limit })).map((stored) => codec.decode(stored));
    const [first] = await read(0, 1);
    if (first === undefined) return [];
    const parts = partsOf(first);
    return parts === 1 ? [first] : [first, ...(await read(1, parts - 1))];
  }

  async #call(
    reuse: string,
    { id, event, attempts }: ScheduledDelivery,
    { url, previous }: Subscription,
    secret: SigningKey,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<OutboundAnswer> {
    const { clock, http, timeoutMs } = this.#deps;
    const isGrace = previous !== undefined && clock.now() < previous.until;
    const before = isGrace ? await this.#secrets.of(previous.secret) : undefined;
    const signed = { event, deliveryId: id, attempt: attempts + 1, body, now: clock.now(), secret };
    const headers = headersOf({ ...signed, previous: before });
    const maxResponseBytes = MAX_RESPONSE_BYTES;
    return http.request({ url, method: 'POST', headers, body, timeoutMs, maxResponseBytes, reuse }, signal);
  }

  #outcomeOf(answer: OutboundAnswer, attempt: number): AttemptOutcome {
    const { clock, random, retrySeconds } = this.#deps;
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

  /** What happened outside is worth a few tries to write down: else it happens again. */
  async #record(
    tenantId: string,
    { id }: ScheduledDelivery,
    record: Parameters<typeof recordAttempt>[1],
    cause: Cause,
  ): Promise<Position | undefined> {
    const { commands, states, logger, sleep } = this.#deps;
    for (let tries = 1; ; tries += 1) {
      try {
        const { state, position } = await commands.execute({
          tenantId,
          decider: deliveryDecider,
          id,
          cause,
          decide: (current, at) => recordAttempt(current, record, at),
        });
        // Most are never looked at again: memory is for others.
        if (state.kind !== 'scheduled' || state.dueAt === null) {
          states.drop(streamName(tenantId, deliveryDecider.category, id));
        }
        return position;
      } catch (error) {
        const passes = error instanceof StoreUnavailable || isBusy(error);
        if (!passes || tries >= RECORD_TRIES) throw error;
        logger.warn({ err: error, delivery_id: id }, 'an attempt could not be recorded yet');
        await sleep(50 * 2 ** tries, NEVER);
      }
    }
  }
}

const NEVER = new AbortController().signal;

const isBusy = (error: unknown): boolean => error instanceof DomainError && error.code === 'unavailable';

/** A message from outside, so that it can be kept and shown: no control characters, at most 500 characters. */
const cut = (message: string): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  const plain = message.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return [...plain.slice(0, 2 * MAX_ERROR)].slice(0, MAX_ERROR).join('').toWellFormed();
};
