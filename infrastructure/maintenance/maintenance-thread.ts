import type { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { startThread } from '../threads.ts';

/** Small, because the thread allocates few objects. */
const YOUNG_MIB = 2;
/** An idle thread ends after this time, which returns its memory. */
const IDLE_MS = 15_000;

/** Rare, long work on a database of this machine. */
export type MaintenanceTask =
  | { readonly kind: 'checkpoint'; readonly path: string }
  /** Copies last revisions from the embedded log for a limited time; answers with the position reached. */
  | { readonly kind: 'heads'; readonly path: string; readonly log: string };

/** Answers, in the order of the tasks. */
export type FromMaintenance =
  | { readonly kind: 'done'; readonly position: string | undefined }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * One thread for work on files that would block requests (decisions 24 and 44). It starts with a task and ends when
 * idle.
 */
export class MaintenanceThread {
  #worker: Worker | undefined;
  readonly #waiting: PromiseWithResolvers<string | undefined>[] = [];
  #idle: NodeJS.Timeout | undefined;
  #ending: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @throws {StoreUnavailable} when the task failed, or the thread has ended or is closed */
  async run(task: MaintenanceTask): Promise<string | undefined> {
    if (this.#isClosed) throw new StoreUnavailable('the maintenance thread is closed');
    clearTimeout(this.#idle);
    this.#worker ??= this.#begin();
    this.#worker.postMessage(task);
    const asked = Promise.withResolvers<string | undefined>();
    this.#waiting.push(asked);
    return asked.promise;
  }

  /**
   * Ends the thread and its connections. Stores close their own connections afterwards, since the connection that is
   * closed last removes the write-ahead log.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await Promise.all([this.#ending, this.#worker?.terminate()]);
  }

  #begin(): Worker {
    const worker = startThread('maintenance', new URL('./maintenance.worker.ts', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    worker.unref();
    // Messages of the same release, so they are not validated.
    worker.on('message', (message: FromMaintenance) => {
      const asker = this.#waiting.shift();
      if (this.#waiting.length === 0) this.#rest(worker);
      if (message.kind === 'done') asker?.resolve(message.position);
      else asker?.reject(new StoreUnavailable(message.message));
    });
    let failure: unknown;
    worker.on('error', (error) => {
      failure = error;
    });
    worker.once('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      const error = new StoreUnavailable('the maintenance thread has ended', { cause: failure });
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
    return worker;
  }

  #rest(worker: Worker): void {
    this.#idle = setTimeout(() => {
      // A task from now on starts another thread.
      this.#worker = undefined;
      this.#ending = worker.terminate();
    }, IDLE_MS);
    this.#idle.unref();
  }
}
