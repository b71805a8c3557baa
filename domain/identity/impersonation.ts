import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { stateless } from '../core/stream-type.ts';

/**
 * The log of impersonation by platform admins (specification, Authentication 3; decisions, section 3): starts, reads
 * and refused requests. Changes are logged by their own events, with `impersonated_by` in the metadata.
 */

// Events

/** A token for acting as `user_id` was minted. */
export const ImpersonationStarted = defineEvent(
  'ImpersonationStarted',
  z.object({ user_id: z.string(), reason: z.string().optional() }),
);

/** A request under impersonation that appended no event of its own. Neither query nor body is stored. */
export const ImpersonatedRequestMade = defineEvent(
  'ImpersonatedRequestMade',
  z.object({
    /** Upper-case method of the request. */
    method: z.string(),
    /** Pattern of the path, never the path itself. */
    route: z.string(),
    operation_id: z.string(),
    /** Status code of the answer. */
    status: z.int(),
    /** Well-formed ids of the path, by name. */
    params: z.record(z.string(), z.string()),
  }),
);

export const impersonationEvents = [ImpersonationStarted, ImpersonatedRequestMade] as const;
export type ImpersonationEvent = EventOf<(typeof impersonationEvents)[number]>;

export const impersonationStream = stateless<ImpersonationEvent>('impersonation');

/** Stream of logged requests: one per impersonated user and day (UTC), so that few writes collide. @param at ms */
export const impersonationStreamId = (userId: string, at: number): string =>
  `${userId}-${new Date(at).toISOString().slice(0, 10)}`;

// Commands and decide

export const startImpersonation = (userId: string, reason?: string): readonly ImpersonationEvent[] =>
  decided(ImpersonationStarted, { user_id: userId, reason });

export interface LogRequest {
  readonly method: string;
  readonly route: string;
  readonly operationId: string;
  readonly status: number;
  readonly params: Readonly<Record<string, string>>;
}

/** Form of an id; path parameters of another form are not logged. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:|-]{0,127}$/;
/** Prefixes of the product's secrets, which are never logged, even in place of an id. */
const SECRET = /^(svc_pat_|whsec_|eyJ)/;

export const logRequest = (request: LogRequest): readonly ImpersonationEvent[] =>
  decided(ImpersonatedRequestMade, {
    method: request.method,
    route: request.route,
    operation_id: request.operationId,
    status: request.status,
    params: Object.fromEntries(
      Object.entries(request.params).filter(([, value]) => ID.test(value) && !SECRET.test(value)),
    ),
  });
