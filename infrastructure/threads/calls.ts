import { parentPort, Worker, workerData } from 'node:worker_threads';
import { StoreUnavailable } from '../../application/ports/event-store.ts';

/**
 * Calls into a worker thread. SQLite works synchronously and a commit waits for the disk: in a thread of its own it
 * holds up nobody, and what arrives meanwhile makes up the next transaction.
 *
 * Both sides are of one build and speak in the same types, so messages are not checked again.
 */
interface Call<Request> {
  readonly id: number;
  readonly request: Request;
}

type Answer<Result> = { readonly id: number } & ({ readonly result: Result } | { readonly failure: Failure });

interface Failure {
  readonly message: string;
  readonly unavailable: boolean;
}

export class ThreadCalls<Request, Result> {
  readonly #url: URL;
  readonly #data: unknown;
  readonly #name: string;
  readonly #waiting = new Map<
    number,
    { resolve: (result: Result) => void; reject: (error: Error) => void }
  >();
  #worker: Worker | undefined;
  #last = 0;

  /** @param data what the thread is opened with @param name for messages */
  constructor(url: URL, data: unknown, name: string) {
    this.#url = url;
    this.#data = data;
    this.#name = name;
  }

  /** @throws {StoreUnavailable} when the thread is gone; what was asked of it may or may not have happened */
  call(request: Request): Promise<Result> {
    const worker = this.#running();
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (this.#waiting.size === 1) worker.ref();
      worker.postMessage({ id, request } satisfies Call<Request>);
    });
  }

  /** Waits for the calls under way, then ends the thread. */
  async close(): Promise<void> {
    while (this.#waiting.size > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(this.#url, { workerData: this.#data });
    worker.unref();
    worker.on('message', (answer: Answer<Result>) => this.#take(answer));
    worker.on('error', (error) => this.#lost(worker, error.message));
    worker.on('exit', () => this.#lost(worker, 'the thread ended'));
    this.#worker = worker;
    return worker;
  }

  #take(answer: Answer<Result>): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    // Only a call under way keeps the process alive, as it would without a thread.
    if (this.#waiting.size === 0) this.#worker?.unref();
    if ('result' in answer) waiting?.resolve(answer.result);
    else {
      const { message, unavailable } = answer.failure;
      waiting?.reject(unavailable ? new StoreUnavailable(message) : new Error(message));
    }
  }

  /** The next call starts another thread. */
  #lost(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new StoreUnavailable(`${this.#name}: ${reason}`));
  }
}

/** The thread's side: opens with the data it was given, then answers calls. */
export const answerCalls = async <Data, Request, Result>(
  open: (data: Data) => Promise<(request: Request) => Result | Promise<Result>>,
): Promise<void> => {
  const port = parentPort;
  if (port === null) throw new Error('this file is a worker thread');
  const handling = open(workerData as Data);
  handling.catch(() => undefined);
  port.on('message', async ({ id, request }: Call<Request>) => {
    try {
      const handle = await handling;
      port.postMessage({ id, result: await handle(request) } satisfies Answer<Result>);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const failure = { message, unavailable: error instanceof StoreUnavailable };
      port.postMessage({ id, failure } satisfies Answer<Result>);
    }
  });
};
