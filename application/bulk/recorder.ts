import { bulkStream, CHUNK } from '../../domain/bulk/session.ts';
import { type Processed, recordRows } from '../../domain/bulk/session-decisions.ts';
import type { RowError } from '../../domain/bulk/session-events.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { RetryPolicy } from '../core/concurrency/retry-policy.ts';
import { monotonic } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Metrics } from '../ports/metrics.ts';
import { bytesOf, chunked } from './chunking.ts';
import type { CommitRun, RowResult } from './row.ts';

/** A result that is added this long (ms) after the last write causes the next write. */
const RECORD_MS = 1000;
/** With this many unrecorded results no further rows start. */
const FULL = 4 * CHUNK;

type Done =
  | { readonly row: number; readonly kind: 'succeeded' | 'skipped' }
  | { readonly row: number; readonly kind: 'error'; readonly error: RowError };

/** Records results of rows in chunks of at most a thousand. */
export class Recorder extends WithDeps<{
  readonly streams: Streams;
  readonly policy: RetryPolicy;
  readonly metrics: Pick<Metrics, 'rowsProcessed'>;
  readonly run: CommitRun;
}> {
  #waiting: Done[] = [];
  #recordedAt = monotonic();
  #recording: Promise<void> | undefined;
  #chunks = 0;
  #failure: { readonly error: unknown } | undefined;
  /** A chunk that an earlier try may have stored. */
  #open: { readonly rows: readonly Done[]; readonly chunk: number } | undefined;

  /** Resolves when further rows may start. @throws {TakenOver}, {OutOfReach}, {Interrupted} */
  async ready(): Promise<void> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#waiting.length < FULL) return;
      await this.#inBackground();
    }
  }

  add(row: number, recordId: string, result: RowResult): void {
    if (result.kind !== 'error') this.#waiting.push({ row, kind: result.kind });
    else {
      const { currentState: current_state, refusal } = result;
      const error = { row, record_id: recordId, current_state, ...refusal };
      this.#waiting.push({ row, kind: 'error', error });
    }
    const isDue = this.#waiting.length >= CHUNK || monotonic() - this.#recordedAt > RECORD_MS;
    if (isDue) void this.#inBackground();
  }

  /** Records all results. @throws {TakenOver}, {OutOfReach}, {Interrupted} */
  async flush(retry: 'retry' | 'retryForever' = 'retry'): Promise<void> {
    await this.#recording;
    await this.#record(retry);
  }

  /** Tries to record one chunk, without a retry; the next run detects that the other rows were applied. */
  async tryOnce(): Promise<void> {
    await this.#recording;
    await this.#store(0).catch(() => undefined);
  }

  /** Never rejects; {@link ready} throws the failure. */
  #inBackground(): Promise<void> {
    this.#recording ??= this.#record('retry')
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => {
        this.#recording = undefined;
      });
    return this.#recording;
  }

  async #record(retry: 'retry' | 'retryForever'): Promise<void> {
    while (this.#open !== undefined || this.#waiting.length > 0) {
      await this.deps.policy[retry]((tries) => this.#store(tries));
    }
    this.#recordedAt = monotonic();
  }

  /** Stores one chunk; after a failure, the next call stores the same chunk again. */
  async #store(tries: number): Promise<void> {
    const isNew = this.#open === undefined;
    const [firstPart = []] = chunked(this.#waiting, CHUNK, sizeOf);
    const open = this.#open ?? { rows: firstPart, chunk: this.#chunks };
    if (open.rows.length === 0) return;
    this.#open = open;
    const rows = processed(open.rows);
    const { streams, metrics, run } = this.deps;
    const { tenantId, sessionId, number, cause, since } = run;
    await streams.of(bulkStream, tenantId, sessionId).execute(
      {
        cause: { ...cause, causationId: `bulk:${sessionId}:${number}:${open.chunk}` },
        priorAttempt: isNew && tries === 0 ? undefined : { after: since },
      },
      (state) => recordRows(state, number, rows),
    );
    metrics.rowsProcessed('succeeded', rows.succeeded.length);
    metrics.rowsProcessed('skipped', rows.skipped.length);
    metrics.rowsProcessed('errored', rows.errors.length);
    this.#waiting.splice(0, open.rows.length);
    this.#chunks += 1;
    this.#open = undefined;
  }
}

const processed = (rows: readonly Done[]): Processed => ({
  succeeded: rows.filter(({ kind }) => kind === 'succeeded').map(({ row }) => row),
  skipped: rows.filter(({ kind }) => kind === 'skipped').map(({ row }) => row),
  errors: rows.flatMap((done) => (done.kind === 'error' ? [done.error] : [])),
});

const ROW_BYTES = 8;

const sizeOf = (done: Done): number => (done.kind === 'error' ? bytesOf(done.error) : ROW_BYTES);
