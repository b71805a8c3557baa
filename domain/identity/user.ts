import { z } from 'zod';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type Changes, folded, onlyIn, type StreamType } from '../core/stream-type.ts';

/**
 * A person of a tenant (specification, Authentication; decisions, section 3). The person's own key seals name, e-mail
 * and password hash.
 */

// Events

const person = { kind: 'person', id: 'user_id' } as const;
const role = z.enum(['admin', 'operator']);

export const UserRegistered = defineEvent(
  'UserRegistered',
  z.object({
    user_id: z.string(),
    email: z.string(),
    display_name: z.string(),
    role,
    /** `token`: created by the first request with a signed credential; `sso`: by the first sign-in at the provider. */
    origin: z.enum(['admin', 'token', 'sso']),
  }),
  { personal: { email: person, display_name: person } },
);

/** `password_hash` is an argon2id hash in PHC form. */
export const UserPasswordSet = defineEvent(
  'UserPasswordSet',
  z.object({
    user_id: z.string(),
    password_hash: z.string(),
    /** Set when tokens issued to the person before this event are no longer accepted (decision 47). */
    ends_sessions: z.literal(true).optional(),
  }),
  { personal: { password_hash: person }, secret: ['password_hash'] },
);

/** An admin made a one-time link. A later link or a new password makes it invalid. */
export const PasswordResetOffered = defineEvent(
  'PasswordResetOffered',
  z.object({
    user_id: z.string(),
    /** SHA-256 of the link's secret, lower-case hex. */
    secret_hash: z.string(),
    /** An instant. */
    expires_at: z.string(),
  }),
);

export const UserRenamed = defineEvent(
  'UserRenamed',
  z.object({ user_id: z.string(), display_name: z.string() }),
  { personal: { display_name: person } },
);

export const UserRoleChanged = defineEvent('UserRoleChanged', z.object({ user_id: z.string(), role }));

export const UserStatusChanged = defineEvent(
  'UserStatusChanged',
  z.object({ user_id: z.string(), status: z.enum(['active', 'deactivated']) }),
);

/**
 * The person stays inactive. The person's key is destroyed at once, and again after each restore of keys
 * (application/core/privacy/erasures.ts).
 */
export const UserForgotten = defineEvent(
  'UserForgotten',
  z.object({
    user_id: z.string(),
    /** Names the stream of the address to release, since the address can no longer be opened. */
    email_hash: z.string().optional(),
  }),
);

export const userEvents = [
  UserRegistered,
  UserPasswordSet,
  PasswordResetOffered,
  UserRenamed,
  UserRoleChanged,
  UserStatusChanged,
  UserForgotten,
] as const;
export type UserEvent = EventOf<(typeof userEvents)[number]>;

// State

export interface RegisteredUser {
  readonly exists: true;
  readonly id: string;
  /** Sealed. */
  readonly email: string;
  /** Sealed. */
  readonly displayName: string;
  readonly role: 'admin' | 'operator';
  readonly status: 'active' | 'deactivated';
  /** Sealed; undefined while the person has no password. */
  readonly passwordHash: string | undefined;
  readonly createdAt: number;
  /** The unused one-time link for a new password. */
  readonly reset?: { readonly secretHash: string; readonly expiresAt: number } | undefined;
  /** Seconds since 1970 when all sessions last ended: tokens issued earlier are no longer accepted. */
  readonly sessionsSince?: number | undefined;
  /** How many times all sessions were ended; a session holds the number from the time of its sign-in. */
  readonly sessionEnds?: number | undefined;
  /** Revision of this stream at which the person became an active admin; undefined for all other persons. */
  readonly adminSince?: number | undefined;
  /** Set once the person is forgotten: sealed texts can never be opened again. */
  readonly forgotten?: { readonly emailHash: string | undefined } | undefined;
}
export type User = { readonly exists: false } | RegisteredUser;

const onUser = onlyIn((state: User): state is RegisteredUser => state.exists);

const evolve = folded<User, UserEvent>({
  UserRegistered: (_state, data, { at }) => ({
    exists: true,
    id: data.user_id,
    email: data.email,
    displayName: data.display_name,
    role: data.role,
    status: 'active',
    passwordHash: undefined,
    createdAt: at,
  }),
  UserPasswordSet: onUser((user, { password_hash: passwordHash, ends_sessions }, { at }) => ({
    ...user,
    passwordHash,
    reset: undefined,
    ...(ends_sessions === true
      ? { sessionsSince: Math.floor(at / 1000), sessionEnds: (user.sessionEnds ?? 0) + 1 }
      : {}),
  })),
  PasswordResetOffered: onUser((user, { secret_hash: secretHash, expires_at }) => ({
    ...user,
    reset: { secretHash, expiresAt: Date.parse(expires_at) },
  })),
  UserRenamed: onUser((user, { display_name: displayName }) => ({ ...user, displayName })),
  UserRoleChanged: onUser((user, { role }) => ({ ...user, role })),
  UserStatusChanged: onUser((user, { status }) => ({ ...user, status })),
  UserForgotten: onUser((user, { email_hash: emailHash }) => ({
    ...user,
    status: 'deactivated',
    passwordHash: undefined,
    reset: undefined,
    forgotten: { emailHash },
  })),
});

export const userStream: StreamType<User, UserEvent> = {
  category: 'user',
  stateVersion: 5,
  initial: { exists: false },
  evolve: (state, event, meta) => {
    const next = evolve(state, event, meta);
    if (!next.exists) return next;
    const isAdmin = next.role === 'admin' && next.status === 'active';
    return { ...next, adminSince: isAdmin ? (next.adminSince ?? meta.revision) : undefined };
  },
};

// Commands

export interface RegisterUser extends Pick<RegisteredUser, 'email' | 'displayName' | 'role'> {
  readonly userId: string;
  readonly origin: z.output<typeof UserRegistered.schema>['origin'];
  readonly passwordHash?: string | undefined;
}

export interface ChangeUser
  extends Changes<Pick<RegisteredUser, 'displayName' | 'role' | 'status' | 'passwordHash'>> {
  /** The person's present name in the clear, to detect equal values. */
  readonly presentName: string;
  /** The `adminSince` that was withdrawn; required for a change that ends the rights of an active admin. */
  readonly withdrawn?: number | undefined;
}

interface ForgetUser {
  readonly by: string;
  /** Undefined when the e-mail can no longer be opened. */
  readonly emailHash: string | undefined;
  /** The `adminSince` that was withdrawn; required to forget an active admin. */
  readonly withdrawn?: number | undefined;
}

// Decide

/** Registering the same id again changes nothing. */
export const registerUser = (state: User, command: RegisterUser): readonly UserEvent[] => {
  if (state.exists) return [];
  const { userId: user_id, email, displayName: display_name, role, origin, passwordHash } = command;
  const registered = decided(UserRegistered, { user_id, email, display_name, role, origin });
  if (passwordHash === undefined) return registered;
  return [...registered, ...decided(UserPasswordSet, { user_id, password_hash: passwordHash })];
};

/** @throws `conflict` for an active admin whose rights are not withdrawn (domain/identity/admins.ts) */
const checkWithdrawn = (user: RegisteredUser, withdrawn: number | undefined): void => {
  if (user.adminSince === undefined || user.adminSince === withdrawn) return;
  throw new DomainError('conflict', 'The person became an admin in the meantime. Try again.');
};

/**
 * @throws `not_found` for an unknown user, `invalid_transition` for a forgotten user, `conflict` when admins would
 * deactivate or demote themselves, or when the person became an admin in the meantime
 */
export const changeUser = (state: User, command: ChangeUser, by: string): readonly UserEvent[] => {
  if (!state.exists) throw notFound();
  if (state.forgotten !== undefined) {
    throw new DomainError('invalid_transition', 'This person was erased and cannot be changed.', {
      state: 'forgotten',
      allowed: [],
    });
  }
  if (command.status === 'deactivated' || command.role === 'operator') {
    if (by === state.id && state.role === 'admin') {
      throw new DomainError('conflict', 'You cannot deactivate or demote yourself.');
    }
    checkWithdrawn(state, command.withdrawn);
  }
  const user_id = state.id;
  const events: UserEvent[] = [];
  if (command.displayName !== undefined && command.displayName !== command.presentName) {
    events.push({ type: 'UserRenamed', data: { user_id, display_name: command.displayName } });
  }
  if (command.role !== undefined && command.role !== state.role) {
    events.push({ type: 'UserRoleChanged', data: { user_id, role: command.role } });
  }
  if (command.status !== undefined && command.status !== state.status) {
    events.push({ type: 'UserStatusChanged', data: { user_id, status: command.status } });
  }
  if (command.passwordHash !== undefined) {
    events.push({ type: 'UserPasswordSet', data: { user_id, password_hash: command.passwordHash } });
  }
  return events;
};

/**
 * No events for a person who is already forgotten.
 * @throws `not_found`, `conflict` for the caller's own account, or when the person became an admin in the meantime
 */
export const forgetUser = (state: User, { by, emailHash, withdrawn }: ForgetUser): readonly UserEvent[] => {
  if (!state.exists) throw notFound();
  if (state.id === by) throw new DomainError('conflict', 'You cannot erase your own account.');
  if (state.forgotten !== undefined) return [];
  checkWithdrawn(state, withdrawn);
  return decided(UserForgotten, { user_id: state.id, email_hash: emailHash });
};

// Decide on passwords (decision 47)

/** 24 hours. */
export const RESET_MS = 86_400_000;

/** One answer for every reason: the link is unknown, used, replaced or expired, or the person is no longer active. */
export const invalidReset = (): DomainError =>
  new DomainError('invalid_credential', 'This link is no longer valid. Ask an admin for a new one.');

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
