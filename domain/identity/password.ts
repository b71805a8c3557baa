import { DomainError, notFound } from '../core/errors.ts';
import { decided } from '../core/event.ts';
import {
  PasswordResetOffered,
  type RegisteredUser,
  type User,
  type UserEvent,
  UserPasswordSet,
} from './user.ts';

/** Decisions about a person's password (decision 47). */

/** 24 hours. */
export const RESET_MS = 86_400_000;

/** One answer for every reason: unknown, used, replaced, expired, and a person who is no longer active. */
export const invalidReset = (): DomainError =>
  new DomainError('invalid_credential', 'This link is not valid any more. Ask an admin for another one.');

/** @throws `not_found`, `invalid_transition` for a deactivated or forgotten person */
export const offerReset = (state: User, secretHash: string, now: number): readonly UserEvent[] => {
  if (!state.exists) throw notFound();
  if (state.status !== 'active') {
    const found = state.forgotten === undefined ? 'deactivated' : 'forgotten';
    throw new DomainError('invalid_transition', 'This person is not active.', { state: found, allowed: [] });
  }
  const expires_at = new Date(now + RESET_MS).toISOString();
  return decided(PasswordResetOffered, { user_id: state.id, secret_hash: secretHash, expires_at });
};

/** @param matchesSecret compares in constant time @throws `invalid_credential` */
export const checkReset = (
  state: User,
  matchesSecret: (hash: string) => boolean,
  now: number,
): RegisteredUser => {
  const isUsable =
    state.exists &&
    state.status === 'active' &&
    state.reset !== undefined &&
    matchesSecret(state.reset.secretHash) &&
    now < state.reset.expiresAt;
  if (!isUsable) throw invalidReset();
  return state;
};

/** Sets a password and ends the person's sessions. */
export const replacePassword = ({ id }: RegisteredUser, passwordHash: string): readonly UserEvent[] =>
  decided(UserPasswordSet, { user_id: id, password_hash: passwordHash, ends_sessions: true });
