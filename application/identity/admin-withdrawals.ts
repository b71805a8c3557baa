import {
  type AdminChange,
  adminsStream,
  withdrawAdmin,
  withdrawnSince,
} from '../../domain/identity/admins.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from './directory.ts';

/** The id of a tenant's stream of withdrawals. */
const MAIN = 'main';

/**
 * Decides that a person stops being an admin, before the user's stream changes. A subscriber (admin-withdrawal)
 * completes it after a crash.
 */
export class AdminWithdrawals extends WithDeps<{
  streams: Streams;
  directory: Pick<Directory, 'freshUser'>;
}> {
  /**
   * @param by the caller, who must still be an admin
   * @returns the withdrawn `adminSince`; undefined when the person was never withdrawn
   * @throws `conflict`
   */
  async withdraw(
    tenantId: string,
    userId: string,
    by: string,
    changes: readonly AdminChange[],
    context: RequestContext,
  ): Promise<number | undefined> {
    const { state } = await this.deps.streams.of(adminsStream, tenantId, MAIN).execute(context, {
      prepare: async () => ({
        user: await this.deps.directory.freshUser(tenantId, userId),
        by: await this.deps.directory.freshUser(tenantId, by),
      }),
      decide: (present, _context, people) => withdrawAdmin(present, { ...people, changes }),
    });
    return withdrawnSince(state, userId);
  }
}
