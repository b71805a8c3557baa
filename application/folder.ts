import type { Document, Projection, Touch } from '../domain/projection.ts';
import type { EventCodec, LoggedEvent } from './codec.ts';
import type { Clock } from './ports/clock.ts';
import type { EventStore, Position, StoredEvent } from './ports/event-store.ts';
import type { Logger } from './ports/logger.ts';
import type { Metrics } from './ports/metrics.ts';
import {
  type DocKey,
  type DocWrite,
  type Generation,
  type JsonObject,
  type Lease,
  leaseNameOf,
  type ParkedTenant,
  type ReadStore,
} from './ports/read-store.ts';
import { parseStreamName, tenantPrefix } from './streams.ts';
import { WeighedCache } from './weighed-cache.ts';

interface Held {
  readonly value: Document | undefined;
  readonly position: Position | undefined;
}

export interface FolderDeps {
  readonly store: ReadStore;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

interface Poison {
  readonly index: number;
  readonly event: StoredEvent;
  readonly error: unknown;
}

const BOUNDS = { maxCount: 20_000, maxBytes: 64 * 1024 * 1024 };

/**
 * Folds events into one generation of a projection, under a lease. Documents it wrote stay in memory while the
 * lease is held: nobody else may write them. A poison event parks its tenant in this projection and nobody else.
 */
export class Folder {
  readonly projection: Projection;
  readonly generation: Generation;
  readonly #store: ReadStore;
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #cache = new WeighedCache<Held>(BOUNDS);
  readonly #types: ReadonlySet<string>;
  #parked = new Map<string, ParkedTenant>();
  #fence = -1;
  #turn: Promise<void> = Promise.resolve();
  checkpoint: Position | undefined;

  constructor(projection: Projection, generation: Generation, deps: FolderDeps) {
    this.projection = projection;
    this.generation = generation;
    this.#store = deps.store;
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#logger = deps.logger;
    this.#metrics = deps.metrics;
    this.#clock = deps.clock;
    this.#types = new Set(projection.types);
  }

  get parkedTenants(): string[] {
    return [...this.#parked.keys()];
  }

  isParked(tenantId: string): boolean {
    return this.#parked.has(tenantId);
  }

  get leaseName(): string {
    return leaseNameOf(this.generation);
  }

  /** Starts from the stored state, as the holder of `lease`. */
  async begin(lease: Lease): Promise<void> {
    this.#cache.clear();
    this.#fence = lease.fence;
    const state = await this.#store.state(this.generation);
    this.checkpoint = state.checkpoint;
    this.#parked = new Map(state.parked.map((parked) => [parked.tenant, parked]));
    this.#metrics.parkedTenants(this.projection.name, this.#parked.size);
  }

  /**
   * Folds a batch and stores documents and checkpoint. At a poison event the batch is cut: what came before it is
   * stored first, so that a crash at any point neither skips nor repeats anything of the parked tenant.
   * @throws {Fenced}
   */
  apply(events: readonly StoredEvent[], checkpoint: Position): Promise<void> {
    return this.#serially(() => this.#apply(events, checkpoint));
  }

  /** Takes a parked tenant up again, from its poison event to the present checkpoint. */
  retry(tenantId: string): Promise<void> {
    return this.#serially(() => this.#retry(tenantId));
  }

  /** Stores the present checkpoint. */
  save(): Promise<void> {
    return this.#serially(async () => {
      if (this.checkpoint !== undefined) await this.#apply([], this.checkpoint);
    });
  }

  async #serially(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #apply(events: readonly StoredEvent[], checkpoint: Position): Promise<void> {
    const started = performance.now();
    let rest = events;
    for (;;) {
      const { writes, poison } = await this.#fold(rest);
      const before = poison === undefined ? checkpoint : rest[poison.index - 1]?.position;
      await this.#store.commit({
        generation: this.generation,
        fence: this.#fence,
        writes,
        ...(before === undefined ? {} : { checkpoint: before }),
      });
      // A batch without matches may have moved it on while this one was stored: never back.
      if (before !== undefined && (this.checkpoint === undefined || this.checkpoint < before)) {
        this.checkpoint = before;
      }
      if (poison === undefined) break;
      await this.#park(poison.event, poison.error, 1);
      rest = rest.slice(poison.index);
    }
    this.#metrics.eventsProjected(this.projection.name, events.length, (performance.now() - started) / 1000);
  }

  async #retry(tenantId: string): Promise<void> {
    const parked = this.#parked.get(tenantId);
    if (parked === undefined) return;
    const filter = { streamPrefix: tenantPrefix(tenantId), types: this.projection.types };
    const before = await this.#events.readAll({ from: parked.position, direction: 'backward', limit: 1 });
    let from = before[0]?.position;
    for (;;) {
      const page = await this.#events.readAll({ from, filter, limit: 500 });
      const events = page.filter(
        (event) => this.checkpoint !== undefined && event.position <= this.checkpoint,
      );
      const { writes, poison } = await this.#fold(events, tenantId);
      await this.#store.commit({ generation: this.generation, fence: this.#fence, writes });
      if (poison !== undefined) {
        await this.#park(poison.event, poison.error, parked.attempts + 1);
        return;
      }
      from = events.at(-1)?.position;
      if (events.length < 500) break;
    }
    await this.#store.unpark(this.generation, this.#fence, tenantId);
    this.#parked.delete(tenantId);
    this.#metrics.parkedTenants(this.projection.name, this.#parked.size);
    this.#logger.info(
      { projection: this.projection.name, tenant: tenantId },
      'a parked tenant was taken up again',
    );
  }

  /** Folds in memory, up to the first event that cannot be folded; of parked tenants only `retried`. */
  async #fold(
    events: readonly StoredEvent[],
    retried?: string,
  ): Promise<{ writes: DocWrite[]; poison: Poison | undefined }> {
    const steps: { event: LoggedEvent; index: number; touches: readonly Touch[] }[] = [];
    const wanted = new Map<string, DocKey>();
    let poison: Poison | undefined;
    for (const [index, stored] of events.entries()) {
      if (!this.#types.has(stored.type)) continue;
      if (this.#parked.size > 0 && this.#isLeftOut(stored, retried)) continue;
      try {
        const event = this.#codec.decode(stored);
        const touches = this.projection.fold(event);
        for (const touch of touches) {
          const docKey = docKeyOf(touch, event);
          const key = keyOf(docKey);
          if (!this.#cache.has(key)) wanted.set(key, docKey);
        }
        steps.push({ event, index, touches });
      } catch (error) {
        poison = { index, event: stored, error };
        break;
      }
    }
    await this.#load([...wanted.values()]);
    const dirty = new Map<string, DocWrite>();
    for (const { event, index, touches } of steps) {
      try {
        this.#step(event, touches, dirty);
      } catch (error) {
        const stored = events[index];
        if (stored !== undefined) poison = { index, event: stored, error };
        break;
      }
    }
    this.#cache.trim();
    return { writes: [...dirty.values()], poison };
  }

  #isLeftOut(stored: StoredEvent, retried: string | undefined): boolean {
    const { tenantId } = parseStreamName(stored.stream);
    return tenantId !== retried && this.#parked.has(tenantId);
  }

  /** One event, whole or not at all. */
  #step(event: LoggedEvent, touches: readonly Touch[], dirty: Map<string, DocWrite>): void {
    const staged = new Map<string, { docKey: DocKey; value: Document | undefined }>();
    for (const touch of touches) {
      const docKey = docKeyOf(touch, event);
      const key = keyOf(docKey);
      const held = this.#cache.get(key);
      // A document remembers the last event it has seen: an event that comes again changes nothing.
      if (held?.position !== undefined && held.position >= event.position) continue;
      const earlier = staged.get(key);
      const before = earlier === undefined ? held?.value : earlier.value;
      const value = touch.change(before);
      // What comes out as it was need not be written: it would come out the same again.
      if (value === before && value !== undefined) continue;
      staged.set(key, { docKey, value });
    }
    for (const [key, { docKey, value }] of staged) {
      this.#cache.set(key, { value, position: event.position });
      // The documents are JSON by construction: folds build them from event data, strings and numbers.
      dirty.set(key, {
        ...docKey,
        value: (value as JsonObject | undefined) ?? null,
        position: event.position,
      });
    }
  }

  async #load(keys: readonly DocKey[]): Promise<void> {
    if (keys.length === 0) return;
    const docs = await this.#store.load(this.generation, keys);
    keys.forEach((key, index) => {
      const doc = docs[index];
      this.#cache.set(keyOf(key), { value: doc?.value, position: doc?.position });
    });
  }

  async #park(event: StoredEvent, error: unknown, attempts: number): Promise<void> {
    const parked: ParkedTenant = {
      tenant: parseStreamName(event.stream).tenantId,
      position: event.position,
      event_id: event.id,
      // The message only: it names types and fields, never contents.
      error: error instanceof Error ? error.message.slice(0, 500) : 'unknown error',
      since: new Date(this.#clock.now()).toISOString(),
      attempts,
    };
    await this.#store.park(this.generation, this.#fence, parked);
    this.#parked.set(parked.tenant, parked);
    this.#metrics.parkedTenants(this.projection.name, this.#parked.size);
    this.#logger.error({ projection: this.projection.name, ...parked }, 'a poison event parked its tenant');
  }
}

const docKeyOf = (touch: Touch, event: LoggedEvent): DocKey => ({
  collection: touch.collection,
  tenant: touch.tenantId ?? event.tenantId,
  id: touch.id,
});

const keyOf = (key: DocKey): string => `${key.collection}/${key.tenant}/${key.id}`;
