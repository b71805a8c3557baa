import { notProcessable } from '../../domain/bulk/outcomes.ts';
import type { Logger } from '../ports/logger.ts';
import type { Frozen } from './frozen.ts';
import { JointEdits } from './joint-edits.ts';
import { Pace } from './pace.ts';
import { Interrupted, isTransient, OutOfReach, type Patience } from './patience.ts';
import type { Others } from './ports.ts';
import type { Recorder } from './recorder.ts';
import type { RowJob, RowResult } from './row-job.ts';
import { RowQueue } from './row-queue.ts';
import type { Rows } from './rows.ts';

const UNEXPECTED_TRIES = 3;
/** Further rows begin when so much of the width is free. */
const LEAST_ROOM = 0.25;
const NONE: ReadonlySet<string> = new Set();
const SUCCEEDED: RowResult = { kind: 'succeeded' };

interface Work {
  readonly job: RowJob;
  readonly rows: Rows;
  readonly recorder: Recorder;
  readonly patience: Patience;
  readonly logger: Logger;
  readonly others: Others;
  /** Rows under way at the same time. */
  readonly width: number;
}

/** One go at the rows of a session that are not done. */
export class CommitRun {
  readonly #work: Work;
  readonly #ids: readonly string[];
  readonly #queue: RowQueue;
  /** Rows that were tried together with others, and may be done or not: their own command finds out. */
  readonly #tried = new Set<number>();
  /** Rows of which their own command did not find out. */
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
    const pace = JointEdits.suits(job) ? new Pace(width, this.#work.others) : undefined;
    let underWay = 0;
    /** Rows are read, decided and written together; further ones at the same time would only make the turns longer. */
    let isTogether = false;
    let failure: { readonly error: unknown } | undefined;
    let isPumping = false;
    const pump = (): void => {
      isPumping = false;
      // Rows that begin together are read together, and go to disk together.
      const isRoomy = !isTogether && (underWay === 0 || width - underWay >= width * LEAST_ROOM);
      const rows: number[] = [];
      const most = pace?.size() ?? width;
      while (isRoomy && failure === undefined && underWay < width && rows.length < most && !recorder.isFull) {
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
    const begin = async (begun: readonly number[]): Promise<void> => {
      isTogether = pace !== undefined;
      const done = pace === undefined ? NONE : await this.#together(begun, pace);
      isTogether = false;
      const rows = done.size === 0 ? begun : begun.filter((row) => !done.has(this.#idOf(row)));
      if (done.size > 0) {
        for (const row of begun) {
          const id = this.#idOf(row);
          if (!done.has(id)) continue;
          queue.done(row, false);
          recorder.add(row, id, SUCCEEDED);
        }
        underWay -= begun.length - rows.length;
      }
      pumpSoon();
      if (rows.length === 0) return;
      const gathered = await this.#gather(rows);
      await new Promise((next) => setImmediate(next));
      for (const row of rows) void one(row, gathered);
    };
    const one = async (row: number, gathered: ReadonlySet<string>): Promise<void> => {
      const id = this.#idOf(row);
      try {
        const result = await this.#applyOne(row, id);
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

  /** @returns ids of rows that are done */
  async #together(rows: readonly number[], pace: Pace): Promise<ReadonlySet<string>> {
    await pace.ready();
    try {
      const ids = rows.map((row) => this.#idOf(row));
      return await this.#work.rows.applyTogether(this.#work.job, ids, pace);
    } catch {
      // Nobody knows which of them are done: each row's own command finds out, and says what is wrong.
      for (const row of rows) this.#tried.add(row);
      return NONE;
    }
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

  async #applyOne(row: number, recordId: string): Promise<RowResult> {
    const { job, patience } = this.#work;
    const wasTriedTogether = this.#tried.delete(row);
    let mayBeDone = job.isRetaken || wasTriedTogether;
    for (let tries = 1; ; tries += 1) {
      try {
        return await patience.with(() => {
          const wasTried = mayBeDone;
          mayBeDone = true;
          return this.#work.rows.apply(job, recordId, wasTried);
        });
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
