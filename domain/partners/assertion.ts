import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { DomainError } from '../errors.ts';
import { defineEvent, type EventOf } from '../event.ts';

/**
 * One assertion of a hosting portal (decisions, section 3): a stream of its own, named by a hash of partner and `jti`,
 * so that of any number of exchanges exactly one is written, whichever nodes they reach and whatever dies in between.
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

export const assertionDecider: Decider<Assertion, AssertionEvent> = {
  category: 'assertion',
  stateVersion: 1,
  initial: { used: false },
  evolve: () => ({ used: true }),
};

// Commands and decide

export interface ExchangeAssertion {
  readonly partnerId: string;
  readonly assertionId: string;
  readonly userId: string;
  readonly permissions: readonly string[];
}

/** @throws `invalid_credential` for one that was used before */
export const exchangeAssertion = (
  state: Assertion,
  command: ExchangeAssertion,
): readonly AssertionEvent[] => {
  if (state.used) throw new DomainError('invalid_credential', 'The credential is not valid.');
  return [
    {
      type: 'PartnerAssertionExchanged',
      data: {
        partner_id: command.partnerId,
        assertion_id: command.assertionId,
        user_id: command.userId,
        permissions: [...command.permissions],
      },
    },
  ];
};
