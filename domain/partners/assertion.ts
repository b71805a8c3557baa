import { z } from 'zod';
import { DomainError } from '../core/errors.ts';
import { defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';

/**
 * One assertion of a hosting portal (decisions, section 3): a stream of its own, named by a hash of partner and `jti`,
 * so that exactly one of concurrent exchanges is written, on any number of nodes.
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

export type ExchangeAssertion = z.output<typeof PartnerAssertionExchanged.schema>;

/** @throws `invalid_credential` for an assertion that was used before */
export const exchangeAssertion = (state: Assertion, data: ExchangeAssertion): readonly AssertionEvent[] => {
  if (state.used) throw new DomainError('invalid_credential', 'The credential is not valid.');
  return [{ type: 'PartnerAssertionExchanged', data }];
};
