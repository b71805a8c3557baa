import { DomainError } from '../../../domain/core/errors.ts';
import type { DocumentReader, PageQuery, Projection, SearchQuery } from '../../../domain/core/projection.ts';
import type { Clock } from '../../ports/clock.ts';
import { latest, type Position } from '../../ports/event-store.ts';
import type { GenerationId, ReadStore } from '../../ports/read-store.ts';
import { pause } from '../concurrency/pause.ts';

/** Reads one read model from its active generation. */
export interface Reader extends DocumentReader {
  /** The checkpoint of the active generation; undefined for a parked tenant. */
  checkpoint(tenantId?: string): Promise<Position | undefined>;
}

/** A projection that this process folds, in any of its threads. */
export interface FoldingProjection {
  readonly name: string;
  folds(tag: string): boolean;
  localCheckpoint(tag: string): Position | undefined;
  isParked(tag: string, tenantId: string): boolean;
  /** Resolves at the next stored batch, or after `ms`; lingering batches are folded at once. */
  nextBatch(ms: number): Promise<void>;
}

interface Remote {
  checkpoint: Position | undefined;
  parked: ReadonlySet<string>;
  readAt: number;
}

/** Key of reads across tenants: sign-in and platform admins. */
const ANYBODY = '*';
const WAIT_MS = 5000;
const POLL_MS = 15;
const REFRESH_MS = 500;

/**
 * Queries and read-your-writes: a read waits until its read model has folded the writes that were answered to its
 * tenant before the read arrived; background work is not waited for.
 */
export class ReadModels {
  readonly #store: ReadStore;
  readonly #clock: Clock;
  readonly #runners = new Map<string, FoldingProjection>();
  readonly #projections = new Map<string, Projection>();
  readonly #answered = new Map<string, Position>();
  readonly #active = new Map<string, { tag: string; readAt: number }>();
  readonly #prepared = new Set<string>();
  readonly #remote = new Map<string, Remote>();
  #floor: Position | undefined;
  #asked = 0;
  /** Waiting reads in the order of their start. */
  readonly #waiting = new Set<{ readonly since: number }>();

  constructor(projections: readonly Projection[], store: ReadStore, clock: Clock) {
    for (const projection of projections) this.#projections.set(projection.name, projection);
    this.#store = store;
    this.#clock = clock;
  }

  /** Registers the projections that this process folds. */
  attach(runners: readonly FoldingProjection[]): void {
    for (const runner of runners) this.#runners.set(runner.name, runner);
  }

  /** Sets the end of the log at the start of this process: writes answered before that are read here too. */
  startsAt(head: Position | undefined): void {
    this.#floor = head;
  }

  /** Records the position of a write before it is answered. */
  answered(tenantId: string | undefined, position: Position): void {
    this.#asked += 1;
    for (const key of tenantId === undefined ? [ANYBODY] : [tenantId, ANYBODY]) {
      const before = this.#answered.get(key);
      if (before === undefined || before < position) this.#answered.set(key, position);
    }
  }

  /**
   * Undefined when the read need not wait, which is usual.
   * @throws `read_model_behind` after 5 s, or at once for a parked tenant
   */
  waitFor(
    tenant: string | undefined,
    projections: readonly string[],
    minPosition: Position | undefined,
  ): Promise<void> | undefined {
    this.#asked += 1;
    const tenantId = tenant ?? ANYBODY;
    const target = latest(minPosition, latest(this.#answered.get(tenantId), this.#floor));
    const waiting = projections.filter((name) => !this.#ready(name, tenantId, target));
    if (waiting.length === 0) return undefined;
    return this.#waitUntilReady(waiting, tenantId, target, minPosition !== undefined);
  }

  /**
   * For read models that an older build must not answer from (decision 4).
   * @throws `read_model_behind` while an older version is active
   */
  async requirePresentVersion(name: string): Promise<void> {
    const { tag } = await this.#generation(name);
    if (this.#superseded(name, tag)) throw behind('A read model is being rebuilt.');
  }

  /** Number of reads and writes so far. */
  get asked(): number {
    return this.#asked;
  }

  /** Whether a projection folded here reaches `target` within `ms`; true when this process does not fold it. */
  async comesTo(name: string, target: Position, ms: number): Promise<boolean> {
    const deadline = performance.now() + ms;
    for (;;) {
      const tag = this.#active.get(name)?.tag;
      const runner = this.#runners.get(name);
      if (tag === undefined || runner?.folds(tag) !== true) return true;
      if (reaches(runner.localCheckpoint(tag), target)) return true;
      const left = deadline - performance.now();
      if (left <= 0) return false;
      await runner.nextBatch(left);
    }
  }

  /** How long (ms) the oldest waiting read has waited; 0 without one. */
  longestWait(): number {
    for (const { since } of this.#waiting) return performance.now() - since;
    return 0;
  }

  reader(projection: string): Reader {
    const at = () => this.#generation(projection);
    return {
      get: async <D>(collection: string, tenant: string, id: string) => {
        const doc = await this.#store.get(await at(), { collection, tenant, id });
        // A collection holds only documents of its own projection.
        return doc?.value as D | undefined;
      },
      find: async <D>(collection: string, tenant: string, query: PageQuery) => {
        const found = await this.#store.find(await at(), { ...query, collection, tenant });
        return { docs: found.docs.map((doc) => doc.value as D), next: found.next };
      },
      entries: async (collection, tenant, query) =>
        this.#store.entries(await at(), { ...query, collection, tenant }),
      findAll: async (tenant, queries) =>
        this.#store.findAll(
          await at(),
          queries.map((query) => ({ ...query, tenant })),
        ),
      search: async <D>(collection: string, tenant: string, query: SearchQuery) => {
        const found = await this.#store.search(await at(), { ...query, collection, tenant });
        return { docs: found.docs.map((doc) => doc.value as D), next: found.next };
      },
      ids: async (collection, tenant, query) => {
        const found = await this.#store.ids(await at(), { ...query, collection, tenant });
        return { docs: found.ids, next: found.next };
      },
      count: async (collection, tenant, selection) =>
        this.#store.count(await at(), { ...selection, collection, tenant }),
      checkpoint: async (tenantId) => {
        const generation = await at();
        const runner = this.#runners.get(projection);
        if (runner?.folds(generation.tag)) {
          const isParked = tenantId !== undefined && runner.isParked(generation.tag, tenantId);
          return isParked ? undefined : runner.localCheckpoint(generation.tag);
        }
        const { checkpoint, parked } = await this.#store.state(generation);
        return parked.some(({ tenant }) => tenant === tenantId) ? undefined : checkpoint;
      },
    };
  }

  /** Whether every projection has folded up to `target`. */
  async reached(target: Position | undefined): Promise<boolean> {
    for (const name of this.#projections.keys()) {
      const checkpoint = await this.reader(name).checkpoint();
      if (target !== undefined && (checkpoint === undefined || checkpoint < target)) return false;
    }
    return true;
  }

  /** True when known to be ready without reading the store. */
  #ready(name: string, tenantId: string, target: Position | undefined): boolean {
    const active = this.#active.get(name);
    if (active === undefined || this.#clock.now() - active.readAt > REFRESH_MS) return false;
    const runner = this.#runners.get(name);
    if (runner?.folds(active.tag)) {
      const checkpoint = runner.localCheckpoint(active.tag);
      return !runner.isParked(active.tag, tenantId) && reaches(checkpoint, target);
    }
    const remote = this.#remote.get(`${name}@${active.tag}`);
    if (remote === undefined || this.#clock.now() - remote.readAt > REFRESH_MS) return false;
    return !remote.parked.has(tenantId) && reaches(remote.checkpoint, target);
  }

  async #waitUntilReady(
    projections: readonly string[],
    tenantId: string,
    target: Position | undefined,
    demanded: boolean,
  ): Promise<void> {
    const waiter = { since: performance.now() };
    const deadline = waiter.since + WAIT_MS;
    let rest = projections;
    this.#waiting.add(waiter);
    try {
      for (;;) {
        const states = await Promise.all(rest.map((name) => this.#look(name, tenantId, target, demanded)));
        if (states.includes('parked')) throw behind('A read model has stopped for this tenant.');
        rest = rest.filter((_, index) => states[index] === 'behind');
        const [first] = rest;
        if (first === undefined) return;
        if (performance.now() > deadline) throw behind('A read model has not caught up yet.');
        const runner = this.#runners.get(first);
        await (runner === undefined ? pause(POLL_MS) : runner.nextBatch(POLL_MS * 4));
      }
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  async #look(
    name: string,
    tenantId: string,
    target: Position | undefined,
    demanded: boolean,
  ): Promise<'ready' | 'behind' | 'parked'> {
    const { tag } = await this.#generation(name);
    const runner = this.#runners.get(name);
    if (runner?.folds(tag)) {
      if (runner.isParked(tag, tenantId)) return 'parked';
      return reaches(runner.localCheckpoint(tag), target) ? 'ready' : 'behind';
    }
    const state = await this.#store.state({ projection: name, tag });
    const parked = new Set(state.parked.map((entry) => entry.tenant));
    this.#remote.set(`${name}@${tag}`, { checkpoint: state.checkpoint, parked, readAt: this.#clock.now() });
    if (parked.has(tenantId)) return 'parked';
    if (reaches(state.checkpoint, target)) return 'ready';
    // An older build's generation answers as it is until this build's has caught up.
    return this.#superseded(name, tag) && !demanded ? 'ready' : 'behind';
  }

  #superseded(name: string, tag: string): boolean {
    const version = this.#projections.get(name)?.version;
    return tag !== `v${version}` && !tag.startsWith(`v${version}.`);
  }

  async #generation(name: string): Promise<GenerationId> {
    const known = this.#active.get(name);
    const now = this.#clock.now();
    const projection = this.#projections.get(name);
    if (projection === undefined) throw new Error(`no projection ${name}`);
    if (known !== undefined && now - known.readAt <= REFRESH_MS) return { projection: name, tag: known.tag };
    const tag = (await this.#store.activeGeneration(name)).active ?? `v${projection.version}`;
    const generation = { projection: name, tag };
    if (!this.#prepared.has(`${name}@${tag}`) && !this.#superseded(name, tag)) {
      await this.#store.prepare(generation, projection.collections);
      this.#prepared.add(`${name}@${tag}`);
    }
    this.#active.set(name, { tag, readAt: now });
    return generation;
  }
}

const reaches = (checkpoint: Position | undefined, target: Position | undefined): boolean =>
  target === undefined || (checkpoint !== undefined && checkpoint >= target);

const behind = (message: string): DomainError =>
  new DomainError('read_model_behind', message, { retry_after: 1 });
