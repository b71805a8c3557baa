import { Worker } from 'node:worker_threads';
import { type Position, StoreUnavailable } from '../../application/ports/event-store.ts';

/** It handles next to no objects. */
const YOUNG_MIB = 2;

interface Waiting {
  readonly resolve: (position: Position | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** Keeps the heads of streams in a thread, which is begun when it is first asked. A thread that failed is begun anew. */
export class HeadThread {
  readonly #files: { readonly path: string; readonly log: string };
  #worker: Worker | undefined;
  #waiting: Waiting[] = [];
  #isClosed = false;

  /** @param files the heads' database, whose tables are there, and that of the embedded event log */
  constructor(files: { readonly path: string; readonly log: string }) {
    this.#files = files;
  }

  /**
   * Takes heads over for a moment, up to the end of the log at most. @returns how far they go
   * @throws {StoreUnavailable} when the thread failed, or is closed: what it had done is stored
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
    // A position, as our own thread reads it from its store.
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
