import { z } from 'zod';
import { invalidCredential } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';

/**
 * An assertion of a hosting portal (decisions, section 3), in a stream named by a hash of partner and `jti`. When
 * several nodes exchange an assertion at the same time, exactly one exchange is appended.
 */

// Events

export const PartnerAssertionExchanged = defineEvent(
  'PartnerAssertionExchanged',
  z.object({
    partner_id: z.string(),
    /** Hash of partner and `jti`. */
    assertion_id: z.string(),
    user_id: z.string(),
    permissions: z.array(z.string()),
  }),
);

export const assertionEvents = [PartnerAssertionExchanged] as const;
export type AssertionEvent = EventOf<(typeof assertionEvents)[number]>;

// State

export interface Assertion {
  readonly used: boolean;
}

export const assertionStream: StreamType<Assertion, AssertionEvent> = {
  category: 'assertion',
  stateVersion: 1,
  initial: { used: false },
  evolve: () => ({ used: true }),
};

// Commands and decide

/** @throws `invalid_credential` for an assertion already used */
export const exchangeAssertion = (
  state: Assertion,
  data: z.output<typeof PartnerAssertionExchanged.schema>,
): readonly AssertionEvent[] => {
  if (state.used) throw invalidCredential();
  return decided(PartnerAssertionExchanged, data);
};
