import { DomainError } from '../domain/errors.ts';
import { platformAdminDecider, setPlatformAdminPassword } from '../domain/identity/platform-admin.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Directory } from './directory.ts';
import type { Passwords } from './ports/passwords.ts';
import type { RequestContext } from './request-context.ts';
import { PLATFORM } from './streams.ts';

/** What operators do to platform admins from the command line, beside creating them. */
export class PlatformAdmins {
  readonly #commands: CommandHandler;
  readonly #directory: Directory;
  readonly #passwords: Passwords;
  readonly #emailHash: (email: string) => string;

  constructor(deps: {
    commands: CommandHandler;
    directory: Directory;
    passwords: Passwords;
    emailHash: (email: string) => string;
  }) {
    this.#commands = deps.commands;
    this.#directory = deps.directory;
    this.#passwords = deps.passwords;
    this.#emailHash = deps.emailHash;
  }

  /** The new password counts from the next sign-in on; tokens that were given out stay valid. @throws `not_found` */
  async setPassword(email: string, password: string, context: RequestContext): Promise<void> {
    const holder = await this.#directory.emailHolder(PLATFORM, this.#emailHash(email));
    if (holder.status !== 'claimed') {
      throw new DomainError('not_found', 'No platform admin has this e-mail.');
    }
    const passwordHash = await this.#passwords.hash(password);
    await this.#commands.execute({
      tenantId: PLATFORM,
      decider: platformAdminDecider,
      id: holder.userId,
      cause: context.cause,
      decide: (state) => setPlatformAdminPassword(state, passwordHash),
    });
  }
}
