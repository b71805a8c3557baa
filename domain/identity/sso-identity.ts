import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';

/**
 * Links an identity at a provider to a user of a tenant (decisions, section 3, single sign-on). The stream is named by
 * a keyed hash of issuer and subject, and holds neither of them. The first link stays until its user is forgotten.
 */

// Events

export const SsoIdentityLinked = defineEvent(
  'SsoIdentityLinked',
  z.object({ identity_hash: z.string(), user_id: z.string() }),
);

export const ssoIdentityEvents = [SsoIdentityLinked] as const;
export type SsoIdentityEvent = EventOf<(typeof ssoIdentityEvents)[number]>;

// State

type SsoIdentity = { readonly linked: false } | { readonly linked: true; readonly userId: string };

export const ssoIdentityStream: StreamType<SsoIdentity, SsoIdentityEvent> = {
  category: 'sso',
  stateVersion: 1,
  initial: { linked: false },
  evolve: (_state, { data }) => ({ linked: true, userId: data.user_id }),
};

// Commands and decide

interface LinkIdentity {
  readonly identityHash: string;
  readonly userId: string;
  /** Id of the forgotten user that the identity no longer belongs to. */
  readonly insteadOf?: string | undefined;
}

/** Links an identity to a user. Gives no events for a linked identity, unless it is linked to `insteadOf`. */
export const linkIdentity = (state: SsoIdentity, command: LinkIdentity): readonly SsoIdentityEvent[] =>
  state.linked && state.userId !== command.insteadOf
    ? []
    : decided(SsoIdentityLinked, { identity_hash: command.identityHash, user_id: command.userId });
