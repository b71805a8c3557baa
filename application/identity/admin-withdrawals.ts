import {
  type AdminChange,
  AdminWithdrawn,
  adminsStream,
  finishWithdrawal,
  withdrawAdmin,
  withdrawnSince,
} from '../../domain/identity/admins.ts';
import { userStream } from '../../domain/identity/user.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Directory } from './directory.ts';

interface Deps {
  readonly streams: Streams;
  readonly directory: Pick<Directory, 'freshUser'>;
}

/** The id of a tenant's stream of withdrawals. */
const MAIN = 'main';

/**
 * Withdraws a person's admin rights, before the user's stream changes. Writes nothing if the person is no active admin
 * or is the caller, or if the rights are already withdrawn.
 * @param by id of the caller
 * @returns the `adminSince` of the person's last withdrawal; undefined if the person never had one
 * @throws `conflict` when there are rights to withdraw and the caller is no longer an admin
 */
export const withdrawRights = async (
  { streams, directory }: Deps,
  tenantId: string,
  userId: string,
  by: string,
  changes: readonly AdminChange[],
  context: RequestContext,
): Promise<number | undefined> => {
  const { state } = await streams.of(adminsStream, tenantId, MAIN).execute(context, {
    prepare: async () => ({
      user: await directory.freshUser(tenantId, userId),
      by: await directory.freshUser(tenantId, by),
    }),
    decide: (present, _context, people) => withdrawAdmin(present, { ...people, changes }),
  });
  return withdrawnSince(state, userId);
};

/**
 * Demotes, deactivates or forgets an admin whose rights were withdrawn, if the request has not done so,
 * for example because of a crash.
 */
export const adminWithdrawal = (
  deps: Deps & {
    readonly directory: Pick<Directory, 'opened'>;
    readonly emailHash: (email: string) => string;
  },
): Subscriber => ({
  name: 'admin-withdrawal',
  types: [AdminWithdrawn.type],
  handle: async (event) => {
    const withdrawn = dataOf(AdminWithdrawn, event);
    if (withdrawn === undefined) return;
    const { user_id, admin_since, changes } = withdrawn;
    const user = await deps.directory.freshUser(event.tenantId, user_id);
    if (user?.adminSince !== admin_since) return;
    const email = changes.includes('forgotten') ? await deps.directory.opened(user.email) : undefined;
    const emailHash = email === undefined ? undefined : deps.emailHash(email);
    await deps.streams
      .of(userStream, event.tenantId, user_id)
      .execute({ cause: causeOf(event) }, (state) =>
        finishWithdrawal(state, { adminSince: admin_since, changes, emailHash }, event.actor.id),
      );
  },
});
