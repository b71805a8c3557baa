import { DomainError } from '../../../domain/core/errors.ts';
import type { Projection } from '../../../domain/core/projection.ts';
import type { Logger } from '../../ports/logger.ts';
import { type GenerationId, leaseNameOf, type ReadStore } from '../../ports/read-store.ts';
import { monotonic, pause } from '../runtime/timers.ts';
import { WithDeps } from '../with-deps.ts';

/** The tag of a generation: the projection's version, and a number for rebuilds of the same version. */
export const tagOf = (version: number, rebuild = 0): string =>
  rebuild === 0 ? `v${version}` : `v${version}.${rebuild}`;

const parseTag = (tag: string | undefined): { version: number; rebuild: number } => {
  const [, version, rebuild] = /^v(\d+)(?:\.(\d+))?$/.exec(tag ?? '') ?? [];
  return { version: Number(version ?? 0), rebuild: Number(rebuild ?? 0) };
};

/** The newest stored generation of a projection's own version. */
export const newestOf = async (
  store: Pick<ReadStore, 'generations'>,
  { name, version }: Pick<Projection, 'name' | 'version'>,
): Promise<string | undefined> =>
  (await store.generations(name))
    .filter((tag) => parseTag(tag).version === version)
    .sort((left, right) => parseTag(left).rebuild - parseTag(right).rebuild)
    .at(-1);

/** Whether two generations are of one version: one is a rebuild of the other. */
export const isSameVersion = (left: string, right: string): boolean =>
  parseTag(left).version === parseTag(right).version;

/** Whether a generation belongs to a newer build. */
export const isNewer = (tag: string, { version }: Pick<Projection, 'version'>): boolean =>
  parseTag(tag).version > version;

export interface TakeoverDeps {
  readonly store: ReadStore;
  readonly logger: Logger;
  readonly owner: string;
  readonly ttlMs: number;
  /** How long (ms) a replaced generation of the same version is kept for nodes that still read it; default 10 s. */
  readonly retirementMs?: number | undefined;
  /** How long (ms) a former generation that no process folds is kept, for a rollback; default 10 min. */
  readonly formerMs?: number | undefined;
}

const RETIREMENT_MS = 10_000;
const FORMER_MS = 600_000;

/** Decides which generations of a projection are folded, which one is active, and when a replaced one is dropped. */
export class Takeover extends WithDeps<TakeoverDeps & { readonly projection: Projection }> {
  /** The active generation, as last read. */
  #active: string | undefined;
  /** Tag of the generation that was last found to be in the current storage format. */
  #current: string | undefined;
  /** By tag of a replaced generation: when (ms) it was first seen without a process that folds it. */
  readonly #unusedSince = new Map<string, number>();

  /**
   * Tags of generations that this build folds: those of its own version. Begins a new generation if there is none, or
   * if the active one is of an older version or stored in an older form.
   */
  async wanted(): Promise<string[]> {
    const { store } = this.deps;
    const { name, version } = this.deps.projection;
    let state = await store.activeGeneration(name);
    if (state.active === undefined) {
      // The first generation is active from the start.
      state = { active: tagOf(version), building: undefined };
      await store.setActiveGeneration(name, state);
    } else if (parseTag(state.active).version < version && parseTag(state.building).version < version) {
      // A newer version becomes active once it has caught up.
      state = { ...state, building: tagOf(version) };
      await store.setActiveGeneration(name, state);
    } else if (state.building === undefined && (await this.#isOutdated(state.active))) {
      await this.rebuild();
      state = await store.activeGeneration(name);
    }
    this.#active = state.active;
    // While a newer build is active, nodes of this build fold the newest generation of their version (decision 52).
    const isFormer = parseTag(state.active).version > version;
    const tags = isFormer ? [await newestOf(store, this.deps.projection)] : [state.active, state.building];
    return tags.filter((tag) => tag !== undefined).filter((tag) => parseTag(tag).version === version);
  }

  /**
   * Starts a rebuild beside the active generation, unless one is running. @returns the tag of the new generation
   * @throws `conflict` on a node of an older build
   */
  async rebuild(): Promise<string> {
    const { store } = this.deps;
    const { name, version } = this.deps.projection;
    const state = await store.activeGeneration(name);
    if (state.building !== undefined) return state.building;
    const active = parseTag(state.active);
    if (active.version > version) {
      throw new DomainError(
        'conflict',
        'A newer version of this projection is active. Rebuild it on a server with that version.',
      );
    }
    const building = tagOf(version, active.version === version ? active.rebuild + 1 : 0);
    await store.setActiveGeneration(name, { ...state, building });
    return building;
  }

  /** Whether a generation was active when last read. */
  isActive(tag: string): boolean {
    return this.#active === tag;
  }

  /**
   * To be called when `tag` has caught up: makes it the active generation if it is the one being built.
   * @returns whether `tag` is `active` or `replaced`, and the generation that it has just replaced
   */
  async caughtUp(tag: string): Promise<{ state: 'active' | 'replaced'; former?: string | undefined }> {
    if (this.isActive(tag)) return { state: 'active' };
    const { store, logger } = this.deps;
    const { name } = this.deps.projection;
    const { active, building } = await store.activeGeneration(name);
    this.#active = active;
    if (building !== tag) {
      const isOlderBuild = parseTag(active).version > parseTag(tag).version;
      // A newer build's generation does not replace this one: nodes of this build still read it.
      const isKept = active === undefined || active === tag || isOlderBuild;
      return { state: isKept ? 'active' : 'replaced' };
    }
    await store.setActiveGeneration(name, { active: tag, building: undefined });
    logger.info({ projection: name, generation: tag }, 'a new generation took over');
    this.#active = tag;
    return { state: 'active', former: active };
  }

  /** Whether a generation of this version is stored in an older form. */
  async #isOutdated(tag: string): Promise<boolean> {
    const { name: projection, version } = this.deps.projection;
    if (this.#current === tag || parseTag(tag).version !== version) return false;
    const { isOutdated = false } = await this.deps.store.state({ projection, tag });
    if (!isOutdated) this.#current = tag;
    return isOutdated;
  }

  /** Drops a replaced generation after `retirementMs`, unless another node still folds it; that node drops it later. */
  async retire(generation: GenerationId, signal: AbortSignal): Promise<void> {
    const { retirementMs = RETIREMENT_MS } = this.deps;
    await pause(retirementMs, signal);
    if (!signal.aborted) await this.#drop(generation);
  }

  /** Drops former generations that no process has folded for `formerMs`, including those that an ended process left. */
  async clean(): Promise<void> {
    const { store, formerMs = FORMER_MS } = this.deps;
    const { name: projection, version } = this.deps.projection;
    const { active, building } = await store.activeGeneration(projection);
    // An older build must not drop generations: only the build of the active generation does.
    if (parseTag(active).version !== version) return;
    for (const tag of await store.generations(projection)) {
      if (tag === active || tag === building || parseTag(tag).version > version) continue;
      const generation = { projection, tag };
      if (await store.isLeaseHeld(leaseNameOf(generation))) {
        this.#unusedSince.delete(tag);
        continue;
      }
      const since = this.#unusedSince.get(tag) ?? monotonic();
      this.#unusedSince.set(tag, since);
      if (monotonic() - since < formerMs) continue;
      await this.#drop(generation);
      this.#unusedSince.delete(tag);
    }
  }

  async #drop(generation: GenerationId): Promise<void> {
    const { store, owner, ttlMs, logger } = this.deps;
    try {
      const lease = await store.acquireLease(leaseNameOf(generation), owner, ttlMs);
      if (lease === undefined) return;
      await store.drop(generation);
      await store.releaseLease(lease);
    } catch (error) {
      logger.warn({ err: error, ...generation }, 'a replaced generation could not be dropped');
    }
  }
}
