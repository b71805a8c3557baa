import { pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type CorpusStore, nameOfSource, type SourceKey } from '../ports/corpus-store.ts';
import { EmbedderUnavailable } from '../ports/embedder.ts';
import { StoreUnavailable } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Corpus } from './corpus.ts';

/** Tenants embedded at the same time; the embedder schedules them fairly. */
const TENANTS = 8;
/** Most sources per look-up, since their keys are kept in memory. */
const PAGE = 50_000;
const AGAIN_MS = 1000;
/** Most records of a tenant that are embedded together. */
const TOGETHER = 6;

/**
 * Computes the vectors of sources that were stored without vectors, because embedding would have delayed other tenants
 * or no model was loaded. Each tenant has a queue. After a restart, the remaining sources are looked up in the store.
 */
export class Completion extends WithDeps<{
  readonly store: Pick<CorpusStore, 'withoutVectors'>;
  readonly corpus: Pick<Corpus, 'complete'>;
  readonly logger: Logger;
  readonly isEntitled: (tenantId: string) => Promise<boolean>;
}> {
  readonly #waiting = new Map<string, Map<string, SourceKey>>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  #beginning: Promise<void> | undefined;
  /** Whether the last look-up returned `PAGE` sources, so that the store may have more. */
  #more = false;
  #done = 0;

  /** Whether sources of a tenant are queued or being completed. */
  isBehind(tenantId: string): boolean {
    return this.#waiting.has(tenantId) || this.#running.has(tenantId);
  }

  /** Queues up to `PAGE` sources that the store has without vectors, such as those left by an earlier process. */
  begin(): void {
    this.#beginning ??= this.#lookUp()
      .catch((error: unknown) =>
        this.deps.logger.warn({ err: error }, 'sources without vectors could not be listed'),
      )
      .finally(() => {
        this.#beginning = undefined;
      });
  }

  add(tenantId: string, keys: readonly SourceKey[]): void {
    if (this.#stopping.signal.aborted || keys.length === 0) return;
    const waiting = this.#waiting.get(tenantId) ?? new Map<string, SourceKey>();
    for (const { kind, id } of keys) waiting.set(nameOfSource({ kind, id }), { kind, id });
    this.#waiting.set(tenantId, waiting);
    this.#next();
  }

  /** Resolves when no source is queued and none is being completed. */
  async idle(): Promise<void> {
    while (this.#beginning !== undefined || this.#running.size > 0)
      await Promise.all([this.#beginning, ...this.#running.values()]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#waiting.clear();
    await this.idle();
  }

  async #lookUp(): Promise<void> {
    const found = await this.deps.store.withoutVectors(PAGE);
    this.#more = found.length === PAGE;
    this.#done = 0;
    for (const [tenantId, keys] of Map.groupBy(found, (one) => one.tenantId)) this.add(tenantId, keys);
  }

  #next(): void {
    if (this.#more && this.#done > 0 && this.#waiting.size === 0 && !this.#stopping.signal.aborted)
      this.begin();
    for (const tenantId of this.#waiting.keys()) {
      if (this.#running.size >= TENANTS) return;
      if (this.#running.has(tenantId)) continue;
      const run = this.#run(tenantId).finally(() => {
        this.#running.delete(tenantId);
        this.#next();
      });
      this.#running.set(tenantId, run);
    }
  }

  /** Completes a few sources of a tenant. The tenant then moves behind the other tenants. */
  async #run(tenantId: string): Promise<void> {
    const waiting = this.#waiting.get(tenantId);
    if (waiting === undefined) return;
    const some = firstOf(waiting);
    for (const key of some) waiting.delete(nameOfSource(key));
    await Promise.all(some.map((key) => this.#complete(tenantId, key, waiting)));
    // After a stop, `#waiting` is empty and must stay empty.
    if (!this.#waiting.delete(tenantId)) return;
    if (waiting.size > 0) this.#waiting.set(tenantId, waiting);
  }

  async #complete(tenantId: string, key: SourceKey, waiting: Map<string, SourceKey>): Promise<void> {
    const { corpus, isEntitled, logger } = this.deps;
    const { signal } = this.#stopping;
    try {
      if (!(await isEntitled(tenantId))) return;
      await corpus.complete(tenantId, key);
      this.#done += 1;
    } catch (error) {
      if (error instanceof EmbedderUnavailable) return;
      if (error instanceof StoreUnavailable) {
        if (!signal.aborted) waiting.set(nameOfSource(key), key);
        await pause(AGAIN_MS, signal);
      } else logger.warn({ err: error, source: key.id }, 'a source has no vectors until the next backfill');
    }
  }
}

/** The first records of a queue, embedded together; or one attachment alone, since an attachment may be large. */
const firstOf = (waiting: ReadonlyMap<string, SourceKey>): readonly SourceKey[] => {
  const found: SourceKey[] = [];
  for (const key of waiting.values()) {
    if (key.kind === 'attachment') return found.length === 0 ? [key] : found;
    found.push(key);
    if (found.length === TOGETHER) break;
  }
  return found;
};
