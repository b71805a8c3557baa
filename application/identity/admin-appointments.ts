import { existing, isRefusal } from '../../domain/core/errors.ts';
import { changeUser, type UserEvent, userStream } from '../../domain/identity/user.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { Directory } from './directory.ts';
import type { Identity, UserView } from './identity.ts';

export const APPOINTMENTS = ['created', 'promoted', 'reactivated', 'renamed', 'password_set'] as const;
type Appointment = (typeof APPOINTMENTS)[number];

const APPOINTMENT_OF: Readonly<Record<UserEvent['type'], Appointment | undefined>> = {
  UserRegistered: 'created',
  UserRoleChanged: 'promoted',
  UserStatusChanged: 'reactivated',
  UserRenamed: 'renamed',
  UserPasswordSet: 'password_set',
  PasswordResetOffered: undefined,
  UserForgotten: undefined,
};

export interface GivenAdmin {
  readonly email: string;
  readonly password: string;
  readonly display_name: string;
}

export interface AppointedAdmin {
  readonly user: UserView;
  /** Changes made by this request or by an earlier try of the request. */
  readonly changes: readonly Appointment[];
  readonly position: Position | undefined;
}

/** Appoints admins on behalf of a platform admin, for a tenant without a usable admin (docs/operations.md). */
export class AdminAppointments extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly identity: Identity;
  readonly passwords: Passwords;
  readonly emailHash: (email: string) => string;
}> {
  /**
   * Makes the user with this e-mail an active admin with this password and name; creates a user if no user has the
   * e-mail.
   * @throws `already_exists` during a registration with this e-mail, `invalid_transition` while the e-mail of a
   * forgotten person is not released yet
   */
  async appoint(tenantId: string, admin: GivenAdmin, context: RequestContext): Promise<AppointedAdmin> {
    const { directory, emailHash, identity, passwords } = this.deps;
    const { email, display_name: displayName } = admin;
    const passwordHash = await passwords.hash(admin.password);
    const newcomer = { id: context.newId(), email, displayName, role: 'admin', passwordHash } as const;
    try {
      const { user, position } = await identity.createUser(tenantId, newcomer, context);
      return { user, changes: ['created'], position };
    } catch (error) {
      if (!isRefusal(error, 'already_exists')) throw error;
      const userId = await directory.emailOwner(tenantId, emailHash(email));
      if (userId === undefined) throw error;
      return this.#promote(tenantId, userId, { displayName, passwordHash }, context);
    }
  }

  async #promote(
    tenantId: string,
    userId: string,
    change: { readonly displayName: string; readonly passwordHash: string },
    context: RequestContext,
  ): Promise<AppointedAdmin> {
    const { directory, identity, streams } = this.deps;
    const wanted = { ...change, role: 'admin', status: 'active' } as const;
    const { state, events, position } = await streams.of(userStream, tenantId, userId).execute(context, {
      prepare: (present) => directory.nameIn(present),
      decide: (present, _context, presentName) =>
        changeUser(present, { ...wanted, presentName }, context.cause.actor.id),
    });
    const changes = events.flatMap(({ type }) => APPOINTMENT_OF[type] ?? []);
    return { user: await identity.view(existing(state)), changes, position };
  }
}
