import { holdLease, type LeaseOptions } from '../core/subscriptions/lease.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { leaseNameOfSubscriber } from '../ports/read-store.ts';
import type { InvoiceIssuing, InvoiceRef } from './issuing.ts';

/** An invoice that is being issued; `since` is the time (ms) at which its issue started. */
export interface Pending extends InvoiceRef {
  readonly since: number;
}

export interface IssueWorkerDeps {
  readonly issuing: Pick<InvoiceIssuing, 'attempt'>;
  /** Lists the invoices in state `issuing` of all partners, oldest first. */
  readonly pending: () => AsyncIterable<Pending>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Interval (ms) at which the worker reads the list of issuing invoices. */
const POLL_MS = 250;
/** Limit of concurrent upstream calls. */
const WIDTH = 8;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Retries issues that got no clear answer, without end, after 1, 2, 4, … up to 60 s (decisions, section 10, Issue). A
 * lease lets only one process do so.
 */
export const runIssueWorker = (
  deps: IssueWorkerDeps,
  lease: LeaseOptions,
  signal: AbortSignal,
): Promise<void> =>
  holdLease(leaseNameOfSubscriber('invoice-issuer'), lease, signal, (_lease, held) => work(deps, held));

const work = async (
  { issuing, pending, clock, logger, sleep }: IssueWorkerDeps,
  held: AbortSignal,
): Promise<void> => {
  const active = new Map<string, Promise<void>>();
  const waits = new Map<string, { readonly due: number; readonly ms: number }>();

  const attempt = async (one: Pending, key: string, ms: number): Promise<void> => {
    const outcome = await issuing.attempt(one, false, held);
    active.delete(key);
    // The read model may still list an issue that has ended; a further attempt then has no effect.
    const next = outcome === 'waiting' ? Math.min(ms * 2, LONGEST_WAIT_MS) : ms;
    waits.set(key, { due: clock.now() + (outcome === 'busy' ? FIRST_WAIT_MS : next), ms: next });
  };

  while (!held.aborted) {
    try {
      const seen = new Set<string>();
      for await (const one of pending()) {
        const key = `${one.scope}/${one.invoiceId}/${one.since}`;
        seen.add(key);
        const wait = waits.get(key) ?? { due: one.since + FIRST_WAIT_MS, ms: FIRST_WAIT_MS };
        if (held.aborted || active.size >= WIDTH || active.has(key) || wait.due > clock.now()) continue;
        active.set(key, attempt(one, key, wait.ms));
      }
      for (const key of waits.keys()) if (!seen.has(key) && !active.has(key)) waits.delete(key);
    } catch (error) {
      logger.warn({ err: error }, 'invoices to be issued could not be listed');
    }
    await sleep(POLL_MS, held);
  }
  await Promise.all(active.values());
};
