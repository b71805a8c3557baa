import { createHash } from 'node:crypto';
import type { Ids } from '../../ports/clock.ts';
import type { Actor, Cause, ImpersonationLog } from '../events/event-codec.ts';
import type { PriorAttempt } from './command.ts';
import { impersonatorOf, type Principal } from './principal.ts';

/** A UUIDv5-shaped id derived from a name; the same name gives the same id on every node. */
export const uuidFromName = (name: string): string => {
  const bytes = createHash('sha256').update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** The use of an idempotency key by one request. */
export interface IdempotencyUse {
  readonly scope: string;
  readonly key: string;
  /** Unique to this use of the key; ids that the request creates are derived from it. */
  readonly nonce: string;
  /** Bounds the search for events of an earlier try, or of a concurrent try on another node. */
  readonly priorAttempt: PriorAttempt;
}

/** The cause, ids and prior attempt of a request, as use cases need them. */
export interface RequestContext {
  readonly cause: Cause;
  /** Set when an earlier or concurrent try of the same request may have appended ({@link PriorAttempt}). */
  readonly priorAttempt: PriorAttempt | undefined;
  /** Makes ids: for a request with an {@link IdempotencyUse}, from this use and an ordinal; otherwise new UUIDv7. */
  readonly newId: () => string;
}

export const actorOf = (principal: Principal): Actor => {
  switch (principal.kind) {
    case 'user':
      return { kind: 'user', id: principal.userId };
    case 'extension':
      return { kind: 'extension', id: principal.extId, user_id: principal.userId };
    case 'api_token':
      return { kind: 'api_token', id: principal.tokenId };
    case 'platform_admin':
      return { kind: 'platform_admin', id: principal.adminId };
    case 'partner':
      return { kind: 'partner', id: principal.userId };
    default:
      return principal satisfies never;
  }
};

export const requestContext = (
  request: {
    readonly principal: Principal;
    readonly requestId: string;
    readonly idempotency: IdempotencyUse | undefined;
    readonly impersonationLog?: ImpersonationLog | undefined;
    readonly traceparent?: string | undefined;
  },
  ids: Ids,
): RequestContext => {
  const { principal, requestId, idempotency, impersonationLog, traceparent } = request;
  const impersonatedBy = impersonatorOf(principal);
  const actor = actorOf(principal);
  if (idempotency === undefined) {
    return {
      cause: {
        actor,
        impersonatedBy,
        correlationId: requestId,
        causationId: requestId,
        traceparent,
        impersonationLog,
      },
      priorAttempt: undefined,
      newId: () => ids.next(),
    };
  }
  const name = `keyed\n${idempotency.scope}\n${idempotency.key}\n${idempotency.nonce}`;
  let ordinal = 0;
  return {
    cause: {
      actor,
      impersonatedBy,
      correlationId: requestId,
      causationId: uuidFromName(name),
      traceparent,
      impersonationLog,
    },
    priorAttempt: idempotency.priorAttempt,
    newId: () => {
      ordinal += 1;
      return uuidFromName(`${name}\n${ordinal}`);
    },
  };
};
