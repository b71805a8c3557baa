import { SearchGivenUp } from '../../../application/ports/read-store.ts';

export interface SlotLimits {
  /** How many searches run at a time. */
  readonly atOnce: number;
  /** How many wait for a turn, of all tenants and of one. */
  readonly waiting: number;
  readonly waitingOfTenant: number;
  /** From when a search came, its waiting included. */
  readonly deadlineMs: number;
}

interface Waiter {
  readonly tenant: string;
  readonly begin: () => void;
}

/** Runs a search when its turn comes and tells it when to give up (as `performance.now()`). */
export type Turns = <T>(tenant: string, search: (deadline: number) => Promise<T>) => Promise<T>;

/**
 * Searches share this thread, so only a few run at a time, and one of each tenant: whoever asks for long ones makes
 * their own tenant wait, and not the others.
 */
export function searchTurns({ atOnce, waiting: most, waitingOfTenant, deadlineMs }: SlotLimits): Turns {
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

  /** @throws {SearchGivenUp} when too many wait, or time is up before the turn comes */
  function turn(tenant: string): Promise<void> {
    const own = waiting.filter((waiter) => waiter.tenant === tenant).length;
    if (waiting.length >= most || own >= waitingOfTenant) {
      return Promise.reject(new SearchGivenUp('too many searches are waiting'));
    }
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1);
        reject(new SearchGivenUp('a search waited too long for its turn'));
      }, deadlineMs).unref();
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

  return async (tenant, search) => {
    const deadline = performance.now() + deadlineMs;
    await turn(tenant);
    try {
      return await search(deadline);
    } finally {
      running.delete(tenant);
      begin();
    }
  };
}
