import { z } from 'zod';
import { defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';

/**
 * The log of impersonation by platform admins (specification, Authentication 3; decisions, section 3). A change has
 * events of its own with `impersonated_by` in their metadata; this log has the start, the reads and the refused requests.
 */

// Events

/** A token for acting as `user_id` was minted. */
export const ImpersonationStarted = defineEvent(
  'ImpersonationStarted',
  z.object({ user_id: z.string(), reason: z.string().optional() }),
);

/** A request under impersonation that left no event of its own. Neither its query nor its body is kept. */
export const ImpersonatedRequestMade = defineEvent(
  'ImpersonatedRequestMade',
  z.object({
    /** The request's method in capitals. */
    method: z.string(),
    /** The pattern of the path, never the path itself. */
    route: z.string(),
    operation_id: z.string(),
    /** The status code of the answer. */
    status: z.int(),
    /** The path's ids by name, as far as they are well formed. */
    params: z.record(z.string(), z.string()),
  }),
);

export const impersonationEvents = [ImpersonationStarted, ImpersonatedRequestMade] as const;
export type ImpersonationEvent = EventOf<(typeof impersonationEvents)[number]>;

// State: none, decisions do not depend on earlier events.

export const impersonationStream: StreamType<null, ImpersonationEvent> = {
  category: 'impersonation',
  stateVersion: 1,
  initial: null,
  evolve: (state) => state,
};

/** The lines of requests: a stream for each user and day (UTC), so that one busy session holds up no other. @param at ms */
export const impersonationStreamName = (userId: string, at: number): string =>
  `${userId}-${new Date(at).toISOString().slice(0, 10)}`;

// Commands and decide

export interface StartImpersonation {
  readonly userId: string;
  readonly reason?: string | undefined;
}

export const startImpersonation = ({ userId, reason }: StartImpersonation): readonly ImpersonationEvent[] => [
  { type: 'ImpersonationStarted', data: { user_id: userId, ...(reason === undefined ? {} : { reason }) } },
];

export interface LogRequest {
  readonly method: string;
  readonly route: string;
  readonly operationId: string;
  readonly status: number;
  readonly params: Readonly<Record<string, string>>;
}

/** The form of an id; other texts in a path are not logged. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:|-]{0,127}$/;
/** Prefixes of the product's secrets, which are not logged even in place of an id. */
const SECRET = /^(svc_pat_|whsec_|eyJ)/;

export const logRequest = (request: LogRequest): readonly ImpersonationEvent[] => [
  {
    type: 'ImpersonatedRequestMade',
    data: {
      method: request.method,
      route: request.route,
      operation_id: request.operationId,
      status: request.status,
      params: Object.fromEntries(
        Object.entries(request.params).filter(([, value]) => ID.test(value) && !SECRET.test(value)),
      ),
    },
  },
];
