import { DomainError } from '../../domain/core/errors.ts';
import { platformAdminStream, setPlatformAdminPassword } from '../../domain/identity/platform-admin.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { PLATFORM } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { Directory } from './directory.ts';

/** Command-line operations on existing platform admins. */
export class PlatformAdmins extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly passwords: Passwords;
  readonly emailHash: (email: string) => string;
}> {
  /** The new password applies to later sign-ins; issued tokens stay valid. @throws `not_found` */
  async setPassword(email: string, password: string, context: RequestContext): Promise<void> {
    const holder = await this.deps.directory.emailHolder(PLATFORM, this.deps.emailHash(email));
    if (holder.status !== 'claimed') {
      throw new DomainError('not_found', 'No platform admin has this e-mail.');
    }
    const passwordHash = await this.deps.passwords.hash(password);
    await this.deps.streams
      .of(platformAdminStream, PLATFORM, holder.userId)
      .execute({ cause: context.cause }, (state) => setPlatformAdminPassword(state, passwordHash));
  }
}
