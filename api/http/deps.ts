import type { Clock, Ids } from '../../application/ports/clock.ts';
import type { Position } from '../../application/ports/event-store.ts';
import type { IdempotencyStore } from '../../application/ports/idempotency-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Authenticate, FreshRights } from './authorization.ts';
import type { ExpensiveRequests } from './expensive-requests.ts';
import type { Build, Readiness } from './health.ts';
import type { AnswerCodec, Fingerprint } from './idempotency.ts';
import type { AppendLine } from './impersonation-log.ts';
import type { HttpMetrics } from './metrics.ts';
import type { RateLimits } from './rate-limits.ts';
import type { LogRequest } from './request-log.ts';
import type { Route } from './route.ts';

export interface ReadsWait {
  /** Undefined for callers without a tenant: platform admins, partners, and callers of public routes. */
  readonly tenantId: string | undefined;
  readonly projections: readonly string[];
  /** Value of `X-Min-Position`. */
  readonly minPosition: Position | undefined;
}

/** Dependencies of the HTTP pipeline on the rest of the server. */
export interface HttpDeps {
  readonly routes: readonly Route[];
  /** Served, but not in the OpenAPI document. */
  readonly unlisted?: readonly Route[];
  readonly authenticate: Authenticate;
  readonly freshRights: FreshRights;
  readonly readiness: Readiness;
  readonly build: Build;
  /**
   * Read your writes: undefined when the projections have caught up, else a promise.
   * @throws {DomainError} `read_model_behind`
   */
  readonly waitForReads: (wait: ReadsWait) => Promise<void> | undefined;
  /** Delays a tenant's write; returns undefined when no delay is needed. */
  readonly pace?: ((tenantId: string) => Promise<void> | undefined) | undefined;
  /** Receives the position of a write before its answer is sent. */
  readonly answered: (tenantId: string | undefined, position: Position) => void;
  /** The newest position that this process knows. */
  readonly logPosition: () => Position | undefined;
  /** Waits until this process has seen all writes of its group; undefined in a process without a group. */
  readonly catchUp?: (() => Promise<void>) | undefined;
  readonly parsePosition: (text: string) => Position | undefined;
  readonly idempotency: IdempotencyStore;
  readonly answerCodec: AnswerCodec;
  readonly fingerprint: Fingerprint;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly limits: RateLimits;
  readonly expensive: ExpensiveRequests;
  readonly metrics: HttpMetrics;
  /** Appends a line to the impersonation log, before the request is answered (`impersonation-log.ts`). */
  readonly appendLine: AppendLine;
  readonly logger: Logger;
  /** Logs a served request; undefined: requests are not logged. */
  readonly logRequest?: LogRequest;
  /** Origins whose pages may call; none by default. */
  readonly corsOrigins?: readonly string[];
  /** Express's `trust proxy`; undefined: client addresses are those of the sockets. */
  readonly trustProxy?: boolean | number | string | undefined;
}
