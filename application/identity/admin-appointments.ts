import { DomainError, notFound } from '../../domain/core/errors.ts';
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

export interface AppointedAdmin {
  readonly user: UserView;
  /** Made by this request or by an earlier try of it. */
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
   * Makes the person with this e-mail an active admin with this password and name; creates a user if none has it.
   * @throws `already_exists` during a registration with this e-mail, `invalid_transition` before the e-mail of a
   * forgotten person is released
   */
  async appoint(
    tenantId: string,
    admin: { readonly email: string; readonly displayName: string; readonly password: string },
    context: RequestContext,
  ): Promise<AppointedAdmin> {
    const passwordHash = await this.deps.passwords.hash(admin.password);
    const { email, displayName } = admin;
    const newcomer = { id: context.newId(), email, displayName, role: 'admin', passwordHash } as const;
    try {
      const { user, position } = await this.deps.identity.createUser(tenantId, newcomer, context);
      return { user, changes: ['created'], position };
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'already_exists')) throw error;
      const holder = await this.deps.directory.emailHolder(tenantId, this.deps.emailHash(email));
      if (holder.status !== 'claimed') throw error;
      return this.#promote(tenantId, holder.userId, { displayName, passwordHash }, context);
    }
  }

  async #promote(
    tenantId: string,
    userId: string,
    change: { readonly displayName: string; readonly passwordHash: string },
    context: RequestContext,
  ): Promise<AppointedAdmin> {
    const user = await this.deps.directory.freshUser(tenantId, userId);
    if (user === undefined) throw notFound();
    const presentName = await this.deps.directory.open(user.displayName);
    const { state, events, position } = await this.deps.streams
      .of(userStream, tenantId, userId)
      .execute(context, (present) =>
        changeUser(
          present,
          { ...change, role: 'admin', status: 'active', presentName },
          context.cause.actor.id,
        ),
      );
    if (!state.exists) throw notFound();
    const changes = events.map(appointmentOf).filter((done) => done !== undefined);
    return { user: await this.deps.identity.view(state), changes, position };
  }
}

const appointmentOf = (event: UserEvent): Appointment | undefined => {
  switch (event.type) {
    case 'UserRegistered':
      return 'created';
    case 'UserRoleChanged':
      return 'promoted';
    case 'UserStatusChanged':
      return 'reactivated';
    case 'UserRenamed':
      return 'renamed';
    case 'UserPasswordSet':
      return 'password_set';
    case 'UserForgotten':
    case 'PasswordResetOffered':
      return undefined;
    default:
      return event satisfies never;
  }
};
