import { EmailClaimed, emailDecider, releaseEmail } from '../../domain/identity/email.ts';
import { type User, UserForgotten, userDecider } from '../../domain/identity/user.ts';
import { dataOf, type LoggedEvent } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import type { StreamStates } from '../stream-states.ts';
import { PLATFORM, streamName } from '../streams.ts';
import type { Subscriber } from '../subscriber.ts';
import { causeOf } from './cause.ts';

/**
 * Frees the addresses of people who were forgotten. The request that forgets does so itself; this makes good what a crash
 * between the two streams left, and what somebody claims who was registering the person at the same moment: whichever
 * comes later, the fact or the claim, is looked at here with the other one before it.
 */
export const emailReleaser = (deps: {
  readonly commands: CommandHandler;
  readonly states: StreamStates;
}): Subscriber => {
  const release = async (event: LoggedEvent, emailHash: string, userId: string): Promise<void> => {
    await deps.commands.execute({
      tenantId: event.tenantId,
      decider: emailDecider,
      id: emailHash,
      cause: causeOf(event),
      decide: (state) => releaseEmail(state, { emailHash, userId }),
    });
  };
  return {
    name: 'email-releaser',
    types: [UserForgotten.type, EmailClaimed.type],
    handle: async (event) => {
      const forgotten = dataOf(UserForgotten, event);
      if (forgotten?.email_hash !== undefined) await release(event, forgotten.email_hash, forgotten.user_id);
      const claimed = dataOf(EmailClaimed, event);
      if (claimed === undefined || event.tenantId === PLATFORM) return;
      // From the store: the fact may be another node's, a moment old.
      const stream = streamName(event.tenantId, userDecider.category, claimed.user_id);
      // The stream's name says which decider folded it.
      const user = (await deps.states.refresh(stream, userDecider)).state as User;
      if (user.exists && user.forgotten !== undefined) {
        await release(event, claimed.email_hash, claimed.user_id);
      }
    },
  };
};
