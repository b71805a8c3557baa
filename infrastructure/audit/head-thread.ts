import { Worker } from 'node:worker_threads';
import { type Position, StoreUnavailable } from '../../application/ports/event-store.ts';

/** Small, because the thread allocates few objects. */
const YOUNG_MIB = 2;

interface Waiting {
  readonly resolve: (position: Position | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** Copies stream heads in a thread, which starts on first use and restarts after a failure. */
export class HeadThread {
  readonly #files: { readonly path: string; readonly log: string };
  #worker: Worker | undefined;
  #waiting: Waiting[] = [];
  #isClosed = false;

  /** @param files the database of heads, with its schema, and that of the embedded event log */
  constructor(files: { readonly path: string; readonly log: string }) {
    this.#files = files;
  }

  /**
   * Copies heads for a short time, at most to the end of the log. @returns the position reached
   * @throws {StoreUnavailable} when the thread failed or is closed: copied heads stay stored
   */
  advance(): Promise<Position | undefined> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the heads are closed'));
    this.#worker ??= this.#begin();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage('advance');
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  #begin(): Worker {
    const worker = new Worker(new URL('./heads.worker.ts', import.meta.url), {
      workerData: this.#files,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    worker.unref();
    // Not validated: the thread reads the position from its own store.
    worker.on('message', (position: Position | undefined) => this.#waiting.shift()?.resolve(position));
    let failure: unknown;
    worker.on('error', (error) => {
      failure = error;
    });
    worker.once('exit', () => {
      this.#worker = undefined;
      const error = new StoreUnavailable('the thread of the heads has ended', { cause: failure });
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
    return worker;
  }
}
