import { z } from 'zod';
import { DomainError } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type DecisionContext, folded, type StreamType } from '../core/stream-type.ts';

/**
 * An e-mail address within a tenant. No append covers two streams, so an address is reserved, then the user is
 * registered, then the reservation becomes a claim. An unused reservation expires after a minute. The stream is named
 * by a keyed hash of the address (NFC, lower case), and does not hold the address itself.
 */

// Events

const holder = z.object({ email_hash: z.string(), user_id: z.string() });

export const EmailReserved = defineEvent('EmailReserved', holder);
export const EmailClaimed = defineEvent('EmailClaimed', holder);
export const EmailReleased = defineEvent('EmailReleased', holder);

export const emailEvents = [EmailReserved, EmailClaimed, EmailReleased] as const;
export type EmailEvent = EventOf<(typeof emailEvents)[number]>;

// State

export type Email =
  | { readonly status: 'free' }
  | { readonly status: 'reserved'; readonly userId: string; readonly since: number }
  | { readonly status: 'claimed'; readonly userId: string };

export const emailStream: StreamType<Email, EmailEvent> = {
  category: 'email',
  stateVersion: 1,
  initial: { status: 'free' },
  evolve: folded({
    EmailReserved: (_state, { user_id: userId }, { at }) => ({ status: 'reserved', userId, since: at }),
    EmailClaimed: (_state, { user_id: userId }) => ({ status: 'claimed', userId }),
    EmailReleased: () => ({ status: 'free' }),
  }),
};

// Commands and decide

export const RESERVATION_MS = 60_000;

export type EmailHolder = z.output<typeof holder>;

/** The user who holds the address by a claim or an unexpired reservation; undefined when the address is free. */
export const holderOf = (state: Email, context: DecisionContext): string | undefined => {
  const lapsed = state.status === 'reserved' && context.now - state.since >= RESERVATION_MS;
  return state.status === 'free' || lapsed ? undefined : state.userId;
};

const taken = (): DomainError =>
  new DomainError('already_exists', 'A user with this e-mail already exists.', { field: 'email' });

/** @throws `already_exists` when another user holds the address */
export const reserveEmail = (
  state: Email,
  data: EmailHolder,
  context: DecisionContext,
): readonly EmailEvent[] => {
  const userId = holderOf(state, context);
  if (userId === undefined) return decided(EmailReserved, data);
  if (userId !== data.user_id) throw taken();
  return [];
};

/** @throws `already_exists` when the reservation expired and another user took the address */
export const claimEmail = (state: Email, data: EmailHolder): readonly EmailEvent[] => {
  if (state.status !== 'free' && state.userId !== data.user_id) throw taken();
  return state.status === 'claimed' ? [] : decided(EmailClaimed, data);
};

export const releaseEmail = (state: Email, data: EmailHolder): readonly EmailEvent[] =>
  state.status !== 'free' && state.userId === data.user_id ? decided(EmailReleased, data) : [];
