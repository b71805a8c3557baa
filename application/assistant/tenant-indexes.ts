import type { CorpusStore, SourceKey, StoredSource } from '../ports/corpus-store.ts';
import { RANKING, type Ranked, type RankingRules } from './ranking.ts';
import { type IndexQuery, SearchIndex } from './search-index.ts';

/** A section that was found, with its text. */
export interface Passage extends Ranked {
  readonly title: string;
  /** Of its chunks, one after the other, as many as `cosines`. */
  readonly texts: readonly string[];
}

/** Finds the chunks of one tenant that a question is about, best first. */
export interface PassageSearch {
  /** @throws {StoreUnavailable} */
  search(tenantId: string, query: IndexQuery, rules?: RankingRules): Promise<readonly Passage[]>;
  close(): Promise<void>;
}

export interface TenantIndexesOptions {
  readonly store: CorpusStore;
  readonly dimensions: number;
  /** Vectors of another model are left out. */
  readonly model: string;
  /** Of all indexes together; the one that is asked for always stays. */
  readonly maxBytes: number;
  readonly now: () => number;
  /** Lets the thread do what else it has to; stores may answer without that. */
  readonly breathe?: () => Promise<void>;
}

interface Held {
  index: SearchIndex;
  /** `seq` of each source as it was taken in. */
  readonly taken: Map<string, number>;
  /** Up to where changes have been seen, and when; the oldest is where to look again from. */
  seen: { readonly seq: number; readonly at: number }[];
  /** One refresh at a time. */
  turn: Promise<void>;
}

const NOTHING_SEEN = [{ seq: 0, at: Number.NEGATIVE_INFINITY }];
/** Sources that are taken in before others have their turn. */
const GROUP = 25;
const TRIES = 3;

const nameOf = ({ kind, id }: SourceKey): string => `${kind}/${id}`;

/**
 * The indexes of the tenants that asked last, within a bound of memory. Each search first takes in what has changed in
 * the store since the one before, whoever wrote it, so that what was written is found and what was deleted is not.
 */
export class TenantIndexes implements PassageSearch {
  readonly #options: TenantIndexesOptions;
  /** In the order in which they were asked for. */
  readonly #held = new Map<string, Held>();

  constructor(options: TenantIndexesOptions) {
    this.#options = options;
  }

  /** Tenants whose index is in memory, the one asked for last at the end. */
  get tenants(): readonly string[] {
    return [...this.#held.keys()];
  }

  async search(
    tenantId: string,
    query: IndexQuery,
    rules: RankingRules = RANKING,
  ): Promise<readonly Passage[]> {
    for (let attempt = 1; ; attempt += 1) {
      const { index, taken } = await this.#fresh(tenantId);
      const ranked = index.search(query, rules);
      const { passages, isWhole } = await this.#withTexts(tenantId, ranked, taken);
      // A source that changed in between may belong elsewhere in the list, or nowhere.
      if (isWhole || attempt === TRIES) return passages;
    }
  }

  async close(): Promise<void> {
    this.#held.clear();
  }

  async #withTexts(tenantId: string, ranked: readonly Ranked[], taken: ReadonlyMap<string, number>) {
    const keys = [...new Map(ranked.map((one) => [nameOf(one), one])).values()];
    const sources = await this.#options.store.load(tenantId, keys);
    const byName = new Map(
      sources.flatMap((source) => (source === undefined ? [] : [[nameOf(source), source]])),
    );
    const passages = ranked.flatMap((one) => {
      const source = byName.get(nameOf(one));
      if (source === undefined || source.seq !== taken.get(nameOf(one))) return [];
      const texts = source.chunks.slice(one.no, one.no + one.cosines.length).map(({ text }) => text);
      return [{ ...one, title: source.title, texts }];
    });
    return { passages, isWhole: passages.length === ranked.length };
  }

  async #fresh(tenantId: string): Promise<Held> {
    const held = this.#held.get(tenantId) ?? {
      index: new SearchIndex(this.#options.dimensions),
      taken: new Map<string, number>(),
      seen: [...NOTHING_SEEN],
      turn: Promise.resolve(),
    };
    this.#held.delete(tenantId);
    this.#held.set(tenantId, held);
    const turn = held.turn.then(() => this.#refresh(tenantId, held));
    // The next one begins whatever becomes of this.
    held.turn = turn.catch(() => undefined);
    await turn;
    this.#trim(tenantId);
    return held;
  }

  async #refresh(tenantId: string, held: Held): Promise<void> {
    const { store, now } = this.#options;
    const at = now();
    if (held.index.isWorn) {
      held.index = new SearchIndex(this.#options.dimensions);
      held.taken.clear();
      held.seen = [...NOTHING_SEEN];
    }
    // What was seen last may have been preceded by what appears only now.
    while (held.seen.length > 1 && (held.seen[1]?.at ?? at) <= at - store.settlesWithin) held.seen.shift();
    const changes = await store.changes(tenantId, held.seen[0]?.seq ?? 0);
    const fresh = changes.filter((change) => (held.taken.get(nameOf(change)) ?? 0) < change.seq);
    for (const change of fresh) {
      if (!change.buried) continue;
      held.index.remove(change);
      held.taken.set(nameOf(change), change.seq);
    }
    const live = fresh.filter(({ buried }) => !buried);
    for (let from = 0; from < live.length; from += GROUP) {
      const some = live.slice(from, from + GROUP);
      const sources = await store.load(tenantId, some);
      // Other tenants' questions have their turn while a large index is loaded.
      await this.#options.breathe?.();
      for (const [place, source] of sources.entries()) {
        const change = some[place];
        if (change === undefined) continue;
        // Buried a moment ago: the next refresh hears of it.
        if (source === undefined) held.index.remove(change);
        else this.#take(held, source);
        held.taken.set(nameOf(change), source?.seq ?? change.seq);
      }
    }
    const last = changes.at(-1)?.seq;
    const newest = held.seen.at(-1)?.seq ?? 0;
    if (last !== undefined && last > newest) held.seen.push({ seq: last, at });
  }

  #take(held: Held, source: StoredSource): void {
    const isOurs = source.model === this.#options.model;
    held.index.put(
      isOurs
        ? source
        : { ...source, chunks: source.chunks.map((chunk) => ({ ...chunk, vector: undefined })) },
    );
  }

  /** Those that nobody has asked for the longest go first. */
  #trim(asked: string): void {
    let bytes = 0;
    for (const { index } of this.#held.values()) bytes += index.bytes;
    for (const [tenantId, { index }] of this.#held) {
      if (bytes <= this.#options.maxBytes) return;
      if (tenantId === asked) continue;
      this.#held.delete(tenantId);
      bytes -= index.bytes;
    }
  }
}
