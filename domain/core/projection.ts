import type { Filter, SortField } from '../expressions/filter-tree.ts';

/**
 * A projection is a pure fold: for each event it names the documents that the event touches and how each changes.
 * The runner loads touched documents once per batch, folds in memory and writes documents with the checkpoint.
 */

export interface Index {
  readonly name: string;
  /** Dotted paths; see the read store port. */
  readonly fields: readonly string[];
  /** The one path that meets an array: an entry per element. */
  readonly multi?: string;
  /** Documents that have no value there are not in the index. */
  readonly present?: string;
}

/** An event as a projection sees it: personal fields of `data` are sealed. */
export interface ProjectedEvent<E extends { type: string; data: unknown } = { type: string; data: unknown }> {
  readonly type: E['type'];
  readonly data: E['data'];
  readonly id: string;
  readonly tenantId: string;
  readonly stream: string;
  readonly revision: number;
  /** ms */
  readonly at: number;
  readonly actor: { readonly kind: string; readonly id: string };
  /** The platform admin who acts as {@link actor}; undefined: it is the actor itself. */
  readonly impersonatedBy: string | undefined;
  /** Its place in the log: opaque, in the order of text. */
  readonly position: string;
}

/**
 * One touched document. `change` gets the document as it is (undefined: none) and returns it anew (undefined: gone), or
 * the very same where nothing changes: it is then not written.
 */
export interface Touch {
  readonly collection: string;
  readonly id: string;
  /** Default: the event's tenant. */
  readonly tenantId?: string;
  readonly change: (document: Document | undefined) => Document | undefined;
}

/** A JSON object; never changed in place. */
export type Document = { readonly [key: string]: unknown };

export interface Projection {
  readonly name: string;
  /** Grows when documents change shape or meaning: a new generation is then built beside the old one. */
  readonly version: number;
  readonly collections: readonly {
    readonly name: string;
    readonly indexes: readonly Index[];
    /** Its documents hold `keys` (expressions/order-key.ts) and are found by filters; see the read store port. */
    readonly searchable?: boolean;
  }[];
  /** Types of the events that are folded; others are passed over. */
  readonly types: readonly string[];
  readonly fold: (event: ProjectedEvent) => readonly Touch[];
}

type Union = { readonly type: string; readonly data: unknown };
type Folds<E extends Union> = {
  readonly [T in E['type']]?: (event: ProjectedEvent<Extract<E, { type: T }>>) => readonly Touch[];
};

/** Builds a projection from one fold per event type. */
export const projection = <E extends Union>(definition: {
  readonly name: string;
  readonly version: number;
  readonly collections: Projection['collections'];
  readonly on: Folds<E>;
}): Projection => {
  const folds = new Map<string, (event: ProjectedEvent) => readonly Touch[]>(Object.entries(definition.on));
  return {
    name: definition.name,
    version: definition.version,
    collections: definition.collections,
    types: [...folds.keys()],
    fold: (event) => folds.get(event.type)?.(event) ?? [],
  };
};

/** A typed touch: `D` is the collection's document. The collection holds nothing else, so the type is its own proof. */
export const touch = <D extends object>(
  collection: string,
  id: string,
  change: (document: D | undefined) => D | undefined,
  tenantId?: string,
): Touch => ({
  collection,
  id,
  change: change as (document: Document | undefined) => Document | undefined,
  ...(tenantId === undefined ? {} : { tenantId }),
});

let lastIso = { ms: 0, text: new Date(0).toISOString() };

/** Of the same moment again and again: a fold asks for its event's time once per field. */
export const iso = (ms: number): string => {
  if (ms !== lastIso.ms) lastIso = { ms, text: new Date(ms).toISOString() };
  return lastIso.text;
};

export type Scalar = string | number | boolean | null;

/** A row that was shown, and the digest of the text that it was sorted by. */
export type ShownRow = readonly [id: string, digest: string];

/** The last row of a page: index values after `equals`, and the document's id. */
export interface PageEnd {
  readonly values: readonly Scalar[];
  readonly id: string;
  /** Present where the value is only the beginning of a long text: the last rows shown, latest first. */
  readonly shown?: readonly ShownRow[] | undefined;
}

export interface PageQuery {
  readonly index: string;
  readonly equals: readonly Scalar[];
  readonly range?: { readonly gt?: Scalar; readonly lt?: Scalar };
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** Ends a page after about 2 MiB of documents, where they can be large and the caller follows `next`. */
  readonly bounded?: boolean;
  readonly after?: PageEnd | undefined;
}

/** All that a range of an index holds. */
export interface RangeQuery extends Omit<PageQuery, 'limit' | 'bounded' | 'after'> {
  readonly collection: string;
}

export interface Page<D> {
  readonly docs: readonly D[];
  /** Present when more rows follow. */
  readonly next?: PageEnd | undefined;
}

/** The documents that a filter selects within one range of an index. */
export interface DocumentSelection {
  readonly index: string;
  readonly equals: readonly Scalar[];
  /** Default: all. */
  readonly filter?: Filter | undefined;
  /** ms; the value of `now()` in the filter. */
  readonly now: number;
}

export interface SearchQuery extends DocumentSelection {
  /** By this field, then by id; default: the index's order. Costs a scan of the range. */
  readonly sort?: SortField | undefined;
  readonly order?: 'asc' | 'desc' | undefined;
  readonly limit: number;
  readonly after?: PageEnd | undefined;
}

/** Reads documents of one read model, always of one tenant. */
export interface DocumentReader {
  get<D>(collection: string, tenantId: string, id: string): Promise<D | undefined>;
  find<D>(collection: string, tenantId: string, query: PageQuery): Promise<Page<D>>;
  /** Index values and ids of the first of a range, without reading documents. */
  entries(collection: string, tenantId: string, query: PageQuery): Promise<readonly PageEnd[]>;
  /** All documents of each query, read together: none has seen an event that another has not. For small ranges. */
  findAll(tenantId: string, queries: readonly RangeQuery[]): Promise<readonly (readonly Document[])[]>;
  /** Of a searchable collection. */
  search<D>(collection: string, tenantId: string, query: SearchQuery): Promise<Page<D>>;
  /** As `search`, ids alone: `docs` are document ids. */
  ids(collection: string, tenantId: string, query: SearchQuery): Promise<Page<string>>;
  count(collection: string, tenantId: string, selection: DocumentSelection): Promise<number>;
}

/** Documents per page of {@link every}. */
const PAGE = 200;

/** All documents of a paged query, one page in memory; those that come or vanish meanwhile are no matter. */
export const every = async function* <D>(
  find: (page: { limit: number; after: PageEnd | undefined }) => Promise<Page<D>>,
): AsyncIterable<D> {
  let after: PageEnd | undefined;
  do {
    const page = await find({ limit: PAGE, after });
    yield* page.docs;
    after = page.next;
  } while (after !== undefined);
};
