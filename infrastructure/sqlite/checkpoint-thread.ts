import { Worker } from 'node:worker_threads';
import type { Logger } from '../../application/ports/logger.ts';

/** Written pages after which a checkpoint is worth its while: 2 MiB. */
const PAGES = 500;

/**
 * Copies what the write-ahead log of a database holds into the file itself, in a thread of its own. A writer would do that
 * inside a COMMIT now and then, and hold up its event loop for 25 to 100 ms; so little is left for it to do. The writer goes
 * on meanwhile: a passive checkpoint takes no lock that it needs. Begun when there is first something to do; without it,
 * or when it fails, the writer's own checkpoints do it all.
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

  /** @param pages about how many were written */
  wrote(pages: number): void {
    this.#pages += pages;
    if (this.#pages < PAGES || this.#isBusy || this.#isOver) return;
    this.#worker ??= this.#begin();
    this.#isBusy = true;
    this.#pages = 0;
    this.#worker.postMessage('checkpoint');
  }

  /** Its connection is closed then: the last one to close takes the write-ahead log away. */
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
