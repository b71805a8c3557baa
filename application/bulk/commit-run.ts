import { notProcessable } from '../../domain/bulk/outcomes.ts';
import type { Logger } from '../ports/logger.ts';
import type { Frozen } from './frozen.ts';
import { Interrupted, isTransient, OutOfReach, type Patience } from './patience.ts';
import type { Recorder } from './recorder.ts';
import { RowQueue } from './row-queue.ts';
import type { RowJob, RowResult, Rows } from './rows.ts';

const UNEXPECTED_TRIES = 3;

interface Work {
  readonly job: RowJob;
  readonly rows: Rows;
  readonly recorder: Recorder;
  readonly patience: Patience;
  readonly logger: Logger;
  /** Rows under way at the same time. */
  readonly width: number;
}

/** One go at the rows of a session that are not done. */
export class CommitRun {
  readonly #work: Work;
  readonly #ids: readonly string[];
  readonly #queue: RowQueue;
  /** Rows that were tried, and may be done or not. */
  readonly #unknown = new Set<number>();

  constructor(work: Work, frozen: Pick<Frozen, 'rows' | 'over'>) {
    this.#work = work;
    this.#ids = frozen.rows;
    this.#queue = new RowQueue(frozen.rows, frozen.over);
  }

  /** Works through the queue; resolves when nothing is left. */
  applyAll(signal: AbortSignal): Promise<void> {
    const { job, recorder } = this.#work;
    const queue = this.#queue;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let underWay = 0;
    let failure: { readonly error: unknown } | undefined;
    const pump = (): void => {
      while (failure === undefined && underWay < this.#work.width && !recorder.isFull) {
        const row = queue.take();
        if (row === undefined) break;
        underWay += 1;
        void one(row);
      }
      if (underWay > 0) return;
      if (failure !== undefined) reject(failure.error);
      else if (!recorder.isFull) resolve();
    };
    const one = async (row: number): Promise<void> => {
      const id = this.#idOf(row);
      try {
        const result = await this.#applyOne(id);
        const isBack = result.kind === 'restricted' && queue.putBack(row, result.referrerId);
        if (!isBack) {
          queue.done(row, result.kind === 'succeeded' && job.opParams.kind === 'delete');
          recorder.add(row, id, result);
        }
      } catch (error) {
        this.#unknown.add(row);
        failure ??= { error };
      } finally {
        underWay -= 1;
        pump();
      }
    };
    recorder.onSpace((error) => {
      if (error !== undefined) failure ??= { error };
      pump();
    });
    signal.addEventListener('abort', () => {
      failure ??= { error: new Interrupted() };
    });
    if (signal.aborted) failure = { error: new Interrupted() };
    pump();
    return promise;
  }

  async #applyOne(recordId: string): Promise<RowResult> {
    const { job, patience } = this.#work;
    for (let tries = 1; ; tries += 1) {
      try {
        return await patience.with(() => this.#work.rows.apply(job, recordId));
      } catch (error) {
        if (error instanceof OutOfReach || error instanceof Interrupted) throw error;
        const { sessionId } = job;
        this.#work.logger.error(
          { err: error, session_id: sessionId, record_id: recordId },
          'a row of a bulk session failed',
        );
        if (tries < UNEXPECTED_TRIES) continue;
        const isDone = await patience.with(() => this.#isDone(recordId));
        return isDone ? { kind: 'succeeded' } : { kind: 'error', currentState: '', refusal: notProcessable };
      }
    }
  }

  /** Finds out what became of rows whose outcome nobody knows, and records what is done. */
  async settle(): Promise<void> {
    const { job, recorder, patience } = this.#work;
    for (const row of [...this.#queue.left()]) {
      const id = this.#idOf(row);
      if (!this.#unknown.has(row) && !job.isRetaken) continue;
      const isDone = await patience.always(() => this.#isDone(id));
      if (isDone) recorder.add(row, id, { kind: 'succeeded' });
    }
    await recorder.flush('always');
  }

  async #isDone(recordId: string): Promise<boolean> {
    try {
      return await this.#work.rows.isDone(this.#work.job, recordId);
    } catch (error) {
      if (isTransient(error)) throw error;
      // A record that cannot be read was not changed by anybody who could not read it either.
      return false;
    }
  }

  #idOf(row: number): string {
    return this.#ids[row] ?? '';
  }
}
