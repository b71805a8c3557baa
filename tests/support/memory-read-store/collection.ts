import type {
  Cursor,
  DocKey,
  DocWrite,
  EntriesQuery,
  FindQuery,
  FindResult,
  JsonObject,
  ListedDoc,
  StoredDoc,
} from '../../../application/ports/read-store.ts';
import { compareText } from '../../../domain/expressions/compare.ts';
import {
  checkSingle,
  cursorOf,
  entriesOf,
  type IndexPlan,
  type KeyRange,
  planIndex,
  planNamed,
  rangeOf,
  singleKey,
} from '../../../infrastructure/read-store/index-keys.ts';
import { pageRoom } from '../../../infrastructure/read-store/page-room.ts';
import { searchedFields } from '../../../infrastructure/read-store/searched.ts';
import { parseDocument, specOf } from '../../../infrastructure/read-store/stored-values.ts';

/** A stored document, or the tombstone of a deleted one. */
export interface Held {
  readonly doc: StoredDoc | undefined;
  readonly position: StoredDoc['position'];
  /** The document's JSON, for its size. */
  readonly text: string;
  /** Keys in each index. */
  readonly keys: readonly (readonly string[])[];
  /** The values that filters read; undefined when the collection is not searchable. */
  readonly searched: JsonObject | undefined;
}

/** A limit above the number of documents of any collection. */
export const ALL = 2 ** 31;

export interface Entry {
  readonly key: string;
  readonly id: string;
}

/** Documents and ordered index entries of one tenant. */
interface Documents {
  readonly held: Map<string, Held>;
  readonly entries: readonly Entry[][];
}

/** The documents of one collection in one generation. */
export class MemoryCollection {
  readonly indexes: readonly IndexPlan[];
  readonly searchable: boolean;
  readonly spec: string;
  readonly #tenants = new Map<string, Documents>();

  /** @param spec in the format that `specOf` reads */
  constructor(spec: string) {
    this.spec = spec;
    const { indexes, searchable } = specOf(spec);
    this.indexes = indexes.map(planIndex);
    this.searchable = searchable;
  }

  /** The document as it will be stored. @throws {TypeError} when an index or a search cannot hold it */
  made({ id, position, value }: DocWrite): Held {
    if (value === null)
      return { doc: undefined, position, text: '', keys: this.indexes.map(() => []), searched: undefined };
    const text = JSON.stringify(value);
    const stored = frozen(parseDocument(text));
    return {
      doc: { value: stored, position },
      position,
      text,
      keys: this.indexes.map((plan) => keysOf(plan, stored, id)),
      searched: this.searchable ? searchedFields(stored) : undefined,
    };
  }

  /** Keeps a document, unless the stored one is from the same position or a later one. */
  keep(tenant: string, id: string, next: Held): void {
    const documents = this.#tenants.get(tenant) ?? {
      held: new Map<string, Held>(),
      entries: this.indexes.map(() => []),
    };
    this.#tenants.set(tenant, documents);
    const before = documents.held.get(id);
    if (before !== undefined && before.position >= next.position) return;
    documents.held.set(id, next);
    for (const [at, entries] of documents.entries.entries()) {
      const [old, wanted] = [before?.keys[at] ?? [], next.keys[at] ?? []];
      for (const key of old) if (!wanted.includes(key)) entries.splice(firstAfter(entries, key) - 1, 1);
      for (const key of wanted)
        if (!old.includes(key)) entries.splice(firstAfter(entries, key), 0, { key, id });
    }
  }

  /** Removes tombstones up to a position. */
  sweep(checkpoint: string): void {
    for (const { held } of this.#tenants.values()) {
      for (const [id, { doc, position }] of held)
        if (doc === undefined && position <= checkpoint) held.delete(id);
    }
  }

  held(tenant: string, id: string): Held | undefined {
    return this.#tenants.get(tenant)?.held.get(id);
  }

  load({ tenant, id }: Pick<DocKey, 'tenant' | 'id'>): StoredDoc | undefined {
    return this.held(tenant, id)?.doc;
  }

  /** Entries of a range, in its order. */
  *range(tenant: string, at: number, { low, high, descending }: KeyRange): Generator<Entry> {
    const entries = this.#tenants.get(tenant)?.entries[at] ?? [];
    const from = firstAfter(entries, low);
    const until = firstNotBefore(entries, high);
    for (let n = 0; n < until - from; n += 1) {
      const entry = entries[descending ? until - 1 - n : from + n];
      if (entry !== undefined) yield entry;
    }
  }

  entries(query: EntriesQuery): readonly Cursor[] {
    const { plan, at } = planNamed(this.indexes, query);
    const range = rangeOf(plan, query);
    checkSingle(plan);
    const found: Cursor[] = [];
    for (const { key } of this.range(query.tenant, at, range)) {
      found.push(cursorOf(plan, key, query.equals?.length ?? 0));
      if (found.length >= query.limit) break;
    }
    return found;
  }

  /** @param bytes maximum size of a page */
  find(query: FindQuery, bytes?: number): FindResult {
    const { plan, at } = planNamed(this.indexes, query);
    const hasRoom = pageRoom<Held>(query.limit, ({ text }) => Buffer.byteLength(text), bytes);
    const docs: { id: string; value: JsonObject }[] = [];
    let last = '';
    for (const { key, id } of this.range(query.tenant, at, rangeOf(plan, query))) {
      const held = this.held(query.tenant, id);
      if (held?.doc === undefined) throw new Error(`index ${plan.name} names ${id}, which is not there`);
      if (!hasRoom(held)) return { docs, next: cursorOf(plan, last, query.equals?.length ?? 0) };
      docs.push({ id, value: held.doc.value });
      last = key;
    }
    return { docs };
  }

  list(after: Pick<DocKey, 'tenant' | 'id'> | undefined, limit: number): ListedDoc[] {
    const found: ListedDoc[] = [];
    for (const tenant of [...this.#tenants.keys()].sort(compareText)) {
      if (after !== undefined && compareText(tenant, after.tenant) < 0) continue;
      const from = tenant === after?.tenant ? after.id : undefined;
      for (const id of [...(this.#tenants.get(tenant)?.held.keys() ?? [])].sort(compareText)) {
        if (from !== undefined && compareText(id, from) <= 0) continue;
        const doc = this.load({ tenant, id });
        if (doc !== undefined) found.push({ tenant, id, doc, isIndexed: this.#isIndexed(tenant, id) });
        if (found.length >= limit) return found;
      }
    }
    return found;
  }

  #isIndexed(tenant: string, id: string): boolean {
    const documents = this.#tenants.get(tenant);
    const keys = documents?.held.get(id)?.keys ?? [];
    return keys.every((each, at) =>
      each.every((key) => {
        const entries = documents?.entries[at] ?? [];
        const found = entries[firstAfter(entries, key) - 1];
        return found?.key === key && found.id === id;
      }),
    );
  }
}

const keysOf = (plan: IndexPlan, value: JsonObject, id: string): readonly string[] => {
  if (plan.multi === undefined) {
    const key = singleKey(plan, value, id);
    return key === null ? [] : [key];
  }
  const { heads, tail } = entriesOf(plan, value, id);
  return heads.map((head) => head + tail);
};

/** The number of entries up to `key`. */
const firstAfter = (entries: readonly Entry[], key: string): number => search(entries, (at) => at <= 0, key);
/** The number of entries before `key`. */
const firstNotBefore = (entries: readonly Entry[], key: string): number =>
  search(entries, (at) => at < 0, key);

const search = (entries: readonly Entry[], isLow: (order: number) => boolean, key: string): number => {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isLow(compareText(entries[middle]?.key ?? '', key))) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Freezes the value, since all readers share it. */
const frozen = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
};
