import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { stateless } from '../core/stream-type.ts';

/**
 * The log of one-hour test tokens (specification, Authentication 7 and Audit events: `api_test_token_generated`). The
 * token itself is not stored; metadata names actor, tenant and impersonator.
 */

export const ApiTestTokenGenerated = defineEvent(
  'ApiTestTokenGenerated',
  z.object({ tenant_id: z.string(), user_id: z.string() }),
);

export const testTokenEvents = [ApiTestTokenGenerated] as const;
export type TestTokenEvent = EventOf<(typeof testTokenEvents)[number]>;

/** One stream per person. */
export const testTokenStream = stateless<TestTokenEvent>('test_token');

export const generateTestToken = (tenantId: string, userId: string): readonly TestTokenEvent[] =>
  decided(ApiTestTokenGenerated, { tenant_id: tenantId, user_id: userId });
