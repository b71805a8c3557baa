import { PLATFORM } from '../../../domain/core/platform.ts';
import type { Projection, Touch } from '../../../domain/core/projection.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore, Position, StoredEvent } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import { MEMORY } from '../../ports/memory.ts';
import type { ProjectionMetrics } from '../../ports/metrics.ts';
import type { Lease } from '../../ports/read-leases.ts';
import { type GenerationId, leaseNameOf, type ParkedTenant, type ReadStore } from '../../ports/read-store.ts';
import type { Span } from '../../ports/tracing.ts';
import type { EventCodec, LoggedEvent } from '../events/event-codec.ts';
import { logPages } from '../events/log-pages.ts';
import { occurredAt, traceparentOf } from '../events/metadata-texts.ts';
import { ownerOf, tenantPrefix } from '../events/stream-name.ts';
import { BoundedCache, CacheBudget } from '../memory/bounded-cache.ts';
import { RecentValues } from '../memory/recent-values.ts';
import { monotonic } from '../runtime/timers.ts';
import { continueSpan, isTracing } from '../runtime/tracing.ts';
import { WithDeps } from '../with-deps.ts';
import { type CachedDocument, FoldBatch } from './fold-batch.ts';

export interface GenerationDeps {
  readonly store: ReadStore;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly logger: Logger;
  readonly metrics: ProjectionMetrics;
  readonly clock: Clock;
  /** Cache budget shared with other projections; default: a separate one. */
  readonly budget?: CacheBudget;
}

/** Folds of events older than this (ms) are not traced. A batch has at most `MOST_SPANS` spans. */
const TRACED_MS = 60_000;
const MOST_SPANS = 100;
const RECENT = 2048;

interface Poison {
  readonly index: number;
  readonly event: StoredEvent;
  readonly error: unknown;
}

/**
 * Folds events into one generation of a projection under a lease. Documents stay cached while the lease is held, since
 * no other process writes them. An event that cannot be folded (poison) parks its tenant in this projection only.
 */
export class Generation extends WithDeps<GenerationDeps> {
  readonly projection: Projection;
  readonly generation: GenerationId;
  readonly #cache: BoundedCache<CachedDocument>;
  /** Keys of documents that were read recently and not cached. */
  readonly #recent = new RecentValues<true>(RECENT);
  readonly #types: ReadonlySet<string>;
  #parked = new Map<string, ParkedTenant>();
  #fence = -1;
  #last: Promise<void> = Promise.resolve();
  checkpoint: Position | undefined;
  /** The last stored checkpoint. */
  #stored: Position | undefined;

  constructor(projection: Projection, generation: GenerationId, deps: GenerationDeps) {
    super(deps);
    this.projection = projection;
    this.generation = generation;
    this.#cache = new BoundedCache(deps.budget ?? new CacheBudget(MEMORY.documents));
    this.#types = new Set(projection.types);
  }

  get parkedTenants(): string[] {
    return [...this.#parked.keys()];
  }

  /** Whether the checkpoint is stored. */
  get isStored(): boolean {
    return this.#stored === this.checkpoint;
  }

  isParked(tenantId: string): boolean {
    return this.#parked.has(tenantId);
  }

  get leaseName(): string {
    return leaseNameOf(this.generation);
  }

  /** Starts from the stored state as the holder of `lease`. */
  async begin(lease: Lease): Promise<void> {
    this.#cache.clear();
    this.#fence = lease.fence;
    const state = await this.deps.store.state(this.generation);
    this.checkpoint = state.checkpoint;
    this.#stored = state.checkpoint;
    this.#parked = new Map(state.parked.map((parked) => [parked.tenant, parked]));
    this.deps.metrics.parkedTenants(this.projection.name, this.#parked.size);
  }

  /**
   * Folds a batch and stores documents and checkpoint. A poison event splits the batch: earlier events are stored
   * before the tenant is parked, so that a crash neither skips nor repeats an event.
   * @throws {Fenced}
   */
  apply(events: readonly StoredEvent[], checkpoint: Position): Promise<void> {
    return this.#serially(() => this.#apply(events, checkpoint));
  }

  /** Folds a parked tenant from its poison event up to the checkpoint. */
  retry(tenantId: string): Promise<void> {
    return this.#serially(() => this.#retry(tenantId));
  }

  /** Stores the checkpoint. */
  save(): Promise<void> {
    return this.#serially(async () => {
      if (this.checkpoint !== undefined) await this.#apply([], this.checkpoint);
    });
  }

  async #serially(work: () => Promise<void>): Promise<void> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #apply(events: readonly StoredEvent[], checkpoint: Position): Promise<void> {
    const started = monotonic();
    const spans = this.#spansOf(events);
    let rest = events;
    for (;;) {
      const { batch, poison } = await this.#fold(rest);
      const before = poison === undefined ? checkpoint : rest[poison.index - 1]?.position;
      await this.deps.store.commit({
        generation: this.generation,
        fence: this.#fence,
        writes: batch.writes(),
        ...(before === undefined ? {} : { checkpoint: before }),
      });
      batch.keep();
      if (before !== undefined) this.#stored = before;
      // The checkpoint may have moved during the commit; it never moves back.
      if (before !== undefined && (this.checkpoint === undefined || this.checkpoint < before)) {
        this.checkpoint = before;
      }
      if (poison === undefined) break;
      await this.#park(poison.event, poison.error, 1);
      rest = rest.slice(poison.index);
    }
    for (const span of spans) span.end();
    this.deps.metrics.eventsProjected(this.projection.name, events.length, (monotonic() - started) / 1000);
  }

  /** Spans of recent events only, since a rebuild belongs to no request. */
  #spansOf(events: readonly StoredEvent[]): readonly Span[] {
    if (!isTracing()) return [];
    const since = this.deps.clock.now() - TRACED_MS;
    return events.slice(-MOST_SPANS).flatMap((stored) => {
      if (!this.#types.has(stored.type) || (occurredAt(stored) ?? 0) < since) return [];
      const name = `projection ${this.projection.name}`;
      return continueSpan(name, 'consumer', traceparentOf(stored), { 'event.type': stored.type }) ?? [];
    });
  }

  async #retry(tenantId: string): Promise<void> {
    const parked = this.#parked.get(tenantId);
    if (parked === undefined) return;
    const filter = { streamPrefix: tenantPrefix(tenantId), types: this.projection.types };
    const before = await this.deps.events.readAll({ from: parked.position, direction: 'backward', limit: 1 });
    const from = before[0]?.position;
    const until = this.checkpoint;
    const pages = until === undefined ? [] : logPages(this.deps.events, { from, filter, until, limit: 500 });
    for await (const events of pages) {
      const { batch, poison } = await this.#fold(events, tenantId);
      await this.deps.store.commit({
        generation: this.generation,
        fence: this.#fence,
        writes: batch.writes(),
      });
      batch.keep();
      if (poison !== undefined) {
        await this.#park(poison.event, poison.error, parked.attempts + 1);
        return;
      }
    }
    await this.deps.store.unpark(this.generation, this.#fence, tenantId);
    this.#parked.delete(tenantId);
    this.deps.metrics.parkedTenants(this.projection.name, this.#parked.size);
    this.deps.logger.info(
      { projection: this.projection.name, tenant: tenantId },
      'a parked tenant was resumed',
    );
  }

  /** Folds in memory up to the first event that fails; skips events of parked tenants other than `retried`. */
  async #fold(
    events: readonly StoredEvent[],
    retried?: string,
  ): Promise<{ batch: FoldBatch; poison: Poison | undefined }> {
    const batch = new FoldBatch({ cache: this.#cache, recent: this.#recent });
    let poison: Poison | undefined;
    for (const [index, stored] of events.entries()) {
      if (!this.#types.has(stored.type)) continue;
      const tenantId = ownerOf(stored.stream);
      if (tenantId !== retried && this.#parked.has(tenantId)) continue;
      try {
        const event = this.deps.codec.decode(stored);
        batch.plan(event, index, this.#touchesOf(event));
      } catch (error) {
        poison = { index, event: stored, error };
        break;
      }
    }
    await batch.load((keys) => this.deps.store.load(this.generation, keys));
    const failed = batch.run();
    const event = failed === undefined ? undefined : events[failed.index];
    if (failed !== undefined && event !== undefined) poison = { ...failed, event };
    return { batch, poison };
  }

  /**
   * Omits changes that events of the platform make to a parked tenant's documents: a retry could not fold the tenant's
   * earlier events into these documents.
   */
  #touchesOf(event: LoggedEvent): readonly Touch[] {
    const touches = this.projection.fold(event);
    if (event.tenantId !== PLATFORM) return touches;
    return touches.filter(({ tenantId = PLATFORM }) => tenantId === PLATFORM || !this.#parked.has(tenantId));
  }

  async #park(event: StoredEvent, error: unknown, attempts: number): Promise<void> {
    const parked: ParkedTenant = {
      tenant: ownerOf(event.stream),
      position: event.position,
      event_id: event.id,
      // The message names types and fields, never contents.
      error: error instanceof Error ? error.message.slice(0, 500) : 'unknown error',
      since: new Date(this.deps.clock.now()).toISOString(),
      attempts,
    };
    await this.deps.store.park(this.generation, this.#fence, parked);
    this.#parked.set(parked.tenant, parked);
    this.deps.metrics.parkedTenants(this.projection.name, this.#parked.size);
    this.deps.logger.error(
      { projection: this.projection.name, ...parked },
      'a poison event parked its tenant',
    );
  }
}
