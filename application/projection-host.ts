import { DomainError } from '../domain/errors.ts';
import { ProjectionRetryRequested } from '../domain/operations/operations.ts';
import type { Projection } from '../domain/projection.ts';
import { Folder, type FolderDeps } from './folder.ts';
import { holdLease, type LeaseOptions, pause } from './lease-holder.ts';
import type { EventBatch, EventStore, Position, StoredEvent } from './ports/event-store.ts';
import { type Generation, leaseNameOf, type ParkedTenant, type ReadStore } from './ports/read-store.ts';
import { TransientSet } from './ports/transient.ts';
import type { Pressure } from './pressure.ts';
import type { FoldingProjection } from './read-models.ts';

export interface HostOptions extends FolderDeps, Omit<LeaseOptions, 'store' | 'logger'> {
  /**
   * A batch is folded at once when somebody waits for it, else after this long, so that under load one transaction
   * serves many events.
   */
  readonly lingerMs: number;
  /** Shared by the hosts of a thread. */
  readonly pressure: Pressure;
  /** How long a replaced generation is kept for readers on other nodes that have not noticed yet; default 10 s. */
  readonly retirementMs?: number | undefined;
  /** Progress without documents is stored at most this often; other nodes wait on what is stored. Default 25 ms. */
  readonly saveMs?: number;
  /** Told after each stored batch of a generation folded here. */
  readonly onProgress?: (progress: GenerationProgress) => void;
  /** Told when a generation is not folded here any more. */
  readonly onEnd?: (tag: string) => void;
}

export interface GenerationProgress {
  readonly tag: string;
  readonly checkpoint: Position | undefined;
  readonly parked: string[];
}

/** What is told of a projection: `GET /super/projections`. */
export interface ProjectionStatus {
  readonly name: string;
  readonly generation: string;
  readonly state: 'active' | 'building';
  readonly checkpoint: Position | undefined;
  readonly parked: readonly ParkedTenant[];
}

/** The tag of a projection's generation: its version, and a count for rebuilds of the same version. */
export const tagOf = (version: number, rebuild = 0): string =>
  rebuild === 0 ? `v${version}` : `v${version}.${rebuild}`;

const parseTag = (tag: string | undefined): { version: number; rebuild: number } => {
  const [, version, rebuild] = /^v(\d+)(?:\.(\d+))?$/.exec(tag ?? '') ?? [];
  return { version: Number(version ?? 0), rebuild: Number(rebuild ?? 0) };
};

const RETIREMENT_MS = 10_000;
const SAVE_MS = 25;
/** Events that are folded together while somebody waits: a few milliseconds of work. */
const HURRIED = 100;

/**
 * Runs one projection: its active generation, and a new one beside it when the version grew or a rebuild was asked
 * for. The new one takes over when it has caught up; reads never stop.
 */
export class ProjectionHost implements FoldingProjection {
  readonly projection: Projection;
  readonly #options: HostOptions;
  readonly #store: ReadStore;
  readonly #events: EventStore;
  readonly #folders = new Map<string, Folder>();
  readonly #listeners = new Set<() => void>();
  readonly #lingering = new TransientSet<() => void>();
  #hurry = 0;
  #active: string | undefined;

  constructor(projection: Projection, options: HostOptions) {
    this.projection = projection;
    this.#options = options;
    this.#store = options.store;
    this.#events = options.events;
  }

  get name(): string {
    return this.projection.name;
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Map<string, Promise<void>>();
    while (!signal.aborted) {
      try {
        for (const tag of await this.#wanted()) {
          if (running.has(tag)) continue;
          const done = this.#runGeneration(tag, signal).finally(() => running.delete(tag));
          running.set(tag, done);
        }
      } catch (error) {
        this.#options.logger.warn(
          { err: error, projection: this.projection.name },
          'generations could not be read',
        );
      }
      await pause(1000, signal);
    }
    await Promise.all(running.values());
  }

  /** The checkpoint of a generation folded in this process; undefined when another process folds it. */
  localCheckpoint(tag: string): Position | undefined {
    return this.#folders.get(tag)?.checkpoint;
  }

  folds(tag: string): boolean {
    return this.#folders.has(tag);
  }

  /** Resolves at the next stored batch of any generation, or after `ms`; asks waiting batches to hurry. */
  nextBatch(ms: number): Promise<void> {
    this.hurry(true);
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(done);
        this.hurry(false);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#listeners.add(done);
    });
  }

  /** Somebody begins or ceases to wait: batches are folded at once as long as anybody does. */
  hurry(waiting: boolean): void {
    this.#hurry += waiting ? 1 : -1;
    if (!waiting) return;
    this.#options.pressure.note();
    this.#wakeLingering();
  }

  isParked(tag: string, tenantId: string): boolean {
    return this.#folders.get(tag)?.isParked(tenantId) ?? false;
  }

  /**
   * Starts a rebuild beside the active generation; one that is being built already is kept.
   * @throws `conflict` on a node of an older build
   */
  async rebuild(): Promise<string> {
    const { projection } = this;
    const state = await this.#store.activeGeneration(projection.name);
    if (state.building !== undefined) return state.building;
    const active = parseTag(state.active);
    if (active.version > projection.version) {
      throw new DomainError('conflict', 'A newer version of this projection answers: rebuild it there.');
    }
    const rebuild = active.version === projection.version ? active.rebuild + 1 : 0;
    const building = tagOf(projection.version, rebuild);
    await this.#store.setActiveGeneration(projection.name, { ...state, building });
    return building;
  }

  async status(): Promise<ProjectionStatus[]> {
    const { active, building } = await this.#store.activeGeneration(this.projection.name);
    const tags = [active, building].filter((tag) => tag !== undefined);
    return Promise.all(
      tags.map(async (tag) => {
        const state = await this.#store.state(this.#generation(tag));
        return {
          name: this.projection.name,
          generation: tag,
          state: tag === active ? ('active' as const) : ('building' as const),
          checkpoint: this.localCheckpoint(tag) ?? state.checkpoint,
          parked: state.parked,
        };
      }),
    );
  }

  #generation(tag: string): Generation {
    return { projection: this.projection.name, tag };
  }

  /** Generations this build can fold: those of its own version. A newer build's are left alone. */
  async #wanted(): Promise<string[]> {
    const { name, version } = this.projection;
    let state = await this.#store.activeGeneration(name);
    if (state.active === undefined) {
      // The first generation answers from the start.
      state = { active: tagOf(version), building: undefined };
      await this.#store.setActiveGeneration(name, state);
    } else if (parseTag(state.active).version < version && parseTag(state.building).version < version) {
      // A later version takes over when it has caught up.
      state = { ...state, building: tagOf(version) };
      await this.#store.setActiveGeneration(name, state);
    }
    this.#active = state.active;
    return [state.active, state.building]
      .filter((tag) => tag !== undefined)
      .filter((tag) => parseTag(tag).version === version);
  }

  async #runGeneration(tag: string, signal: AbortSignal): Promise<void> {
    const folder = new Folder(this.projection, this.#generation(tag), this.#options);
    const retired = new AbortController();
    const ended = AbortSignal.any([signal, retired.signal]);
    await holdLease(folder.leaseName, this.#options, ended, async (lease, held) => {
      await this.#store.prepare(folder.generation, this.projection.collections);
      await folder.begin(lease);
      this.#folders.set(tag, folder);
      this.#tellProgress(folder, tag);
      try {
        await this.#follow(folder, tag, held, retired);
      } finally {
        this.#folders.delete(tag);
        this.#options.onEnd?.(tag);
      }
    });
    if (retired.signal.aborted) await this.#retire(tag, signal);
  }

  /** Drops a replaced generation once nobody reads it any more, unless somebody still folds it: they drop it then. */
  async #retire(tag: string, signal: AbortSignal): Promise<void> {
    await pause(this.#options.retirementMs ?? RETIREMENT_MS, signal);
    if (signal.aborted) return;
    const generation = this.#generation(tag);
    const { owner, ttlMs, logger } = this.#options;
    try {
      const lease = await this.#store.acquireLease(leaseNameOf(generation), owner, ttlMs);
      if (lease === undefined) return;
      await this.#store.drop(generation);
      await this.#store.releaseLease(lease);
    } catch (error) {
      logger.warn({ err: error, ...generation }, 'a replaced generation could not be dropped');
    }
  }

  async #follow(folder: Folder, tag: string, signal: AbortSignal, retired: AbortController): Promise<void> {
    const batches = this.#events.subscribe({
      after: folder.checkpoint,
      filter: { types: [...this.projection.types, ProjectionRetryRequested.type] },
      batchSize: 1000,
      signal,
    });
    let unsaved: NodeJS.Timeout | undefined;
    const wake = (): void => this.#wakeLingering();
    signal.addEventListener('abort', wake);
    try {
      for await (const batch of batches) {
        const matched = batch.events.length > 0;
        if (matched) {
          clearTimeout(unsaved);
          unsaved = undefined;
          await this.#applyBatch(folder, tag, batch);
          await this.#retryRequested(folder, batch.events);
        } else {
          // Nothing to fold: the position counts at once in this process and is stored soon for others.
          folder.checkpoint = batch.position;
          unsaved ??= setTimeout(() => {
            unsaved = undefined;
            folder.save().catch(() => undefined);
          }, this.#options.saveMs ?? SAVE_MS);
        }
        this.#tellProgress(folder, tag);
        this.#reportLag(batch);
        if (!batch.caughtUp) continue;
        if (await this.#takenOver(tag, retired, signal)) return;
        if (matched && this.#hurry === 0 && !signal.aborted) await this.#linger();
      }
    } finally {
      signal.removeEventListener('abort', wake);
      clearTimeout(unsaved);
    }
  }

  /** Who waits for an event in the midst of a batch, or of another projection's, need not wait for its end. */
  async #applyBatch(folder: Folder, tag: string, { events, position }: EventBatch): Promise<void> {
    let from = 0;
    while ((this.#hurry > 0 || this.#options.pressure.isOn) && events.length - from > HURRIED) {
      const part = events.slice(from, from + HURRIED);
      const last = part.at(-1);
      if (last === undefined) break;
      await folder.apply(part, last.position);
      this.#tellProgress(folder, tag);
      from += HURRIED;
      // So that it is told, and whoever begins to wait is heard.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await folder.apply(from === 0 ? events : events.slice(from), position);
  }

  #tellProgress(folder: Folder, tag: string): void {
    const { checkpoint } = folder;
    this.#options.onProgress?.({ tag, checkpoint, parked: folder.parkedTenants });
    for (const listener of [...this.#listeners]) listener();
  }

  async #retryRequested(folder: Folder, events: readonly StoredEvent[]): Promise<void> {
    for (const stored of events) {
      if (stored.type !== ProjectionRetryRequested.type) continue;
      const request = ProjectionRetryRequested.schema.parse(this.#options.codec.decode(stored).data);
      if (request.projection === this.projection.name) await folder.retry(request.tenant_id);
    }
  }

  #reportLag(batch: EventBatch): void {
    const last = batch.events.at(-1);
    const at = last === undefined ? undefined : occurredAt(last);
    const behind = batch.caughtUp || at === undefined ? 0 : this.#options.clock.now() - at;
    this.#options.metrics.projectionLag(this.projection.name, behind / 1000);
  }

  #wakeLingering(): void {
    for (const wake of this.#lingering) wake();
  }

  /** Until the time is up, or somebody waits, or all ends. */
  #linger(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#lingering.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, this.#options.lingerMs).unref();
      this.#lingering.add(wake);
    });
  }

  /** A generation that has caught up becomes the active one; one that was replaced ends. */
  async #takenOver(tag: string, retired: AbortController, signal: AbortSignal): Promise<boolean> {
    if (this.#active === tag) return false;
    const state = await this.#store.activeGeneration(this.projection.name);
    if (state.building === tag) {
      await this.#store.setActiveGeneration(this.projection.name, { active: tag, building: undefined });
      this.#options.logger.info(
        { projection: this.projection.name, generation: tag },
        'a new generation took over',
      );
      this.#active = tag;
      // One that an older build folded has nobody here to end it.
      if (state.active !== undefined && !this.folds(state.active)) void this.#retire(state.active, signal);
      return false;
    }
    this.#active = state.active;
    if (state.active === tag) return false;
    retired.abort();
    return true;
  }
}

/** `occurred_at` of a stored event, read without decoding what may not be decodable. */
const occurredAt = (event: StoredEvent): number | undefined => {
  const found = /"occurred_at":"([^"]+)"/.exec(event.metadata)?.[1];
  return found === undefined ? undefined : Date.parse(found);
};
