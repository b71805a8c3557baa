import { byCreatedAt, collection, platformCollection } from '../../domain/core/collection.ts';
import { type DocumentReader, every, iso, projection } from '../../domain/core/projection.ts';
import type { EmailEvent } from '../../domain/identity/email.ts';
import type { UserEvent } from '../../domain/identity/user.ts';

/** The people of a tenant, and the tenants that an e-mail can sign in to (decisions, section 3). */

export interface UserDoc {
  readonly id: string;
  /** Sealed. */
  readonly email: string;
  /** Sealed. */
  readonly display_name: string;
  readonly role: 'admin' | 'operator';
  readonly status: 'active' | 'deactivated';
  readonly created_at: string;
}

/** Stored under the platform by keyed hash of the e-mail, for sign-ins that name no tenant. */
interface LoginDoc {
  readonly email_hash: string;
  readonly tenant_id: string;
  readonly user_id: string;
}

const users = collection<UserDoc>('users');
const logins = platformCollection<LoginDoc>('logins');

export const usersProjection = projection<UserEvent>({
  name: 'users',
  version: 1,
  collections: [{ name: 'users', indexes: [byCreatedAt] }],
  on: {
    UserRegistered: ({ data, at }) => [
      users.put(data.user_id, {
        id: data.user_id,
        email: data.email,
        display_name: data.display_name,
        role: data.role,
        status: 'active',
        created_at: iso(at),
      }),
    ],
    UserRenamed: ({ data }) => [users.merge(data.user_id, { display_name: data.display_name })],
    UserRoleChanged: ({ data }) => [users.merge(data.user_id, { role: data.role })],
    UserStatusChanged: ({ data }) => [users.merge(data.user_id, { status: data.status })],
    UserForgotten: ({ data }) => [users.merge(data.user_id, { status: 'deactivated' })],
  },
});

const loginId = (data: { email_hash: string }, tenantId: string): string => `${data.email_hash}.${tenantId}`;

export const loginsProjection = projection<EmailEvent>({
  name: 'logins',
  version: 1,
  collections: [{ name: 'logins', indexes: [{ name: 'by_email_hash', fields: ['email_hash'] }] }],
  on: {
    EmailClaimed: ({ data, tenantId }) => [
      logins.put(loginId(data, tenantId), {
        email_hash: data.email_hash,
        tenant_id: tenantId,
        user_id: data.user_id,
      }),
    ],
    EmailReleased: ({ data, tenantId }) => [logins.remove(loginId(data, tenantId))],
  },
});

// Queries

/** The people of a tenant, oldest account first. */
export const usersOf = users.list('by_created_at', 'asc');

/** Ids of a tenant's active admins, oldest account first. The first page usually has the id that a caller needs. */
export async function* adminsByCreation(reader: DocumentReader, tenantId: string): AsyncGenerator<string> {
  for await (const { id, role, status } of every((page) => usersOf(reader, tenantId, page))) {
    if (role === 'admin' && status === 'active') yield id;
  }
}

const loginsOf = logins.listOf('by_email_hash', 'asc');

/** At most 10 accounts with an e-mail, of all tenants; callers need only a few. */
export const accountsOf = async (
  reader: DocumentReader,
  emailHash: string,
): Promise<readonly { tenantId: string; userId: string }[]> => {
  const { docs } = await loginsOf(reader, emailHash, { limit: 10, after: undefined });
  return docs.map((login) => ({ tenantId: login.tenant_id, userId: login.user_id }));
};
