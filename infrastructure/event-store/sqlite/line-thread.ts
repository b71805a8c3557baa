import { Worker } from 'node:worker_threads';
import type { EventFilter } from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import type { OffsetPage } from './line-pages.ts';
import { fromLines, type LineThreadData, type ToLines } from './line-protocol.ts';

/** A thread that nobody asks anything ends. */
const IDLE_MS = 30_000;
/** What is given away goes with the young objects that hold it: the fewer of these, the sooner. */
const YOUNG_MIB = 2;

interface Running {
  readonly worker: Worker;
  isReady: boolean;
  /** By the number of the question. */
  readonly asked: Map<number, (page: OffsetPage | undefined) => void>;
}

/**
 * Makes pages of lines in a thread, which is begun when it is first asked and ends when it has long not been. Whatever
 * happens to it, the asker gets an answer: no page means that it has to be made otherwise.
 */
export class LineThread {
  readonly #data: LineThreadData;
  readonly #logger: Logger | undefined;
  readonly #idleMs: number;
  #running: Running | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  #closed = false;
  /** One that failed is not begun again: whoever asks does well without. */
  #failed = false;

  constructor(data: LineThreadData, logger: Logger | undefined, idleMs = IDLE_MS) {
    this.#data = data;
    this.#logger = logger;
    this.#idleMs = idleMs;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  get isReady(): boolean {
    return this.#running?.isReady === true;
  }

  /** Questions that are not answered yet; endless where none will be. */
  get waiting(): number {
    if (this.#failed || this.#closed) return Number.POSITIVE_INFINITY;
    return this.#running?.isReady === true ? this.#running.asked.size : 0;
  }

  /**
   * Undefined while there is no thread that could answer; one is begun then.
   * @param rooms one of which is given away for the lines to be put in
   */
  ask(
    after: number,
    until: number,
    filter: EventFilter,
    rooms: ArrayBuffer[] = [],
  ): Promise<OffsetPage | undefined> | undefined {
    if (this.#closed || this.#failed) return undefined;
    this.#running ??= this.#begin();
    const { worker, isReady, asked } = this.#running;
    this.#endWhenIdle();
    if (!isReady) return undefined;
    this.#lastId += 1;
    const room = rooms.pop();
    const message: ToLines = { id: this.#lastId, after, until, filter, ...(room && { room }) };
    // The process must not end while an answer is waited for.
    if (asked.size === 0) worker.ref();
    return new Promise((resolve) => {
      asked.set(message.id, resolve);
      worker.postMessage(message, room ? [room] : []);
    });
  }

  /** Questions under way get no page. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  #begin(): Running {
    const worker = new Worker(new URL('./lines.worker.ts', import.meta.url), {
      workerData: this.#data,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    worker.unref();
    const running: Running = { worker, isReady: false, asked: new Map() };
    worker.on('message', (received: unknown) => {
      const message = fromLines.parse(received);
      switch (message.kind) {
        case 'ready':
          running.isReady = true;
          return;
        case 'page':
          return answer(running, message.id, { ...message.page, lines: message.page.lines });
        case 'failed':
          this.#logger?.warn(
            { reason: message.message },
            'a page of the event log could not be made in the thread',
          );
          return answer(running, message.id, undefined);
        default:
          return message satisfies never;
      }
    });
    worker.on('error', (error) => {
      this.#failed = true;
      this.#logger?.error({ err: error }, 'the thread that makes lines of the event log failed');
    });
    worker.once('exit', () => {
      if (this.#running === running) this.#running = undefined;
      for (const id of [...running.asked.keys()]) answer(running, id, undefined);
    });
    return running;
  }

  #endWhenIdle(): void {
    if (this.#idle !== undefined) {
      this.#idle.refresh();
      return;
    }
    this.#idle = setTimeout(() => {
      this.#idle = undefined;
      if (this.#running !== undefined && this.#running.asked.size > 0) this.#endWhenIdle();
      else void this.#end();
    }, this.#idleMs).unref();
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    const running = this.#running;
    this.#running = undefined;
    await running?.worker.terminate();
  }
}

const answer = ({ asked, worker }: Running, id: number, page: OffsetPage | undefined): void => {
  const resolve = asked.get(id);
  asked.delete(id);
  if (asked.size === 0) worker.unref();
  resolve?.(page);
};
