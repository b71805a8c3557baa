import { monotonic } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type CorpusStore, nameOfSource, type StoredSource } from '../ports/corpus-store.ts';
import { RANKING, type Ranked } from './ranking.ts';
import { type IndexQuery, SearchIndex } from './search-index.ts';

/** A section found, with its text. */
export interface Passage extends Ranked {
  readonly title: string;
  /** Texts of the section's chunks, as many as `cosines`. */
  readonly texts: readonly string[];
}

/** Finds the sections of one tenant that a question is about, best first. */
export interface PassageSearch {
  /** @throws {StoreUnavailable} */
  search(tenantId: string, query: IndexQuery): Promise<readonly Passage[]>;
  close(): Promise<void>;
}

interface TenantIndexesOptions {
  readonly store: CorpusStore;
  readonly dimensions: number;
  /** Vectors of other models are ignored. */
  readonly model: string;
  /** Limit of all indexes together; the index of the present search stays even if it alone exceeds the limit. */
  readonly maxBytes: number;
  /** Yields to other work while an index is loaded. */
  readonly yieldTick?: () => Promise<void>;
}

/** Sources of one tenant, indexed; a worn index is replaced as a whole. */
interface Indexed {
  index: SearchIndex;
  /** By source: `seq` of the change that was applied last, also of a deleted source. */
  taken: Map<string, number>;
}

interface Held extends Indexed {
  /** The latest values of `seq`, each with the time (ms) of its read. The next read starts after the oldest value. */
  seen: { readonly seq: number; readonly at: number }[];
  /** The last refresh; refreshes run one at a time. */
  lastRefresh: Promise<unknown>;
}

/** Finds more passages than are shown, since some of their sources may be deleted. */
const FOUND = { ...RANKING, limit: RANKING.limit * 2 };
const NOTHING_SEEN = [{ seq: 0, at: Number.NEGATIVE_INFINITY }];
/** Sources indexed between two yields. */
const GROUP = 25;
const TRIES = 3;

/**
 * Indexes of the most recently searched tenants, within a memory limit. Each search first applies all changes of the
 * store since the last search, so that it finds every stored source and no deleted source.
 */
export class TenantIndexes extends WithDeps<TenantIndexesOptions> implements PassageSearch {
  /** Least recently searched first. */
  readonly #held = new Map<string, Held>();

  /** Tenants with an index in memory, most recently searched last. */
  get tenants(): readonly string[] {
    return [...this.#held.keys()];
  }

  async search(tenantId: string, query: IndexQuery): Promise<readonly Passage[]> {
    for (let attempt = 1; ; attempt += 1) {
      const { index, taken } = await this.#fresh(tenantId);
      const ranked = index.search(query, FOUND);
      const { passages, isWhole } = await this.#withTexts(tenantId, ranked, taken);
      // Searches again if a source changed meanwhile, since it may rank differently. The last try leaves it out.
      if (isWhole || attempt === TRIES) return passages;
    }
  }

  async close(): Promise<void> {
    this.#held.clear();
  }

  async #withTexts(tenantId: string, ranked: readonly Ranked[], taken: ReadonlyMap<string, number>) {
    const keys = [...new Map(ranked.map((one) => [nameOfSource(one), one])).values()];
    const sources = await this.deps.store.load(tenantId, keys);
    const byName = new Map(
      sources.flatMap((source) => (source === undefined ? [] : [[nameOfSource(source), source]])),
    );
    const passages = ranked.flatMap((one) => {
      const source = byName.get(nameOfSource(one));
      if (source === undefined || source.seq !== taken.get(nameOfSource(one))) return [];
      const texts = source.chunks.slice(one.no, one.no + one.cosines.length).map(({ text }) => text);
      return [{ ...one, title: source.title, texts }];
    });
    return { passages, isWhole: passages.length === ranked.length };
  }

  async #fresh(tenantId: string): Promise<Readonly<Indexed>> {
    const held = this.#held.get(tenantId) ?? {
      index: new SearchIndex(this.deps.dimensions),
      taken: new Map<string, number>(),
      seen: [...NOTHING_SEEN],
      lastRefresh: Promise.resolve(),
    };
    this.#held.delete(tenantId);
    this.#held.set(tenantId, held);
    const refresh = held.lastRefresh.then(() => this.#refresh(tenantId, held));
    // A failed refresh does not stop the next one.
    held.lastRefresh = refresh.catch(() => undefined);
    const fresh = await refresh;
    this.#trim(tenantId);
    return fresh;
  }

  /** @returns the present index, since the next refresh may replace it in `held` before the caller searches */
  async #refresh(tenantId: string, held: Held): Promise<Readonly<Indexed>> {
    const { store } = this.deps;
    const at = monotonic();
    if (held.index.isWorn) {
      held.index = new SearchIndex(this.deps.dimensions);
      held.taken = new Map();
      held.seen = [...NOTHING_SEEN];
    }
    // A change may become visible up to `settlesWithin` ms after one with a higher `seq`; `seen` goes back that far.
    while (held.seen.length > 1 && (held.seen[1]?.at ?? at) <= at - store.settlesWithin) held.seen.shift();
    const changes = await store.changes(tenantId, held.seen[0]?.seq ?? 0);
    // Of two concurrent writes of a source, the one with the lower `seq` may be the last.
    const fresh = changes.filter((change) => held.taken.get(nameOfSource(change)) !== change.seq);
    for (const change of fresh) {
      if (!change.isTombstone) continue;
      held.index.remove(change);
      held.taken.set(nameOfSource(change), change.seq);
    }
    const live = fresh.filter(({ isTombstone }) => !isTombstone);
    for (let from = 0; from < live.length; from += GROUP) {
      const some = live.slice(from, from + GROUP);
      const sources = await store.load(tenantId, some);
      // Yields to questions of other tenants.
      await this.deps.yieldTick?.();
      for (const [place, source] of sources.entries()) {
        const change = some[place];
        if (change === undefined) continue;
        // The source was removed after `changes` was read; the next refresh reads that change.
        if (source === undefined) held.index.remove(change);
        else this.#take(held, source);
        held.taken.set(nameOfSource(change), source?.seq ?? change.seq);
      }
    }
    const last = changes.at(-1)?.seq;
    const newest = held.seen.at(-1)?.seq ?? 0;
    if (last !== undefined && last > newest) held.seen.push({ seq: last, at });
    return { index: held.index, taken: held.taken };
  }

  #take(held: Held, source: StoredSource): void {
    const isOurs = source.model === this.deps.model;
    const chunks = isOurs ? source.chunks : source.chunks.map((chunk) => ({ ...chunk, vector: undefined }));
    held.index.put({ ...source, chunks });
  }

  /** Evicts the least recently searched indexes. */
  #trim(asked: string): void {
    let bytes = 0;
    for (const { index } of this.#held.values()) bytes += index.bytes;
    for (const [tenantId, { index }] of this.#held) {
      if (bytes <= this.deps.maxBytes) return;
      if (tenantId === asked) continue;
      this.#held.delete(tenantId);
      bytes -= index.bytes;
    }
  }
}
