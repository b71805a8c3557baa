import type { z } from 'zod';
import type { Decider, DecisionContext } from '../decider.ts';
import { notFound } from '../errors.ts';
import type { EventMeta } from '../event.ts';
import type { DeliveryEvent, DeliveryScheduled } from './delivery-events.ts';

/**
 * One delivery of one event to one subscription (specification, Webhook delivery; decisions, section 8). The stream is
 * `delivery-<id>`; the id is the envelope's. Its body is in the first event and never made again.
 */

/** First try and retries; a replay is one further attempt. */
export const MAX_ATTEMPTS = 5;

// State

export interface Replay {
  readonly id: string;
  /** ms */
  readonly dueAt: number;
  readonly order?: string | undefined;
}

export interface ScheduledDelivery {
  readonly kind: 'scheduled';
  readonly id: string;
  readonly subscriptionId: string;
  readonly event: string;
  readonly status: 'pending' | 'delivered' | 'failed' | 'dead';
  /** True from its first end on: the retry table is done with. */
  readonly ended: boolean;
  readonly attempts: number;
  readonly responseCode: number | null;
  readonly lastError: string | null;
  /** ms */
  readonly createdAt: number;
  readonly lastAttemptAt: number | null;
  /** When the next attempt may begin; null when none is to come. */
  readonly dueAt: number | null;
  /** Since when it is in the dead-letter log. */
  readonly deadAt: number | null;
  /** A replay that was asked for and not answered by an attempt. */
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

type Attempted = Extract<
  DeliveryEvent,
  { type: 'DeliverySucceeded' | 'DeliveryFailed' | 'DeliveryDeadLettered' | 'DeliveryRefused' }
>;

/** A replay that was asked for while the attempt was under way is still to come. */
const attempted = (state: ScheduledDelivery, { data }: Attempted, at: number): ScheduledDelivery => {
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

const ended = (state: ScheduledDelivery, status: ScheduledDelivery['status']): ScheduledDelivery => ({
  ...state,
  ended: true,
  status: state.replay === undefined ? status : 'pending',
});

export const evolveDelivery = (
  state: Delivery,
  event: DeliveryEvent,
  { at }: Pick<EventMeta, 'at'>,
): Delivery => {
  if (event.type === 'DeliveryScheduled') return scheduled(event.data, at);
  if (state.kind !== 'scheduled') return state;
  switch (event.type) {
    case 'DeliveryBodyContinued':
      return state;
    case 'DeliverySucceeded': {
      const after = attempted(state, event, at);
      return ended({ ...after, responseCode: event.data.response_code }, 'delivered');
    }
    case 'DeliveryFailed': {
      const { response_code: responseCode, error: lastError, next_attempt_at } = event.data;
      const after = attempted(state, event, at);
      return { ...after, responseCode, lastError, dueAt: after.dueAt ?? Date.parse(next_attempt_at) };
    }
    case 'DeliveryDeadLettered': {
      const { response_code: responseCode, error: lastError } = event.data;
      const after = ended({ ...attempted(state, event, at), responseCode, lastError }, 'dead');
      return after.status === 'dead' ? { ...after, deadAt: at } : after;
    }
    case 'DeliveryRefused':
      return ended(
        { ...attempted(state, event, at), responseCode: null, lastError: event.data.error },
        'failed',
      );
    case 'DeliveryReplayRequested': {
      const { replay_id: id, due_at, order } = event.data;
      const replay = { id, dueAt: Date.parse(due_at), ...(order === undefined ? {} : { order }) };
      return { ...state, status: 'pending', dueAt: replay.dueAt, deadAt: null, replay, lastReplayId: id };
    }
    case 'DeliveryDropped':
      return { kind: 'dropped' };
    default:
      return event satisfies never;
  }
};

export const deliveryDecider: Decider<Delivery, DeliveryEvent> = {
  category: 'delivery',
  stateVersion: 1,
  initial: { kind: 'none' },
  evolve: evolveDelivery,
  isShort: true,
};

// Decide

export interface ScheduleDelivery {
  readonly id: string;
  readonly subscriptionId: string;
  readonly event: string;
  readonly encoding: 'plain' | 'deflate';
  /** At least one. */
  readonly bodyParts: readonly string[];
}

/** Once: what was scheduled before, or dropped, stays as it is. */
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
      /** Until the next attempt, if there is to be one. */
      readonly delayMs: number;
    }
  | { readonly kind: 'refused'; readonly error: string };

export interface RecordAttempt {
  readonly attempt: number;
  /** Of the replay that was owed when the attempt began. */
  readonly replayId: string | undefined;
  readonly outcome: AttemptOutcome;
}

/** An attempt that somebody else has recorded meanwhile is not recorded again. */
export const recordAttempt = (
  state: Delivery,
  { attempt: number, replayId, outcome }: RecordAttempt,
  { now }: DecisionContext,
): readonly DeliveryEvent[] => {
  if (state.kind !== 'scheduled' || number !== state.attempts + 1) return [];
  const data = {
    delivery_id: state.id,
    subscription_id: state.subscriptionId,
    attempt: number,
    ...(replayId === undefined ? {} : { replay_id: replayId }),
  };
  switch (outcome.kind) {
    case 'delivered': {
      const { responseCode: response_code } = outcome;
      return [{ type: 'DeliverySucceeded', data: { ...data, event: state.event, response_code } }];
    }
    case 'refused':
      return [{ type: 'DeliveryRefused', data: { ...data, error: outcome.error } }];
    case 'failed': {
      const failed = { ...data, response_code: outcome.responseCode, error: outcome.error };
      if (state.ended || number >= MAX_ATTEMPTS) return [{ type: 'DeliveryDeadLettered', data: failed }];
      const next_attempt_at = new Date(now + outcome.delayMs).toISOString();
      return [{ type: 'DeliveryFailed', data: { ...failed, next_attempt_at } }];
    }
    default:
      return outcome satisfies never;
  }
};

/**
 * One further attempt; of a delivery that still waits for one, that attempt at once. The same request again changes
 * nothing; one with `order`, for the dead-letter log, changes nothing for what has left it.
 * @throws `not_found`
 */
export const requestReplay = (state: Delivery, replay: Replay): readonly DeliveryEvent[] => {
  if (state.kind !== 'scheduled') throw notFound();
  if (state.lastReplayId === replay.id) return [];
  if (replay.order !== undefined && state.status !== 'dead') return [];
  return [
    {
      type: 'DeliveryReplayRequested',
      data: {
        delivery_id: state.id,
        subscription_id: state.subscriptionId,
        replay_id: replay.id,
        due_at: new Date(replay.dueAt).toISOString(),
        ...(replay.order === undefined ? {} : { order: replay.order }),
      },
    },
  ];
};

export const dropDelivery = (state: Delivery): readonly DeliveryEvent[] =>
  state.kind === 'scheduled'
    ? [
        {
          type: 'DeliveryDropped',
          data: { delivery_id: state.id, subscription_id: state.subscriptionId },
        },
      ]
    : [];
