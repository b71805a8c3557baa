import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { DomainError, notFound } from '../errors.ts';
import { defineEvent, type EventMeta, type EventOf } from '../event.ts';

/**
 * A person of a tenant (specification, Authentication; decisions, section 3). Name, e-mail and password hash are
 * sealed with the person's own key.
 */

// Events

/** The data key of a person's name, e-mail and password hash, within the tenant. */
export const personKey = (data: { user_id: string }): string => `person-${data.user_id}`;
const role = z.enum(['admin', 'operator']);

export const UserRegistered = defineEvent(
  'UserRegistered',
  z.object({
    user_id: z.string(),
    email: z.string(),
    display_name: z.string(),
    role,
    /** `token`: made by the first request of a signed credential; `sso`: by the first sign-in at the provider. */
    origin: z.enum(['admin', 'token', 'sso']),
  }),
  { personal: { email: personKey, display_name: personKey } },
);

/** `password_hash` is an argon2id hash in PHC form. */
export const UserPasswordSet = defineEvent(
  'UserPasswordSet',
  z.object({ user_id: z.string(), password_hash: z.string() }),
  { personal: { password_hash: personKey }, secret: ['password_hash'] },
);

export const UserRenamed = defineEvent(
  'UserRenamed',
  z.object({ user_id: z.string(), display_name: z.string() }),
  { personal: { display_name: personKey } },
);

export const UserRoleChanged = defineEvent('UserRoleChanged', z.object({ user_id: z.string(), role }));

export const UserStatusChanged = defineEvent(
  'UserStatusChanged',
  z.object({ user_id: z.string(), status: z.enum(['active', 'deactivated']) }),
);

/**
 * Deactivated for ever; the person's key is destroyed because of this event, now and after each restore of keys
 * (application/erasures.ts).
 */
export const UserForgotten = defineEvent(
  'UserForgotten',
  z.object({
    user_id: z.string(),
    /** Names the stream of the address that becomes free: nobody can open the address by then. */
    email_hash: z.string().optional(),
  }),
);

export const userEvents = [
  UserRegistered,
  UserPasswordSet,
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
  /** Sealed; undefined while the person can only come in by single sign-on. */
  readonly passwordHash: string | undefined;
  readonly createdAt: number;
  /** Given once the person was forgotten: what is sealed can never be opened again. */
  readonly forgotten?: { readonly emailHash: string | undefined } | undefined;
}
export type User = { readonly exists: false } | RegisteredUser;

const evolve = (state: User, event: UserEvent, meta: EventMeta): User => {
  if (event.type === 'UserRegistered') {
    return {
      exists: true,
      id: event.data.user_id,
      email: event.data.email,
      displayName: event.data.display_name,
      role: event.data.role,
      status: 'active',
      passwordHash: undefined,
      createdAt: meta.at,
    };
  }
  if (!state.exists) return state;
  switch (event.type) {
    case 'UserPasswordSet':
      return { ...state, passwordHash: event.data.password_hash };
    case 'UserRenamed':
      return { ...state, displayName: event.data.display_name };
    case 'UserRoleChanged':
      return { ...state, role: event.data.role };
    case 'UserStatusChanged':
      return { ...state, status: event.data.status };
    case 'UserForgotten':
      return {
        ...state,
        status: 'deactivated',
        passwordHash: undefined,
        forgotten: { emailHash: event.data.email_hash },
      };
    default:
      return event satisfies never;
  }
};

export const userDecider: Decider<User, UserEvent> = {
  category: 'user',
  stateVersion: 2,
  initial: { exists: false },
  evolve,
};

// Commands

export interface RegisterUser {
  readonly userId: string;
  readonly email: string;
  readonly displayName: string;
  readonly role: 'admin' | 'operator';
  readonly origin: 'admin' | 'token' | 'sso';
  readonly passwordHash?: string | undefined;
}

export interface ChangeUser {
  readonly displayName?: string | undefined;
  readonly role?: 'admin' | 'operator' | undefined;
  readonly status?: 'active' | 'deactivated' | undefined;
  readonly passwordHash?: string | undefined;
  /** The name the person has now, in the clear: an equal one is no change. */
  readonly presentName: string;
}

// Decide

/** Registering the same id again changes nothing. */
export const registerUser = (state: User, command: RegisterUser): readonly UserEvent[] => {
  if (state.exists) return [];
  const events: UserEvent[] = [
    {
      type: 'UserRegistered',
      data: {
        user_id: command.userId,
        email: command.email,
        display_name: command.displayName,
        role: command.role,
        origin: command.origin,
      },
    },
  ];
  if (command.passwordHash !== undefined) {
    events.push({
      type: 'UserPasswordSet',
      data: { user_id: command.userId, password_hash: command.passwordHash },
    });
  }
  return events;
};

/**
 * @throws `not_found` for an unknown user, `invalid_transition` for a forgotten one, `conflict` when an admin would lock
 * themselves out
 */
export const changeUser = (state: User, command: ChangeUser, by: string): readonly UserEvent[] => {
  if (!state.exists) throw notFound();
  if (state.forgotten !== undefined) {
    throw new DomainError('invalid_transition', 'This person was forgotten, for good.', {
      state: 'forgotten',
      allowed: [],
    });
  }
  const lockedOut = command.status === 'deactivated' || command.role === 'operator';
  if (by === state.id && lockedOut && state.role === 'admin') {
    throw new DomainError('conflict', 'Admins cannot deactivate or demote themselves.');
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

export interface ForgetUser {
  readonly by: string;
  /** Undefined when the e-mail cannot be opened any more. */
  readonly emailHash: string | undefined;
}

/** Nothing when it is so already. @throws `not_found`, `conflict` for oneself */
export const forgetUser = (state: User, { by, emailHash }: ForgetUser): readonly UserEvent[] => {
  if (!state.exists) throw notFound();
  if (state.id === by) throw new DomainError('conflict', 'Nobody can forget themselves.');
  if (state.forgotten !== undefined) return [];
  const data = { user_id: state.id, ...(emailHash === undefined ? {} : { email_hash: emailHash }) };
  return [{ type: 'UserForgotten', data }];
};
