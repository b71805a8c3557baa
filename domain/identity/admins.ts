import { z } from 'zod';
import { DomainError } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';
import { changeUser, forgetUser, type RegisteredUser, type User, type UserEvent } from './user.ts';

/**
 * Withdrawals of admin rights, in one stream per tenant. An admin who keeps the rights grants each withdrawal, so a
 * tenant never loses its last active admin (decision 27).
 */

// Events

const changes = z.array(z.enum(['demoted', 'deactivated', 'forgotten'])).min(1);

export const AdminWithdrawn = defineEvent(
  'AdminWithdrawn',
  z.object({
    user_id: z.string(),
    /** Revision of the user's stream at which the person became an active admin; later promotions stay valid. */
    admin_since: z.int(),
    /** Changes to apply to the user after this event, by the request or by a subscriber. */
    changes,
  }),
);

export const adminsEvents = [AdminWithdrawn] as const;
export type AdminsEvent = EventOf<(typeof adminsEvents)[number]>;
export type AdminChange = z.output<typeof changes>[number];

// State

interface Withdrawal {
  readonly userId: string;
  readonly adminSince: number;
}

/** The last withdrawal of each former admin. */
export interface Admins {
  readonly withdrawn: readonly Withdrawal[];
}

export const adminsStream: StreamType<Admins, AdminsEvent> = {
  category: 'admins',
  stateVersion: 1,
  initial: { withdrawn: [] },
  evolve: (state, { data }) => ({
    withdrawn: [
      ...state.withdrawn.filter(({ userId }) => userId !== data.user_id),
      { userId: data.user_id, adminSince: data.admin_since },
    ],
  }),
};

/** `adminSince` of the person's last withdrawal. */
export const withdrawnSince = (state: Admins, userId: string): number | undefined =>
  state.withdrawn.find((each) => each.userId === userId)?.adminSince;

const hasRights = (state: Admins, user: RegisteredUser | undefined): boolean =>
  user?.adminSince !== undefined && withdrawnSince(state, user.id) !== user.adminSince;

// Commands

interface WithdrawAdmin {
  /** The user and the caller, as read from their streams for this decision. */
  readonly user: RegisteredUser | undefined;
  readonly by: RegisteredUser | undefined;
  readonly changes: readonly AdminChange[];
}

interface FinishWithdrawal {
  readonly adminSince: number;
  readonly changes: readonly AdminChange[];
  /** Set when a person is forgotten, unless the e-mail can no longer be opened. */
  readonly emailHash: string | undefined;
}

// Decide

/**
 * No events for a person who is not an active admin, for the caller, and for rights that are already withdrawn.
 * @throws `conflict` when the caller is no longer an admin
 */
export const withdrawAdmin = (
  state: Admins,
  { user, by, changes: wanted }: WithdrawAdmin,
): readonly AdminsEvent[] => {
  if (user?.adminSince === undefined || user.id === by?.id || !hasRights(state, user)) return [];
  if (!hasRights(state, by)) {
    throw new DomainError('conflict', 'You are no longer an admin.');
  }
  return decided(AdminWithdrawn, { user_id: user.id, admin_since: user.adminSince, changes: [...wanted] });
};

/** Applies a withdrawal to the user; no events when the withdrawn rights have already ended. */
export const finishWithdrawal = (
  state: User,
  command: FinishWithdrawal,
  by: string,
): readonly UserEvent[] => {
  const { adminSince: withdrawn, changes: wanted, emailHash } = command;
  if (!state.exists || state.adminSince !== withdrawn) return [];
  if (wanted.includes('forgotten')) return forgetUser(state, { by, emailHash, withdrawn });
  return changeUser(
    state,
    {
      role: wanted.includes('demoted') ? 'operator' : undefined,
      status: wanted.includes('deactivated') ? 'deactivated' : undefined,
      presentName: '',
      withdrawn,
    },
    by,
  );
};
