import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { defineEvent, type EventOf } from '../event.ts';

/**
 * The audit trail of one-hour test tokens (specification, Authentication 7 and Audit events:
 * `api_test_token_generated`). The token itself is kept nowhere; actor, tenant and impersonator are metadata too.
 */

export const ApiTestTokenGenerated = defineEvent(
  'ApiTestTokenGenerated',
  z.object({ tenant_id: z.string(), user_id: z.string() }),
);

export const testTokenEvents = [ApiTestTokenGenerated] as const;
export type TestTokenEvent = EventOf<(typeof testTokenEvents)[number]>;

/** A stream per person; nothing is decided from what was minted before. */
export const testTokenDecider: Decider<null, TestTokenEvent> = {
  category: 'test_token',
  stateVersion: 1,
  initial: null,
  evolve: (state) => state,
};

export const generateTestToken = (tenantId: string, userId: string): readonly TestTokenEvent[] => [
  { type: 'ApiTestTokenGenerated', data: { tenant_id: tenantId, user_id: userId } },
];
