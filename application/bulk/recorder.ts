import { bulkDecider, CHUNK } from '../../domain/bulk/session.ts';
import { type Processed, recordRows } from '../../domain/bulk/session-decisions.ts';
import type { RowError } from '../../domain/bulk/session-events.ts';
import type { CommandHandler } from '../command-handler.ts';
import { bytesOf, packed } from './packing.ts';
import type { Patience } from './patience.ts';
import type { RowJob, RowResult } from './row-job.ts';

/** What is done is recorded at least so often (ms), so that progress is seen. */
const RECORD_MS = 1000;
/** With so many rows unrecorded, no further ones are done. */
const FULL = 4 * CHUNK;

type Done =
  | { readonly row: number; readonly kind: 'succeeded' | 'skipped' }
  | { readonly row: number; readonly kind: 'error'; readonly error: RowError };

/** Records what became of rows, in chunks of at most a thousand. */
export class Recorder {
  readonly #commands: CommandHandler;
  readonly #job: RowJob;
  readonly #run: number;
  readonly #patience: Patience;
  #waiting: Done[] = [];
  #recordedAt = performance.now();
  #recording: Promise<void> | undefined;
  #chunks = 0;
  #told: (error?: unknown) => void = () => undefined;
  /** A chunk that an earlier try may have stored. */
  #open: { readonly rows: readonly Done[]; readonly chunk: number } | undefined;

  constructor(commands: CommandHandler, job: RowJob, run: number, patience: Patience) {
    this.#commands = commands;
    this.#job = job;
    this.#run = run;
    this.#patience = patience;
  }

  get isFull(): boolean {
    return this.#waiting.length >= FULL;
  }

  /** Told when there is space again, or when rows cannot be recorded. */
  onSpace(told: (error?: unknown) => void): void {
    this.#told = told;
  }

  add(row: number, recordId: string, result: RowResult): void {
    if (result.kind === 'succeeded' || result.kind === 'skipped')
      this.#waiting.push({ row, kind: result.kind });
    else {
      const { currentState: current_state, refusal } = result;
      const error = { row, record_id: recordId, current_state, ...refusal };
      this.#waiting.push({ row, kind: 'error', error });
    }
    const isDue = this.#waiting.length >= CHUNK || performance.now() - this.#recordedAt > RECORD_MS;
    if (!isDue || this.#recording !== undefined) return;
    this.#recording = this.#record('limited')
      .then(
        () => this.#told(),
        (error: unknown) => this.#told(error),
      )
      .finally(() => {
        this.#recording = undefined;
      });
  }

  /** Records everything. @throws {TakenOver}, {OutOfReach}, {Interrupted} */
  async flush(patience: 'limited' | 'always' = 'limited'): Promise<void> {
    await this.#recording;
    await this.#record(patience);
  }

  /** For the end of the work: what is not recorded is found done by whoever takes over. */
  async tryOnce(): Promise<void> {
    await this.#recording;
    await this.#store(0).catch(() => undefined);
  }

  async #record(patience: 'limited' | 'always'): Promise<void> {
    while (this.#open !== undefined || this.#waiting.length > 0) {
      if (patience === 'always') await this.#patience.always((tries) => this.#store(tries));
      else await this.#patience.with((tries) => this.#store(tries));
    }
    this.#recordedAt = performance.now();
  }

  /** Stores one chunk; the same one again until it is stored. */
  async #store(tries: number): Promise<void> {
    const isNew = this.#open === undefined;
    const open = this.#open ?? { rows: this.#firstPart(), chunk: this.#chunks };
    if (open.rows.length === 0) return;
    this.#open = open;
    const { tenantId, sessionId, cause, since } = this.#job;
    await this.#commands.execute({
      tenantId,
      decider: bulkDecider,
      id: sessionId,
      cause: { ...cause, causationId: `bulk:${sessionId}:${this.#run}:${open.chunk}` },
      again: isNew && tries === 0 ? undefined : { after: since },
      decide: (state) => recordRows(state, this.#run, processed(open.rows)),
    });
    this.#waiting.splice(0, open.rows.length);
    this.#chunks += 1;
    this.#open = undefined;
  }

  #firstPart(): readonly Done[] {
    for (const part of packed(this.#waiting, CHUNK, sizeOf)) return part;
    return [];
  }
}

const processed = (rows: readonly Done[]): Processed => ({
  succeeded: rows.filter(({ kind }) => kind === 'succeeded').map(({ row }) => row),
  skipped: rows.filter(({ kind }) => kind === 'skipped').map(({ row }) => row),
  errors: rows.flatMap((done) => (done.kind === 'error' ? [done.error] : [])),
});

const ROW_BYTES = 8;

const sizeOf = (done: Done): number => (done.kind === 'error' ? bytesOf(done.error) : ROW_BYTES);
