import { isRefusal } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import {
  claimEmail,
  EmailClaimed,
  emailStream,
  releaseEmail,
  reserveEmail,
} from '../../domain/identity/email.ts';
import { UserForgotten, UserRegistered } from '../../domain/identity/user.ts';
import type { Streams } from '../core/commands/streams.ts';
import { type Cause, dataOf } from '../core/events/event-codec.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Directory } from './directory.ts';

/** A user's commands on an e-mail, in their usual order. `reserve` and `claim` throw `already_exists`. */
export const emailClaim = (
  streams: Streams,
  tenantId: string,
  emailHash: string,
  userId: string,
  cause: Cause,
) => {
  const email = streams.of(emailStream, tenantId, emailHash);
  const holder = { email_hash: emailHash, user_id: userId };
  return {
    reserve: () => email.execute({ cause }, (state, at) => reserveEmail(state, holder, at)),
    claim: () => email.execute({ cause }, (state) => claimEmail(state, holder)),
    release: () => email.execute({ cause }, (state) => releaseEmail(state, holder)),
  };
};

/**
 * The id of the person who has claimed an e-mail. A forgotten person's e-mail is released first: perhaps it could not be
 * opened, or is about to be released.
 */
export const presentOwner = async (
  { streams, directory }: { streams: Streams; directory: Pick<Directory, 'emailOwner' | 'user'> },
  tenantId: string,
  emailHash: string,
  cause: Cause,
): Promise<string | undefined> => {
  const owner = await directory.emailOwner(tenantId, emailHash);
  if (owner === undefined) return undefined;
  if ((await directory.user(tenantId, owner))?.forgotten === undefined) return owner;
  await emailClaim(streams, tenantId, emailHash, owner, cause).release();
  return undefined;
};

/**
 * Claims e-mails of registered people if the request crashed after the append to the user's stream and before the
 * append to the e-mail's stream. Until then, only the reservation protects the e-mail, and it expires.
 */
export const emailClaimer = (deps: {
  readonly streams: Streams;
  readonly keys: KeyRing;
  readonly emailHash: (email: string) => string;
}): Subscriber => ({
  name: 'email-claimer',
  types: [UserRegistered.type],
  handle: async (event) => {
    const user = dataOf(UserRegistered, event);
    const email = user === undefined ? undefined : await deps.keys.open(user.email);
    if (user === undefined || email === undefined) return;
    // Single sign-on claims verified e-mails itself; unverified e-mails must not be claimed.
    if (user.origin === 'sso') return;
    await emailClaim(deps.streams, event.tenantId, deps.emailHash(email), user.user_id, causeOf(event))
      .claim()
      .catch((error: unknown) => {
        // Another user has the e-mail: people registered from signed tokens may share an e-mail.
        if (!isRefusal(error, 'already_exists')) throw error;
      });
  },
});

/**
 * Releases e-mails of forgotten people if the request crashed, or if a concurrent registration claimed the e-mail.
 * Reacts to `UserForgotten` and `EmailClaimed`, since either may come last.
 */
export const emailReleaser = ({
  streams,
  directory,
}: {
  readonly streams: Streams;
  readonly directory: Pick<Directory, 'freshUser'>;
}): Subscriber => ({
  name: 'email-releaser',
  types: [UserForgotten.type, EmailClaimed.type],
  handle: async (event) => {
    const release = (emailHash: string, userId: string) =>
      emailClaim(streams, event.tenantId, emailHash, userId, causeOf(event)).release();
    const forgotten = dataOf(UserForgotten, event);
    if (forgotten?.email_hash !== undefined) await release(forgotten.email_hash, forgotten.user_id);
    const claimed = dataOf(EmailClaimed, event);
    if (claimed === undefined || event.tenantId === PLATFORM) return;
    const user = await directory.freshUser(event.tenantId, claimed.user_id);
    if (user?.forgotten !== undefined) await release(claimed.email_hash, claimed.user_id);
  },
});
