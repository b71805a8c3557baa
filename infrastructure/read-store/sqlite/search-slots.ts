import { SearchGivenUp, TooManySearches } from '../../../application/ports/searches.ts';

export interface SlotLimits {
  /** Maximum of running searches. */
  readonly atOnce: number;
  /** Maximum of waiting searches, in total and per tenant. */
  readonly waiting: number;
  readonly waitingOfTenant: number;
  /** Time limit (ms) of a search, including its wait. */
  readonly deadlineMs: number;
}

interface Waiter {
  readonly tenant: string;
  readonly begin: () => void;
}

/** Runs a search in a slot; `deadline` is a time of `performance.now()`. */
type SearchSlots = <T>(
  tenant: string,
  search: (deadline: number) => Promise<T>,
  /** Time limit (ms) instead of `deadlineMs`. */
  withinMs?: number,
) => Promise<T>;

/**
 * Limits concurrent searches in total, and to one per tenant. Running searches share this thread slice by slice.
 * A tenant with slow searches makes only its own searches wait for a slot.
 */
export function searchSlots({ atOnce, waiting: most, waitingOfTenant, deadlineMs }: SlotLimits): SearchSlots {
  const running = new Set<string>();
  const waiting: Waiter[] = [];

  function begin(): void {
    while (running.size < atOnce) {
      const at = waiting.findIndex(({ tenant }) => !running.has(tenant));
      const [next] = at < 0 ? [] : waiting.splice(at, 1);
      if (next === undefined) return;
      running.add(next.tenant);
      next.begin();
    }
  }

  /** @throws {SearchGivenUp} when too many searches wait, or the deadline passes */
  function acquire(tenant: string, withinMs: number): Promise<void> {
    const own = waiting.filter((waiter) => waiter.tenant === tenant).length;
    const waits = running.size >= atOnce || running.has(tenant);
    if (waits && (waiting.length >= most || own >= waitingOfTenant)) {
      return Promise.reject(new TooManySearches('too many searches are waiting'));
    }
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1);
        reject(new SearchGivenUp('a search waited too long for a slot'));
      }, withinMs).unref();
      const waiter: Waiter = {
        tenant,
        begin: () => {
          clearTimeout(late);
          resolve();
        },
      };
      waiting.push(waiter);
      begin();
    });
  }

  return async (tenant, search, withinMs = deadlineMs) => {
    const deadline = performance.now() + withinMs;
    await acquire(tenant, withinMs);
    try {
      return await search(deadline);
    } finally {
      running.delete(tenant);
      begin();
    }
  };
}
