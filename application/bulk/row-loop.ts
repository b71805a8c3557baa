import { notProcessable } from '../../domain/bulk/outcomes.ts';
import type { BackgroundScheduler } from '../core/concurrency/background-scheduler.ts';
import { Interrupted, isTransient, OutOfReach, type RetryPolicy } from '../core/concurrency/retry-policy.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Logger } from '../ports/logger.ts';
import { BatchSizer, type ForegroundLoad } from './batch-sizer.ts';
import type { Frozen } from './frozen-rows.ts';
import type { Recorder } from './recorder.ts';
import {
  type CommitRun,
  errored,
  type RowDeps,
  type RowOperation,
  type RowResult,
  type SettledRow,
} from './row.ts';
import { RowCommands } from './row-commands.ts';
import { RowEdits } from './row-edits.ts';
import { RowQueue } from './row-queue.ts';

export interface RowLoopDeps extends RowDeps {
  /** Load of requests, which have priority over a commit. */
  readonly foreground: ForegroundLoad;
  /** Each batch of rows runs in a quantum of the session's tenant. */
  readonly scheduler: BackgroundScheduler;
  readonly logger: Logger;
  /** Rows processed at the same time. */
  readonly width: number;
  /** Retries unavailable stores and rows that keep losing races. */
  readonly policy: RetryPolicy;
}

export const operationOf = (deps: RowDeps, run: CommitRun): RowOperation =>
  run.opParams.kind === 'edit'
    ? new RowEdits({ ...deps, run, params: run.opParams })
    : new RowCommands({ ...deps, run, params: run.opParams });

/** Limit of concurrent batches of deletions or transitions: several, since each waits for read models and guards. */
const BATCHES = 4;
const UNEXPECTED_TRIES = 3;

/** Applies the rows of one run in batches. */
export class RowLoop extends WithDeps<
  RowLoopDeps & {
    readonly run: CommitRun;
    readonly frozen: Pick<Frozen, 'rows' | 'doneRows'>;
    readonly recorder: Recorder;
  }
> {
  readonly #operation = operationOf(this.deps, this.deps.run);
  readonly #queue = new RowQueue(this.deps.frozen);
  /** A batch of edits is one group commit, so batches of edits do not run concurrently. */
  readonly #batches = this.deps.run.opParams.kind === 'edit' ? 1 : BATCHES;
  readonly #sizer = new BatchSizer(Math.ceil(this.deps.width / this.#batches), this.deps.foreground);
  /** True from the second run on: an earlier run may have applied rows without recording their results. */
  readonly #isRerun = this.deps.run.number > 1;
  /** Rows that were started and whose result is not known yet. */
  readonly #open = new Set<number>();

  /** Resolves when no row is left. */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    try {
      for (;;) {
        await this.deps.recorder.ready();
        await this.#sizer.ready();
        if (signal.aborted) throw new Interrupted();
        if (failure !== undefined) throw failure.error;
        const rows = running.size < this.#batches ? this.#take() : [];
        if (rows.length === 0 && running.size === 0) return;
        if (rows.length === 0) await Promise.race(running);
        else {
          const batch = this.#runBatch(rows)
            .catch((error: unknown) => {
              failure ??= { error };
            })
            .finally(() => running.delete(batch));
          running.add(batch);
        }
      }
    } finally {
      await Promise.all(running);
    }
  }

  /** Records success for rows whose result is unknown but that were applied. */
  async settle(): Promise<void> {
    const { policy } = this.deps;
    for (const row of [...this.#queue.left()]) {
      if (!this.#open.has(row) && !this.#isRerun) continue;
      const wasApplied = await policy.retryForever(() => this.#wasApplied(this.#idOf(row)));
      if (wasApplied) this.deps.recorder.add(row, this.#idOf(row), { kind: 'succeeded' });
    }
    await this.deps.recorder.flush('retryForever');
  }

  #take(): readonly number[] {
    const rows: number[] = [];
    const most = this.#sizer.size();
    while (rows.length < most) {
      const row = this.#queue.take();
      if (row === undefined) break;
      rows.push(row);
    }
    return rows;
  }

  /** @throws {OutOfReach}, {Interrupted}; rows without a result stay open */
  async #runBatch(rows: readonly number[]): Promise<void> {
    for (const row of rows) this.#open.add(row);
    const ids = rows.map((row) => this.#idOf(row));
    const quantum = await this.deps.scheduler.take(this.deps.run.tenantId, 'bulkRows');
    await quantum.begin();
    const settled = await this.#operation.apply(ids, this.#isRerun).finally(quantum.end);
    const finished = await Promise.allSettled(rows.map((row, at) => this.#finishRow(row, settled[at])));
    this.#sizer.wrote(settled);
    for (const each of finished) if (each.status === 'rejected') throw each.reason;
  }

  async #finishRow(row: number, settled: SettledRow | undefined): Promise<void> {
    const id = this.#idOf(row);
    const result =
      settled?.status === 'fulfilled' ? settled.value : await this.#retryRow(id, settled?.reason);
    this.#open.delete(row);
    const blockedBy = result.kind === 'error' ? result.blockedBy : undefined;
    if (blockedBy !== undefined && this.#queue.putBack(row, blockedBy)) return;
    this.#queue.done(row, result.kind === 'succeeded' && this.deps.run.opParams.kind === 'delete');
    this.deps.recorder.add(row, id, result);
  }

  /**
   * Retries a row until its result is known, or gives it up at the third unexpected error.
   * @throws {OutOfReach}, {Interrupted}
   */
  async #retryRow(id: string, reason: unknown): Promise<RowResult> {
    const { policy, logger } = this.deps;
    let error = reason;
    for (let failures = 1; ; ) {
      if (error instanceof OutOfReach || error instanceof Interrupted) throw error;
      if (!isTransient(error)) {
        const { sessionId: session_id } = this.deps.run;
        logger.error({ err: error, session_id, record_id: id }, 'a row of a bulk session failed');
        if (failures >= UNEXPECTED_TRIES) break;
        failures += 1;
      }
      try {
        return await policy.retry(async () => {
          const [settled] = await this.#operation.apply([id], true);
          if (settled?.status === 'fulfilled') return settled.value;
          throw settled?.reason;
        });
      } catch (thrown) {
        error = thrown;
      }
    }
    const wasApplied = await policy.retry(() => this.#wasApplied(id));
    return wasApplied ? { kind: 'succeeded' } : errored(notProcessable, '');
  }

  async #wasApplied(id: string): Promise<boolean> {
    try {
      return await this.#operation.wasApplied(id);
    } catch (error) {
      if (isTransient(error)) throw error;
      // The error lasts, as for a record that cannot be decoded, so no earlier run changed the record.
      return false;
    }
  }

  #idOf(row: number): string {
    return this.deps.frozen.rows[row] ?? '';
  }
}
