import { isRefusal } from '../../domain/core/errors.ts';
import { TenantCreated } from '../../domain/tenancy/tenant.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { firstAdminKeyId } from '../core/privacy/key-ids.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Directory } from './directory.ts';
import type { Identity } from './identity.ts';

/**
 * Registers a tenant's first admin from `TenantCreated` if the request crashed before it registered the user. Then
 * destroys the key that seals the admin's data in that event.
 */
export const firstAdmin = (deps: {
  readonly identity: Pick<Identity, 'createUser'>;
  readonly directory: Pick<Directory, 'user'>;
  readonly keys: KeyRing;
}): Subscriber => ({
  name: 'first-admin',
  types: [TenantCreated.type],
  handle: async (event) => {
    const created = dataOf(TenantCreated, event);
    if (created?.admin_id === undefined) return;
    const { tenant_id, admin_id } = created;
    if ((await deps.directory.user(tenant_id, admin_id)) === undefined) {
      const [email, displayName, passwordHash] = await Promise.all(
        [created.admin_email, created.admin_display_name, created.admin_password_hash].map((sealed) =>
          sealed === undefined ? undefined : deps.keys.open(sealed),
        ),
      );
      if (email !== undefined && displayName !== undefined && passwordHash !== undefined) {
        const person = { id: admin_id, email, displayName, role: 'admin' as const, passwordHash };
        const context = { cause: causeOf(event) };
        await deps.identity.createUser(tenant_id, person, context).catch((error: unknown) => {
          // A person registered from a signed token has taken the e-mail meanwhile and keeps it.
          if (!isRefusal(error, 'already_exists')) throw error;
        });
      }
    }
    await deps.keys.destroy(firstAdminKeyId(tenant_id));
  },
});
