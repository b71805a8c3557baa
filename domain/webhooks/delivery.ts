import { z } from 'zod';
import { notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type DecisionContext, folded, onlyIn, type StreamType } from '../core/stream-type.ts';

/**
 * A delivery of one event to one subscription (specification, Webhook delivery; decisions, section 8). The stream is
 * `delivery-<id>`; the id is the envelope's. The first events of the stream hold the body, which is never rebuilt.
 */

// Events

const base = { delivery_id: z.string(), subscription_id: z.string() };

/** `deflate`: the body is compressed and in base64; {@link DeliveryBodyContinued} may hold further parts. */
export const DeliveryScheduled = defineEvent(
  'DeliveryScheduled',
  z.object({
    ...base,
    event: z.string(),
    body: z.string(),
    encoding: z.enum(['plain', 'deflate']),
    /** Number of events that hold the body, including this one. */
    parts: z.number(),
  }),
);

export const DeliveryBodyContinued = defineEvent(
  'DeliveryBodyContinued',
  z.object({ ...base, part: z.number(), body: z.string() }),
);

const attempt = {
  ...base,
  /** Same number as in `X-Service-Attempt`. */
  attempt: z.number(),
  /** The replay request that this attempt answers. */
  replay_id: z.string().optional(),
  /** Duration of the call; missing in events that earlier versions of the code appended. */
  ms: z.number().optional(),
};

export const DeliverySucceeded = defineEvent(
  'DeliverySucceeded',
  z.object({ ...attempt, event: z.string(), response_code: z.number() }),
);

const failure = { ...attempt, response_code: z.number().nullable(), error: z.string() };

/** A retry follows. */
export const DeliveryFailed = defineEvent(
  'DeliveryFailed',
  z.object({ ...failure, next_attempt_at: z.string() }),
);

/** No retry is left: the delivery enters the dead-letter log. */
export const DeliveryDeadLettered = defineEvent('DeliveryDeadLettered', z.object(failure));

/** The guard for outbound calls refused the destination. */
export const DeliveryRefused = defineEvent('DeliveryRefused', z.object({ ...attempt, error: z.string() }));

/** `order`: sort key among deliveries that are replayed together (time of the dead letter); not in single replays. */
export const DeliveryReplayRequested = defineEvent(
  'DeliveryReplayRequested',
  z.object({ ...base, replay_id: z.string(), due_at: z.string(), order: z.string().optional() }),
);

/** The delivery's subscription was deleted. */
export const DeliveryDropped = defineEvent('DeliveryDropped', z.object(base));

export const deliveryEvents = [
  DeliveryScheduled,
  DeliveryBodyContinued,
  DeliverySucceeded,
  DeliveryFailed,
  DeliveryDeadLettered,
  DeliveryRefused,
  DeliveryReplayRequested,
  DeliveryDropped,
] as const;
export type DeliveryEvent = EventOf<(typeof deliveryEvents)[number]>;

/** The first attempt and its retries; a replay is one further attempt. */
const MAX_ATTEMPTS = 5;

// State

interface Replay {
  readonly id: string;
  readonly dueAt: number;
  readonly order?: string | undefined;
}

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dead'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Times are in ms. */
export interface ScheduledDelivery {
  readonly kind: 'scheduled';
  readonly id: string;
  readonly subscriptionId: string;
  readonly event: string;
  readonly status: DeliveryStatus;
  /** True once the delivery is delivered, refused or a dead letter: only replays follow. */
  readonly ended: boolean;
  readonly attempts: number;
  readonly responseCode: number | null;
  readonly lastError: string | null;
  readonly createdAt: number;
  readonly lastAttemptAt: number | null;
  /** Earliest time of the next attempt; null when there is none. */
  readonly dueAt: number | null;
  /** When the delivery entered the dead-letter log. */
  readonly deadAt: number | null;
  /** A requested replay that no attempt has answered yet. */
  readonly replay?: Replay | undefined;
  readonly lastReplayId?: string | undefined;
}
export type Delivery = { readonly kind: 'none' } | { readonly kind: 'dropped' } | ScheduledDelivery;

const scheduled = (data: z.output<typeof DeliveryScheduled.schema>, at: number): ScheduledDelivery => ({
  kind: 'scheduled',
  id: data.delivery_id,
  subscriptionId: data.subscription_id,
  event: data.event,
  status: 'pending',
  ended: false,
  attempts: 0,
  responseCode: null,
  lastError: null,
  createdAt: at,
  lastAttemptAt: null,
  dueAt: at,
  deadAt: null,
});

type Attempt = Pick<z.output<typeof DeliveryRefused.schema>, 'attempt' | 'replay_id'>;

/** Keeps a replay that was requested during the attempt, as it is still due. */
const attempted = (state: ScheduledDelivery, data: Attempt, at: number): ScheduledDelivery => {
  const { replay, ...rest } = state;
  const owed = replay !== undefined && replay.id !== data.replay_id ? replay : undefined;
  return {
    ...rest,
    ...(owed === undefined ? {} : { replay: owed }),
    status: 'pending',
    attempts: data.attempt,
    lastAttemptAt: at,
    dueAt: owed?.dueAt ?? null,
    deadAt: null,
  };
};

const endAs = (state: ScheduledDelivery, status: ScheduledDelivery['status']): ScheduledDelivery => ({
  ...state,
  ended: true,
  status: state.replay === undefined ? status : 'pending',
});

const onScheduled = onlyIn((state: Delivery): state is ScheduledDelivery => state.kind === 'scheduled');

export const deliveryStream: StreamType<Delivery, DeliveryEvent> = {
  category: 'delivery',
  stateVersion: 2,
  initial: { kind: 'none' },
  evolve: folded({
    DeliveryScheduled: (_state, data, { at }) => scheduled(data, at),
    DeliveryBodyContinued: (state) => state,
    DeliverySucceeded: onScheduled((state, data, { at }) =>
      endAs(
        { ...attempted(state, data, at), responseCode: data.response_code, lastError: null },
        'delivered',
      ),
    ),
    DeliveryFailed: onScheduled((state, data, { at }) => {
      const { response_code: responseCode, error: lastError, next_attempt_at } = data;
      const after = attempted(state, data, at);
      return { ...after, responseCode, lastError, dueAt: after.dueAt ?? Date.parse(next_attempt_at) };
    }),
    DeliveryDeadLettered: onScheduled((state, data, { at }) => {
      const { response_code: responseCode, error: lastError } = data;
      const after = endAs({ ...attempted(state, data, at), responseCode, lastError }, 'dead');
      return after.status === 'dead' ? { ...after, deadAt: at } : after;
    }),
    DeliveryRefused: onScheduled((state, data, { at }) =>
      endAs({ ...attempted(state, data, at), responseCode: null, lastError: data.error }, 'failed'),
    ),
    DeliveryReplayRequested: onScheduled((state, { replay_id: id, due_at, order }) => {
      const replay = { id, dueAt: Date.parse(due_at), ...(order === undefined ? {} : { order }) };
      return { ...state, status: 'pending', dueAt: replay.dueAt, deadAt: null, replay, lastReplayId: id };
    }),
    DeliveryDropped: onScheduled(() => ({ kind: 'dropped' })),
  }),
};

// Commands and decide

const idsOf = (state: ScheduledDelivery) => ({
  delivery_id: state.id,
  subscription_id: state.subscriptionId,
});

export interface ScheduleDelivery extends Pick<ScheduledDelivery, 'id' | 'subscriptionId' | 'event'> {
  readonly encoding: 'plain' | 'deflate';
  /** At least one part. */
  readonly bodyParts: readonly string[];
}

/** Schedules once: an existing or dropped delivery is unchanged. */
export const scheduleDelivery = (state: Delivery, command: ScheduleDelivery): readonly DeliveryEvent[] => {
  if (state.kind !== 'none') return [];
  const { id: delivery_id, subscriptionId: subscription_id, event, encoding } = command;
  const [body = '', ...rest] = command.bodyParts;
  const ids = { delivery_id, subscription_id };
  return [
    { type: 'DeliveryScheduled', data: { ...ids, event, body, encoding, parts: rest.length + 1 } },
    ...rest.map((part, index): DeliveryEvent => {
      return { type: 'DeliveryBodyContinued', data: { ...ids, part: index + 1, body: part } };
    }),
  ];
};

export type AttemptOutcome =
  | { readonly kind: 'delivered'; readonly responseCode: number }
  | {
      readonly kind: 'failed';
      /** Null when there was no answer. */
      readonly responseCode: number | null;
      readonly error: string;
      /** Delay of the next attempt; ignored when no attempt is left. */
      readonly delayMs: number;
    }
  | { readonly kind: 'refused'; readonly error: string };

export interface RecordAttempt {
  readonly attempt: number;
  /** Id of the replay that was due when the attempt began. */
  readonly replayId: string | undefined;
  /** Duration of the call. */
  readonly ms?: number | undefined;
  readonly outcome: AttemptOutcome;
}

/** Records an attempt's outcome; no events when the attempt is already recorded or the delivery was dropped. */
export const recordAttempt = (
  state: Delivery,
  { attempt: number, replayId, ms, outcome }: RecordAttempt,
  { now }: DecisionContext,
): readonly DeliveryEvent[] => {
  if (state.kind !== 'scheduled' || number !== state.attempts + 1) return [];
  const data = { ...idsOf(state), attempt: number, replay_id: replayId, ms };
  switch (outcome.kind) {
    case 'delivered': {
      const { responseCode: response_code } = outcome;
      return decided(DeliverySucceeded, { ...data, event: state.event, response_code });
    }
    case 'refused':
      return decided(DeliveryRefused, { ...data, error: outcome.error });
    case 'failed': {
      const failed = { ...data, response_code: outcome.responseCode, error: outcome.error };
      if (state.ended || number >= MAX_ATTEMPTS) return decided(DeliveryDeadLettered, failed);
      const next_attempt_at = new Date(now + outcome.delayMs).toISOString();
      return decided(DeliveryFailed, { ...failed, next_attempt_at });
    }
    default:
      return outcome satisfies never;
  }
};

/**
 * Requests one further attempt, or makes a waiting attempt due now; repeating a request changes nothing. A request
 * with `order` is part of a replay of the dead-letter log, and skips a delivery that is not in this log.
 * @throws `not_found`
 */
export const requestReplay = (state: Delivery, replay: Replay): readonly DeliveryEvent[] => {
  if (state.kind !== 'scheduled') throw notFound();
  if (state.lastReplayId === replay.id) return [];
  if (replay.order !== undefined && state.status !== 'dead') return [];
  return decided(DeliveryReplayRequested, {
    ...idsOf(state),
    replay_id: replay.id,
    due_at: new Date(replay.dueAt).toISOString(),
    order: replay.order,
  });
};

/** Ends a delivery whose subscription was deleted; no events when the delivery is already dropped. */
export const dropDelivery = (state: Delivery): readonly DeliveryEvent[] =>
  state.kind === 'scheduled' ? decided(DeliveryDropped, idsOf(state)) : [];
