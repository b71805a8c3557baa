import type { Clock, Ids } from '../../application/ports/clock.ts';
import type { Position } from '../../application/ports/event-store.ts';
import type { IdempotencyStore } from '../../application/ports/idempotency-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Authenticate } from './authorization.ts';
import type { Readiness } from './health.ts';
import type { AnswerCodec, Fingerprint } from './idempotency.ts';
import type { AppendLine } from './impersonation-log.ts';
import type { HttpMetrics } from './metrics.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Route } from './route.ts';

export interface ReadsWait {
  /** Undefined for callers outside any tenant: platform admins and public routes. */
  readonly tenantId: string | undefined;
  readonly projections: readonly string[];
  /** From `X-Min-Position`. */
  readonly minPosition: Position | undefined;
}

/** All that the HTTP ground needs from the rest. */
export interface HttpDeps {
  readonly routes: readonly Route[];
  readonly authenticate: Authenticate;
  readonly readiness: Readiness;
  /**
   * Read your own writes: undefined when the projections are there already, else a promise.
   * @throws {DomainError} `read_model_behind`
   */
  readonly waitForReads: (wait: ReadsWait) => Promise<void> | undefined;
  /** Told where a write ended, before its answer goes out. */
  readonly answered: (tenantId: string | undefined, position: Position) => void;
  /** How far the log is known to this node. */
  readonly logPosition: () => Position | undefined;
  readonly parsePosition: (text: string) => Position | undefined;
  readonly idempotency: IdempotencyStore;
  readonly answerCodec: AnswerCodec;
  readonly fingerprint: Fingerprint;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly limits: RateLimits;
  readonly metrics: HttpMetrics;
  /** Called for a request under impersonation that leaves no event of its own, before its answer goes out. */
  readonly appendLine: AppendLine;
  readonly logger: Logger;
  /** As Express's `trust proxy`; undefined: addresses are the sockets'. */
  readonly trustProxy?: boolean | number | string | undefined;
}
