import type { Logger } from '../../application/ports/logger.ts';
import type { MaintenanceThread } from '../maintenance/maintenance-thread.ts';

/** Written pages after which a checkpoint runs: 2 MiB. */
const PAGES = 500;

/**
 * Checkpoints the write-ahead log of a database in a thread, since a checkpoint within COMMIT would block the
 * writer's event loop. While the thread fails, the writer's own checkpoints take over.
 */
export class Checkpoints {
  readonly #path: string;
  readonly #thread: MaintenanceThread;
  readonly #logger: Logger | undefined;
  #pages = 0;
  #isBusy = false;
  /** Whether the last checkpoint failed; logged once until a checkpoint succeeds. */
  #hasFailed = false;
  #isOver = false;

  constructor(path: string, thread: MaintenanceThread, logger?: Logger) {
    this.#path = path;
    this.#thread = thread;
    this.#logger = logger;
  }

  /** @param pages estimated number of written pages */
  wrote(pages: number): void {
    this.#pages += pages;
    if (this.#pages < PAGES || this.#isBusy || this.#isOver) return;
    this.#isBusy = true;
    this.#pages = 0;
    this.#thread.run({ kind: 'checkpoint', path: this.#path }).then(
      () => {
        this.#isBusy = false;
        this.#hasFailed = false;
        this.wrote(0);
      },
      (error: unknown) => {
        // The next attempt follows after further written pages.
        this.#isBusy = false;
        if (this.#hasFailed || this.#isOver) return;
        this.#hasFailed = true;
        this.#logger?.warn(
          { err: error },
          'the checkpoint thread failed; commits run the checkpoints instead',
        );
      },
    );
  }

  /** Runs no further checkpoints. The thread is closed by its owner. */
  end(): void {
    this.#isOver = true;
  }
}
