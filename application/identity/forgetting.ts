import { notFound } from '../../domain/core/errors.ts';
import { emailStream, releaseEmail } from '../../domain/identity/email.ts';
import { forgetUser, type RegisteredUser, userStream } from '../../domain/identity/user.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Erasures } from '../core/privacy/erasures.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import { AdminWithdrawals } from './admin-withdrawals.ts';
import type { Directory } from './directory.ts';

/** Forgets people (decisions, section 11). */
export class Forgetting extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly keys: KeyRing;
  readonly erasures: Pick<Erasures, 'erasePerson'>;
  readonly emailHash: (email: string) => string;
}> {
  readonly #admins = new AdminWithdrawals(this.deps);

  /**
   * Withdraws an admin's rights, deactivates the user, releases the e-mail, destroys the key. After a crash,
   * subscribers (admin-withdrawal, email-releaser, eraser) and the next start complete it. Safe to repeat.
   * @throws `not_found`, `conflict` for oneself, and for a caller who is no longer an admin
   */
  async forget(
    tenantId: string,
    userId: string,
    by: string,
    context: RequestContext,
  ): Promise<Written<{ user: RegisteredUser }>> {
    const user = await this.deps.directory.user(tenantId, userId);
    if (user === undefined) throw notFound();
    const email = user.forgotten === undefined ? await this.deps.keys.open(user.email) : undefined;
    const emailHash = email === undefined ? undefined : this.deps.emailHash(email);
    const withdrawn = await this.#admins.withdraw(tenantId, userId, by, ['forgotten'], context);
    const { cause } = context;
    const outcome = await this.deps.streams
      .of(userStream, tenantId, userId)
      .execute({ cause }, (state) => forgetUser(state, { by, emailHash, withdrawn }));
    if (!outcome.state.exists) throw notFound();
    const freed = outcome.state.forgotten?.emailHash;
    let { position } = outcome;
    if (freed !== undefined) {
      const released = await this.deps.streams
        .of(emailStream, tenantId, freed)
        .execute({ cause }, (state) => releaseEmail(state, { emailHash: freed, userId }));
      if (released.events.length > 0) position = released.position;
    }
    await this.deps.erasures.erasePerson(tenantId, userId);
    return { user: outcome.state, position };
  }
}
