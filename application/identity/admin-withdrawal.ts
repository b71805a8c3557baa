import { AdminWithdrawn, finishWithdrawal } from '../../domain/identity/admins.ts';
import { userStream } from '../../domain/identity/user.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Directory } from './directory.ts';

/**
 * Demotes, deactivates or forgets admins whose rights were withdrawn, if the request crashed between the two streams.
 */
export const adminWithdrawal = (deps: {
  readonly streams: Streams;
  readonly directory: Pick<Directory, 'freshUser'>;
  readonly keys: KeyRing;
  readonly emailHash: (email: string) => string;
}): Subscriber => ({
  name: 'admin-withdrawal',
  types: [AdminWithdrawn.type],
  handle: async (event) => {
    const withdrawn = dataOf(AdminWithdrawn, event);
    if (withdrawn === undefined) return;
    const { user_id, admin_since, changes } = withdrawn;
    const user = await deps.directory.freshUser(event.tenantId, user_id);
    if (user?.adminSince !== admin_since) return;
    const email = changes.includes('forgotten') ? await deps.keys.open(user.email) : undefined;
    const emailHash = email === undefined ? undefined : deps.emailHash(email);
    await deps.streams
      .of(userStream, event.tenantId, user_id)
      .execute({ cause: causeOf(event) }, (state) =>
        finishWithdrawal(state, { adminSince: admin_since, changes, emailHash }, event.actor.id),
      );
  },
});
