import { DomainError } from '../../../domain/core/errors.ts';
import type { PageQuery, Projection, SearchQuery } from '../../../domain/core/projection.ts';
import type { Clock } from '../../ports/clock.ts';
import { latest, type Position } from '../../ports/event-store.ts';
import { type GenerationId, leaseNameOf, type ReadStore } from '../../ports/read-store.ts';
import { monotonic, pause } from '../runtime/timers.ts';
import type { FoldingProjection, Reader, SlowSearch } from './reader.ts';
import { isNewer, newestOf } from './takeover.ts';

interface Remote {
  checkpoint: Position | undefined;
  parked: ReadonlySet<string>;
  readAt: number;
}

/** Stands for all tenants in reads across tenants, such as those of sign-in, public links and platform admins. */
const ALL_TENANTS = '*';
const WAIT_MS = 5000;
const POLL_MS = 15;
const REFRESH_MS = 500;
const SLOW_MS = 500;

/**
 * Queries and read-your-writes: a read waits until its read model has folded the writes that were answered to its
 * tenant before the read arrived. It does not wait for background work.
 */
export class ReadModels {
  readonly #store: ReadStore;
  readonly #clock: Clock;
  readonly #onSlow: (search: SlowSearch) => void;
  readonly #runners = new Map<string, FoldingProjection>();
  readonly #projections = new Map<string, Projection>();
  readonly #answered = new Map<string, Position>();
  readonly #active = new Map<string, { tag: string; readAt: number }>();
  readonly #prepared = new Set<string>();
  readonly #remote = new Map<string, Remote>();
  #floor: Position | undefined;
  #hasNoWorker = (): boolean => false;
  #waitElsewhere = (): number => 0;
  #requestCount = 0;
  /** Waiting reads in the order of their start. */
  readonly #waiting = new Set<{ readonly since: number }>();

  /** @param onSlow called after a search that took long */
  constructor(
    projections: readonly Projection[],
    store: ReadStore,
    clock: Clock,
    onSlow: (search: SlowSearch) => void = () => undefined,
  ) {
    this.#onSlow = onSlow;
    for (const projection of projections) this.#projections.set(projection.name, projection);
    this.#store = store;
    this.#clock = clock;
  }

  /** Registers the projections that this process folds. */
  attach(runners: readonly FoldingProjection[]): void {
    for (const runner of runners) this.#runners.set(runner.name, runner);
  }

  /** @param isMissing whether no process folds read models: waiting reads then fail at once */
  failWhile(isMissing: () => boolean): void {
    this.#hasNoWorker = isMissing;
  }

  /** Sets the log's end at this process's start. Reads wait for this end: other processes may have answered writes. */
  startsAt(end: Position | undefined): void {
    this.#floor = end;
  }

  /** Records the position of a write before it is answered. */
  answered(tenantId: string | undefined, position: Position): void {
    this.#requestCount += 1;
    for (const key of tenantId === undefined ? [ALL_TENANTS] : [tenantId, ALL_TENANTS]) {
      const before = this.#answered.get(key);
      if (before === undefined || before < position) this.#answered.set(key, position);
    }
  }

  /**
   * Waits until the projections are ready for a read; undefined when the read need not wait, which is usual.
   * @throws `read_model_behind` after 5 s; at once for a parked tenant and while no process folds read models
   */
  waitFor(
    tenant: string | undefined,
    projections: readonly string[],
    minPosition: Position | undefined,
  ): Promise<void> | undefined {
    this.#requestCount += 1;
    const tenantId = tenant ?? ALL_TENANTS;
    const target = latest(minPosition, latest(this.#answered.get(tenantId), this.#floor));
    const waiting = projections.filter((name) => !this.#ready(name, tenantId, target));
    if (waiting.length === 0) return undefined;
    return this.#waitUntilReady(waiting, tenantId, target, minPosition !== undefined);
  }

  /**
   * Guards reads that only a read model of this build's version may answer (decision 4).
   * @throws `read_model_behind` while a generation of another version answers
   */
  async requirePresentVersion(name: string): Promise<void> {
    const { tag } = await this.#generation(name);
    if (this.#superseded(name, tag)) throw behind('A read model is being rebuilt. Try again later.');
  }

  /** Number of reads and writes since the start of the process. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** Whether a projection folded here reaches `target` within `ms`; true when this process does not fold it. */
  async reachesWithin(name: string, target: Position, ms: number): Promise<boolean> {
    const deadline = monotonic() + ms;
    for (;;) {
      const tag = this.#active.get(name)?.tag;
      const runner = this.#runners.get(name);
      if (tag === undefined || runner?.folds(tag) !== true) return true;
      if (reaches(runner.localCheckpoint(tag), target)) return true;
      const left = deadline - monotonic();
      if (left <= 0) return false;
      await runner.nextProgress(left);
    }
  }

  /** How long (ms) the oldest waiting read has waited: here, or by estimate in other processes; 0 when none waits. */
  longestWait(): number {
    for (const { since } of this.#waiting) return Math.max(monotonic() - since, this.#waitElsewhere());
    return this.#waitElsewhere();
  }

  /** @param waits how long (ms) reads in other processes may have waited for read models folded here */
  countElsewhere(waits: () => number): void {
    this.#waitElsewhere = waits;
  }

  reader(projection: string): Reader {
    const at = () => this.#generation(projection);
    return {
      generation: async () => (await at()).tag,
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
        const began = monotonic();
        const generation = await at();
        const found = await this.#store.search(generation, { ...query, collection, tenant, explain: true });
        const { next, plan } = found;
        const ms = monotonic() - began;
        if (ms > SLOW_MS) this.#onSlow({ projection, collection, tenant, ms: Math.round(ms), plan });
        return { docs: found.docs.map((doc) => doc.value as D), next, plan };
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
    const names = [...this.#projections.keys()];
    // Requested concurrently, so that one call of the store serves all of them.
    const checkpoints = await Promise.all(names.map((name) => this.reader(name).checkpoint()));
    return checkpoints.every((checkpoint) => reaches(checkpoint, target));
  }

  /** Whether a read model is ready for a read, as far as this is known without reading the store. */
  #ready(name: string, tenantId: string, target: Position | undefined): boolean {
    const active = this.#active.get(name);
    if (active === undefined || isOld(active.readAt, this.#clock.now())) return false;
    const runner = this.#runners.get(name);
    if (runner?.folds(active.tag)) {
      const checkpoint = runner.localCheckpoint(active.tag);
      return !runner.isParked(active.tag, tenantId) && reaches(checkpoint, target);
    }
    const remote = this.#remote.get(`${name}@${active.tag}`);
    if (remote === undefined || isOld(remote.readAt, this.#clock.now())) return false;
    return !remote.parked.has(tenantId) && reaches(remote.checkpoint, target);
  }

  async #waitUntilReady(
    projections: readonly string[],
    tenantId: string,
    target: Position | undefined,
    demanded: boolean,
  ): Promise<void> {
    const waiter = { since: monotonic() };
    const deadline = waiter.since + WAIT_MS;
    let rest = projections;
    this.#waiting.add(waiter);
    try {
      for (;;) {
        const states = await Promise.all(
          rest.map((name) => this.#readiness(name, tenantId, target, demanded)),
        );
        if (states.includes('parked')) throw behind('A read model is parked for this tenant.');
        rest = rest.filter((_, index) => states[index] === 'behind');
        const [first] = rest;
        if (first === undefined) return;
        if (this.#hasNoWorker()) throw withoutWorker();
        if (monotonic() > deadline) throw behind('A read model lags behind. Try again.');
        const runner = this.#runners.get(first);
        // Readers poll at the same moments, so that one call of the store serves all of them.
        await (runner?.nextProgress(POLL_MS * 4) ?? pause(POLL_MS - (monotonic() % POLL_MS)));
      }
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  async #readiness(
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
    // A generation of another version answers even when behind, unless the caller demands a position.
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
    if (known !== undefined && !isOld(known.readAt, now)) return { projection: name, tag: known.tag };
    const active = (await this.#store.activeGeneration(name)).active ?? `v${projection.version}`;
    const tag = isNewer(active, projection) ? await this.#ownOr(active, projection) : active;
    const generation = { projection: name, tag };
    if (tag === active && !this.#prepared.has(`${name}@${tag}`) && !this.#superseded(name, tag)) {
      await this.#store.prepare(generation, projection.collections);
      this.#prepared.add(`${name}@${tag}`);
    }
    this.#active.set(name, { tag, readAt: now });
    return generation;
  }

  /** In an older build: the newest generation of this build's version if a process folds it, otherwise `newer`. */
  async #ownOr(newer: string, projection: Projection): Promise<string> {
    const own = await newestOf(this.#store, projection);
    if (own === undefined) return newer;
    const isFolded = await this.#store.isLeaseHeld(leaseNameOf({ projection: projection.name, tag: own }));
    return isFolded ? own : newer;
  }
}

const reaches = (checkpoint: Position | undefined, target: Position | undefined): boolean =>
  target === undefined || (checkpoint !== undefined && checkpoint >= target);

/** Also true after the clock was set back; otherwise `readAt` would count as recent until the clock catches up. */
const isOld = (readAt: number, now: number): boolean => now - readAt > REFRESH_MS || now < readAt;

const behind = (message: string): DomainError =>
  new DomainError('read_model_behind', message, { retry_after: 1 });

const withoutWorker = (): DomainError =>
  new DomainError('read_model_behind', 'No worker updates the read models.', { retry_after: 5 });
