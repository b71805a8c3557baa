import { existing, notFound } from '../../domain/core/errors.ts';
import { forgetUser, type RegisteredUser, userStream } from '../../domain/identity/user.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Erasures } from '../core/privacy/erasures.ts';
import { WithDeps } from '../core/with-deps.ts';
import { withdrawRights } from './admin-withdrawals.ts';
import type { Directory } from './directory.ts';
import { emailClaim } from './email-claims.ts';

/** Forgets people (decisions, section 11). */
export class Forgetting extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly erasures: Pick<Erasures, 'erasePerson'>;
  readonly emailHash: (email: string) => string;
}> {
  /**
   * Withdraws an admin's rights, deactivates the user, releases the e-mail, destroys the keys. After a crash,
   * subscribers (admin-withdrawal, email-releaser, eraser) and the next start complete these steps. Safe to repeat.
   * @throws `not_found`, `conflict` when the caller is the person or is no longer an admin
   */
  async forget(
    tenantId: string,
    userId: string,
    by: string,
    context: RequestContext,
  ): Promise<Written<{ user: RegisteredUser }>> {
    const { streams, directory, erasures } = this.deps;
    const known = await directory.freshUser(tenantId, userId);
    if (known === undefined) throw notFound();
    const email = known.forgotten === undefined ? await directory.opened(known.email) : undefined;
    const emailHash = email === undefined ? undefined : this.deps.emailHash(email);
    const withdrawn = await withdrawRights(this.deps, tenantId, userId, by, ['forgotten'], context);
    const { cause } = context;
    const outcome = await streams
      .of(userStream, tenantId, userId)
      .execute({ cause }, (state) => forgetUser(state, { by, emailHash, withdrawn }));
    const user = existing(outcome.state);
    const freed = user.forgotten?.emailHash;
    let { position } = outcome;
    if (freed !== undefined) {
      const released = await emailClaim(streams, tenantId, freed, userId, cause).release();
      if (released.events.length > 0) position = released.position;
    }
    await erasures.erasePerson(tenantId, userId);
    return { user, position };
  }
}
