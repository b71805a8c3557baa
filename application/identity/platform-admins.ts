import { DomainError } from '../../domain/core/errors.ts';
import { platformAdminStream, setPlatformAdminPassword } from '../../domain/identity/platform-admin.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { PLATFORM } from '../core/events/stream-name.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { Directory } from './directory.ts';

/** Command-line operations on existing platform admins. */
export class PlatformAdmins {
  readonly #streams: Streams;
  readonly #directory: Directory;
  readonly #passwords: Passwords;
  readonly #emailHash: (email: string) => string;

  constructor(deps: {
    streams: Streams;
    directory: Directory;
    passwords: Passwords;
    emailHash: (email: string) => string;
  }) {
    this.#streams = deps.streams;
    this.#directory = deps.directory;
    this.#passwords = deps.passwords;
    this.#emailHash = deps.emailHash;
  }

  /** The new password applies to later sign-ins; issued tokens stay valid. @throws `not_found` */
  async setPassword(email: string, password: string, context: RequestContext): Promise<void> {
    const holder = await this.#directory.emailHolder(PLATFORM, this.#emailHash(email));
    if (holder.status !== 'claimed') {
      throw new DomainError('not_found', 'No platform admin has this e-mail.');
    }
    const passwordHash = await this.#passwords.hash(password);
    await this.#streams
      .of(platformAdminStream, PLATFORM, holder.userId)
      .execute({ cause: context.cause }, (state) => setPlatformAdminPassword(state, passwordHash));
  }
}
