import { z } from 'zod';
import { defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';

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

/** A stream per person, with no state: a decision does not depend on earlier tokens. */
export const testTokenStream: StreamType<null, TestTokenEvent> = {
  category: 'test_token',
  stateVersion: 1,
  initial: null,
  evolve: (state) => state,
};

export const generateTestToken = (tenantId: string, userId: string): readonly TestTokenEvent[] => [
  { type: 'ApiTestTokenGenerated', data: { tenant_id: tenantId, user_id: userId } },
];
