import { notProcessable } from '../../domain/bulk/outcomes.ts';
import type { Logger } from '../ports/logger.ts';
import type { Frozen } from './frozen.ts';
import { Interrupted, isTransient, OutOfReach, type Patience } from './patience.ts';
import type { Recorder } from './recorder.ts';
import type { RowJob, RowResult } from './row-job.ts';
import { RowQueue } from './row-queue.ts';
import type { Rows } from './rows.ts';

const UNEXPECTED_TRIES = 3;
/** Further rows begin when so much of the width is free. */
const LEAST_ROOM = 0.25;
const NONE: ReadonlySet<string> = new Set();

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
    const { width } = this.#work;
    let underWay = 0;
    let failure: { readonly error: unknown } | undefined;
    let isPumping = false;
    const pump = (): void => {
      isPumping = false;
      // Rows that begin together are read together, and go to disk together.
      const isRoomy = underWay === 0 || width - underWay >= width * LEAST_ROOM;
      const rows: number[] = [];
      while (isRoomy && failure === undefined && underWay < width && !recorder.isFull) {
        const row = queue.take();
        if (row === undefined) break;
        underWay += 1;
        rows.push(row);
      }
      if (rows.length > 0) void begin(rows);
      if (underWay > 0) return;
      if (failure !== undefined) reject(failure.error);
      else if (!recorder.isFull) resolve();
    };
    /** Whoever else waits has a turn first. */
    const pumpSoon = (): void => {
      if (isPumping) return;
      isPumping = true;
      setImmediate(pump);
    };
    const begin = async (rows: readonly number[]): Promise<void> => {
      const gathered = await this.#gather(rows);
      await new Promise((next) => setImmediate(next));
      for (const row of rows) void one(row, gathered);
    };
    const one = async (row: number, gathered: ReadonlySet<string>): Promise<void> => {
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
        if (gathered.has(id)) this.#work.rows.letGo(job.tenantId, id);
        pumpSoon();
      }
    };
    recorder.onSpace((error) => {
      if (error !== undefined) failure ??= { error };
      pumpSoon();
    });
    signal.addEventListener('abort', () => {
      failure ??= { error: new Interrupted() };
    });
    if (signal.aborted) failure = { error: new Interrupted() };
    pump();
    return promise;
  }

  /** @returns ids of records that are in memory for the sake of these rows alone */
  async #gather(rows: readonly number[]): Promise<ReadonlySet<string>> {
    try {
      return await this.#work.rows.gather(
        this.#work.job.tenantId,
        rows.map((row) => this.#idOf(row)),
      );
    } catch {
      // Each row asks for its own, and says what is wrong.
      return NONE;
    }
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
