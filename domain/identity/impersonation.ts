import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { defineEvent, type EventOf } from '../event.ts';

/**
 * What a platform admin does as somebody of a tenant (specification, Authentication 3; decisions, section 3). What
 * changes something has events of its own, with `impersonated_by` in their metadata; the rest leaves a line here:
 * who began when, what was read, what was refused.
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
    /** HTTP method in capitals. */
    method: z.string(),
    /** The pattern of the path, never the path itself. */
    route: z.string(),
    operation_id: z.string(),
    /** HTTP status of the answer. */
    status: z.int(),
    /** The path's ids by name, as far as they are well formed. */
    params: z.record(z.string(), z.string()),
  }),
);

export const impersonationEvents = [ImpersonationStarted, ImpersonatedRequestMade] as const;
export type ImpersonationEvent = EventOf<(typeof impersonationEvents)[number]>;

// State: nothing is decided by what happened before.

export const impersonationDecider: Decider<null, ImpersonationEvent> = {
  category: 'impersonation',
  stateVersion: 1,
  initial: null,
  evolve: (state) => state,
};

/** The lines of requests: a stream for each user and day (UTC), so that one busy session holds up no other. @param at ms */
export const impersonationStream = (userId: string, at: number): string =>
  `${userId}-${new Date(at).toISOString().slice(0, 10)}`;

// Commands and decide

export interface StartImpersonation {
  readonly userId: string;
  readonly reason?: string | undefined;
}

export const startImpersonation = ({ userId, reason }: StartImpersonation): readonly ImpersonationEvent[] => [
  { type: 'ImpersonationStarted', data: { user_id: userId, ...(reason === undefined ? {} : { reason }) } },
];

export interface NoteRequest {
  readonly method: string;
  readonly route: string;
  readonly operationId: string;
  readonly status: number;
  readonly params: Readonly<Record<string, string>>;
}

/** What an id can look like; a longer or stranger text in a path is somebody's mistake, and not kept. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:|-]{0,127}$/;
/** Secrets of the product, should somebody put one where an id belongs. */
const SECRET = /^(svc_pat_|whsec_|eyJ)/;

export const noteRequest = (request: NoteRequest): readonly ImpersonationEvent[] => [
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
