import { DomainError } from '../../domain/core/errors.ts';

interface QuestionLimits {
  /** Concurrent questions of one tenant. */
  readonly perTenant: number;
  /** Concurrent questions of all tenants. */
  readonly together: number;
}

/** `perTenant` is far below `together`: an upstream may need half a minute, and one tenant must not use all slots. */
const QUESTION_LIMITS: QuestionLimits = { perTenant: 32, together: 192 };

/** Limits concurrent questions in this process; refuses questions beyond the limit. */
export class QuestionLimiter {
  readonly #limits: QuestionLimits;
  readonly #inside = new Map<string, number>();
  #together = 0;

  constructor(limits: QuestionLimits = QUESTION_LIMITS) {
    this.#limits = limits;
  }

  /** @throws {DomainError} `rate_limited` at the tenant's limit, `unavailable` at the total limit */
  async admit<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const inside = this.#inside.get(tenantId) ?? 0;
    if (inside >= this.#limits.perTenant) {
      throw new DomainError('rate_limited', 'Too many questions at the same time. Wait, then try again.', {
        retry_after: 1,
      });
    }
    if (this.#together >= this.#limits.together)
      throw new DomainError('unavailable', 'Too many questions are being answered. Try again.');
    this.#inside.set(tenantId, inside + 1);
    this.#together += 1;
    try {
      return await work();
    } finally {
      const left = (this.#inside.get(tenantId) ?? 1) - 1;
      if (left === 0) this.#inside.delete(tenantId);
      else this.#inside.set(tenantId, left);
      this.#together -= 1;
    }
  }
}
