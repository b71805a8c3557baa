import { notFound } from '../domain/errors.ts';
import { emailDecider, releaseEmail } from '../domain/identity/email.ts';
import { forgetUser, type RegisteredUser, userDecider } from '../domain/identity/user.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Directory } from './directory.ts';
import type { Erasures } from './erasures.ts';
import type { Position } from './ports/event-store.ts';
import type { RequestContext } from './request-context.ts';
import type { KeyRing } from './sealing.ts';

/** Forgetting people (decisions, section 11). */
export class Forgetting {
  readonly #commands: CommandHandler;
  readonly #directory: Directory;
  readonly #keys: KeyRing;
  readonly #erasures: Pick<Erasures, 'erasePerson'>;
  readonly #emailHash: (email: string) => string;

  constructor(deps: {
    commands: CommandHandler;
    directory: Directory;
    keys: KeyRing;
    erasures: Pick<Erasures, 'erasePerson'>;
    emailHash: (email: string) => string;
  }) {
    this.#commands = deps.commands;
    this.#directory = deps.directory;
    this.#keys = deps.keys;
    this.#erasures = deps.erasures;
    this.#emailHash = deps.emailHash;
  }

  /**
   * Deactivates, frees the e-mail, destroys the key. What a crash leaves undone after the first step is done by
   * subscribers (email-releaser, eraser) and, of the key, by the next start. Repeated it changes nothing.
   * @throws `not_found`, `conflict` for oneself
   */
  async forget(
    tenantId: string,
    userId: string,
    by: string,
    context: RequestContext,
  ): Promise<{ user: RegisteredUser; position: Position | undefined }> {
    const user = await this.#directory.user(tenantId, userId);
    if (user === undefined) throw notFound();
    const email = user.forgotten === undefined ? await this.#keys.open(user.email) : undefined;
    const { cause } = context;
    const outcome = await this.#commands.execute({
      tenantId,
      decider: userDecider,
      id: userId,
      cause,
      decide: (state) =>
        forgetUser(state, { by, emailHash: email === undefined ? undefined : this.#emailHash(email) }),
    });
    if (!outcome.state.exists) throw notFound();
    const emailHash = outcome.state.forgotten?.emailHash;
    let { position } = outcome;
    if (emailHash !== undefined) {
      const released = await this.#commands.execute({
        tenantId,
        decider: emailDecider,
        id: emailHash,
        cause,
        decide: (state) => releaseEmail(state, { emailHash, userId }),
      });
      if (released.events.length > 0) position = released.position;
    }
    await this.#erasures.erasePerson(tenantId, userId);
    return { user: outcome.state, position };
  }
}
