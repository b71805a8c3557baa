import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import { BoundedCache } from '../../../application/core/memory/bounded-cache.ts';
import type { Reader } from '../../../application/core/projections/reader.ts';
import { MEMORY } from '../../../application/ports/memory.ts';
import { lastChangeOf } from '../../../projections/ledger/ledger.ts';
import { type Balances, presentBalances, type Range } from '../../../projections/ledger/ledger-reports.ts';

/** A report with more accounts than this is printed in a tick of its own. */
const LARGE_CHART = 500;

/** A report's bytes, and the state of the ledger that they show. */
interface Report<Bytes> {
  readonly state: string;
  readonly bytes: Bytes;
}

/**
 * Caches present reports as bytes: concurrent requests for one state of the ledger share a computation (decision 65).
 * The state is read from the read model at each request, so that a cached report is never older than a newly computed
 * one.
 */
export class ReportCache {
  readonly #reader: Reader;
  readonly #kept = new BoundedCache<Report<Uint8Array>>(MEMORY.reports);
  readonly #running = new Map<string, Report<Promise<Uint8Array>>>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /**
   * @param form distinguishes reports of the same range
   * @param print must depend on `form`, `range` and the balances alone
   */
  async present(
    tenantId: string,
    form: string,
    range: Range,
    print: (balances: Balances) => string,
  ): Promise<Uint8Array> {
    const key = JSON.stringify([tenantId, form, range.currency, range.from, range.to]);
    const generation = await this.#reader.generation();
    const state = stateOf(generation, await lastChangeOf(this.#reader, tenantId));
    const kept = this.#kept.get(key);
    if (kept?.state === state) return kept.bytes;
    const running = this.#running.get(key);
    if (running?.state === state) return running.bytes;
    const bytes = this.#compute(key, generation, tenantId, range, print);
    this.#running.set(key, { state, bytes });
    try {
      return await bytes;
    } finally {
      if (this.#running.get(key)?.bytes === bytes) this.#running.delete(key);
    }
  }

  async #compute(
    key: string,
    generation: string,
    tenantId: string,
    range: Range,
    print: (balances: Balances) => string,
  ): Promise<Uint8Array> {
    const folded = await this.#reader.checkpoint(tenantId);
    const slice = timeSlices.of(tenantId, 'report');
    const pause = () => slice.pause();
    const { lastChange, ...balances } = await presentBalances(this.#reader, tenantId, range, pause);
    // Reading a large chart has used the time of its tick.
    if (balances.chart.length > LARGE_CHART) await slice.next();
    const bytes = Buffer.from(print(balances));
    // On a store without transactions the last change can be visible before the balances of its batch.
    const isWhole = lastChange === undefined || (folded !== undefined && lastChange <= folded);
    if (isWhole && (await this.#reader.generation()) === generation) {
      this.#kept.set(key, { state: stateOf(generation, lastChange), bytes });
      this.#kept.trim();
    }
    return bytes;
  }
}

const stateOf = (generation: string, lastChange: string | undefined): string =>
  `${generation} ${lastChange ?? ''}`;
