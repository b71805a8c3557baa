import { EmailClaimed, emailStream, releaseEmail } from '../../domain/identity/email.ts';
import { UserForgotten } from '../../domain/identity/user.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { PLATFORM } from '../core/events/stream-name.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Directory } from './directory.ts';

/**
 * Releases e-mails of forgotten people if the request crashed, or if a concurrent registration claimed the e-mail.
 * Reacts to both events, since either may come last.
 */
export const emailReleaser = (deps: {
  readonly streams: Streams;
  readonly directory: Pick<Directory, 'freshUser'>;
}): Subscriber => {
  const release = async (event: LoggedEvent, emailHash: string, userId: string): Promise<void> => {
    await deps.streams
      .of(emailStream, event.tenantId, emailHash)
      .execute({ cause: causeOf(event) }, (state) => releaseEmail(state, { emailHash, userId }));
  };
  return {
    name: 'email-releaser',
    types: [UserForgotten.type, EmailClaimed.type],
    handle: async (event) => {
      const forgotten = dataOf(UserForgotten, event);
      if (forgotten?.email_hash !== undefined) await release(event, forgotten.email_hash, forgotten.user_id);
      const claimed = dataOf(EmailClaimed, event);
      if (claimed === undefined || event.tenantId === PLATFORM) return;
      const user = await deps.directory.freshUser(event.tenantId, claimed.user_id);
      if (user?.forgotten !== undefined) {
        await release(event, claimed.email_hash, claimed.user_id);
      }
    },
  };
};
