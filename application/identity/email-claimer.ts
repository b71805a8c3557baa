import { DomainError } from '../../domain/core/errors.ts';
import { claimEmail, emailStream } from '../../domain/identity/email.ts';
import { UserRegistered } from '../../domain/identity/user.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';

/**
 * Claims the address of everybody who was registered. The request that registers does so itself; this makes good what
 * a crash between the two streams left, before the reservation lapses and somebody else takes the address.
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
    // Single sign-on claims what its provider has verified by itself, and nothing else.
    if (user.origin === 'sso') return;
    const emailHash = deps.emailHash(email);
    await deps.streams
      .of(emailStream, event.tenantId, emailHash)
      .execute({ cause: causeOf(event) }, (state) => claimEmail(state, { emailHash, userId: user.user_id }))
      .catch((error: unknown) => {
        // Somebody else has it: whoever came in by a signed token may share an address with an older account.
        if (!(error instanceof DomainError && error.code === 'already_exists')) throw error;
      });
  },
});
