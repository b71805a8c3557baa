import { Worker } from 'node:worker_threads';
import type { Logger } from '../../application/ports/logger.ts';

/** Written pages after which a checkpoint runs: 2 MiB. */
const PAGES = 500;

/**
 * Checkpoints the write-ahead log of a database in a thread, since a checkpoint within COMMIT would block the
 * writer's event loop. A passive checkpoint does not lock out the writer. Starts with the first write; if the thread
 * fails, the writer's own checkpoints take over.
 */
export class CheckpointThread {
  readonly #path: string;
  readonly #logger: Logger | undefined;
  #worker: Worker | undefined;
  #pages = 0;
  #isBusy = false;
  #isOver = false;

  constructor(path: string, logger?: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** @param pages estimated number of written pages */
  wrote(pages: number): void {
    this.#pages += pages;
    if (this.#pages < PAGES || this.#isBusy || this.#isOver) return;
    this.#worker ??= this.#begin();
    this.#isBusy = true;
    this.#pages = 0;
    this.#worker.postMessage('checkpoint');
  }

  /** Closes the thread's connection first, since the last connection to close removes the write-ahead log. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#worker?.terminate();
  }

  #begin(): Worker {
    const worker = new Worker(new URL('./checkpoint.worker.ts', import.meta.url), { workerData: this.#path });
    worker.unref();
    worker.on('message', () => {
      this.#isBusy = false;
      this.wrote(0);
    });
    worker.on('error', (error) => {
      this.#isOver = true;
      this.#logger?.warn({ err: error }, 'the thread of checkpoints failed; commits make them instead');
    });
    return worker;
  }
}
