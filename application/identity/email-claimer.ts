import { DomainError } from '../../domain/core/errors.ts';
import { claimEmail, emailStream } from '../../domain/identity/email.ts';
import { UserRegistered } from '../../domain/identity/user.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';

/**
 * Claims the e-mails of registered people if the request crashed between the two streams, before the reservation
 * expires.
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
    // Single sign-on claims verified e-mails itself, and no others.
    if (user.origin === 'sso') return;
    const emailHash = deps.emailHash(email);
    await deps.streams
      .of(emailStream, event.tenantId, emailHash)
      .execute({ cause: causeOf(event) }, (state) => claimEmail(state, { emailHash, userId: user.user_id }))
      .catch((error: unknown) => {
        // Another user has the e-mail: people registered from signed tokens may share one.
        if (!(error instanceof DomainError && error.code === 'already_exists')) throw error;
      });
  },
});
