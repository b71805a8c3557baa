import type { Filter, SortField } from '../expressions/filter-tree.ts';

/**
 * A projection is a pure fold: for each event it names the documents to change and how. The runner loads these
 * documents once per batch, folds in memory and writes them with the checkpoint.
 */

/**
 * An index over dotted paths of the document. A path through an array (`participants.user_id`) gives one entry per
 * distinct element (none for an empty array). Only one path may pass through an array, and `multi` must name it. Values
 * are strings, numbers, booleans or null; a missing value or an object counts as null. Order: null < booleans < numbers
 * < strings (by UTF-8 bytes), ties by document id.
 */
export interface Index {
  readonly name: string;
  readonly fields: readonly string[];
  /** The path of `fields` that passes through an array. A commit throws TypeError when another path does. */
  readonly multi?: string | undefined;
  /** A path of `fields`: documents without a value at this path are not in the index. Not together with `multi`. */
  readonly present?: string | undefined;
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
  /** E-mail of the platform admin who acts as {@link actor}; undefined when the actor acts themselves. */
  readonly impersonatedBy: string | undefined;
  /** Position in the log: opaque, sorts as text. */
  readonly position: string;
}

/**
 * A change of one document. `change` gets the present document, or undefined if there is none. `change` returns the new
 * document, undefined to delete the document, or the same object to write nothing.
 */
export interface Touch {
  readonly collection: string;
  readonly id: string;
  /** Default: the event's tenant. */
  readonly tenantId?: string;
  readonly change: (document: Document | undefined) => Document | undefined;
}

/** A JSON object; never mutated. */
export type Document = { readonly [key: string]: unknown };

export interface Projection {
  readonly name: string;
  /** Raised when documents change shape or meaning: a new generation is then built beside the old one. */
  readonly version: number;
  readonly collections: readonly {
    readonly name: string;
    readonly indexes: readonly Index[];
    /**
     * Whether filters search the documents. Such documents have `keys`, an object of order keys by field
     * (domain/expressions/order-key.ts), and `state` (text or null), `created_at` and `updated_at` as in the API.
     */
    readonly searchable?: boolean | undefined;
    /**
     * Path of a text that partitions a searchable collection. A search in one partition can use an index over all
     * fields, if the store has one. Documents without the text are in no partition.
     */
    readonly scopedBy?: string | undefined;
  }[];
  /** Types of the events to fold; events of other types are skipped. */
  readonly types: readonly string[];
  readonly fold: (event: ProjectedEvent) => readonly Touch[];
}

type Union = { readonly type: string; readonly data: unknown };
type Folds<E extends Union> = {
  readonly [T in E['type']]?: (event: ProjectedEvent<Extract<E, { type: T }>>) => readonly Touch[];
};

/** Builds a projection from one fold per event type. */
export const projection = <E extends Union>({
  on,
  ...definition
}: {
  readonly name: string;
  readonly version: number;
  readonly collections: Projection['collections'];
  readonly on: Folds<E>;
}): Projection => {
  const folds = new Map<string, (event: ProjectedEvent) => readonly Touch[]>(Object.entries(on));
  return { ...definition, types: [...folds.keys()], fold: (event) => folds.get(event.type)?.(event) ?? [] };
};

/** A typed touch. `D` is the document type of the whole collection, so the cast is safe. */
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

export const iso = (ms: number): string => new Date(ms).toISOString();

export type Scalar = string | number | boolean | null;

/** A row that an earlier page has shown, and the digest of the text by which it was sorted. */
export type ShownRow = readonly [id: string, digest: string];

/**
 * The last row of a page: the document's id, and the values of the index fields that follow the fields of `equals`. In
 * a sorted search the only value is that of the sorted field.
 */
export interface PageEnd {
  readonly values: readonly Scalar[];
  readonly id: string;
  /** The rows shown last, latest first. Set when the value of a sorted search is only the beginning of a long text. */
  readonly shown?: readonly ShownRow[] | undefined;
}

/** Equality on an index's first fields, then an optional range on the next field. */
export interface PageQuery {
  readonly index: string;
  readonly equals?: readonly Scalar[] | undefined;
  readonly range?: { gt?: Scalar; gte?: Scalar; lt?: Scalar; lte?: Scalar } | undefined;
  readonly order?: 'asc' | 'desc' | undefined;
  /** Maximum number of rows. A page also ends after about 1 MiB of documents, with `next` set and at least one row. */
  readonly limit: number;
  readonly after?: PageEnd | undefined;
}

/** The place and length of a page. */
export type PageRequest = Pick<PageQuery, 'limit'> & { readonly after: PageEnd | undefined };

/** Selects a whole range of an index. */
export interface RangeQuery extends Omit<PageQuery, 'limit' | 'after'> {
  readonly collection: string;
}

export interface Page<D> {
  readonly docs: readonly D[];
  /** Set when more rows follow. */
  readonly next?: PageEnd | undefined;
  /** How a search found the rows, for developers. */
  readonly plan?: string | undefined;
}

/** Selects documents by filter within a range of a single-valued index. */
export interface DocumentSelection {
  readonly index: string;
  readonly equals?: readonly Scalar[] | undefined;
  /** Default: all documents of the range. */
  readonly filter?: Filter | undefined;
  /** ms; the value of `now()` in the filter. */
  readonly now: number;
  /** A search gives up after this time (ms). Default: 10 s with SQLite; 8 s, the most, with MongoDB. */
  readonly withinMs?: number | undefined;
}

export interface SearchQuery extends DocumentSelection {
  /** Sorts by this field, then by id; this may scan the whole range. Default: the index's order. */
  readonly sort?: SortField | undefined;
  /** Order of the index, when no `sort` is given. */
  readonly order?: 'asc' | 'desc' | undefined;
  readonly limit: number;
  readonly after?: PageEnd | undefined;
}

/** Reads documents of one read model, always of one tenant. */
export interface DocumentReader {
  get<D>(collection: string, tenantId: string, id: string): Promise<D | undefined>;
  find<D>(collection: string, tenantId: string, query: PageQuery): Promise<Page<D>>;
  /** The index values and ids of a page's rows, without reading documents. */
  entries(collection: string, tenantId: string, query: PageQuery): Promise<readonly PageEnd[]>;
  /**
   * All documents of each query, from one state of the store; MongoDB without transactions may show a part of a
   * commit. For small ranges.
   */
  findAll(tenantId: string, queries: readonly RangeQuery[]): Promise<readonly (readonly Document[])[]>;
  /** Searches a searchable collection. */
  search<D>(collection: string, tenantId: string, query: SearchQuery): Promise<Page<D>>;
  /** Like `search`, but returns document ids. */
  ids(collection: string, tenantId: string, query: SearchQuery): Promise<Page<string>>;
  count(collection: string, tenantId: string, selection: DocumentSelection): Promise<number>;
}

/** Documents per page of {@link every}. */
const PAGE = 200;

/** Yields all documents of a paged query, with one page in memory. May or may not see concurrent changes. */
export const every = async function* <D>(
  find: (page: PageRequest) => Promise<Page<D>>,
  limit = PAGE,
): AsyncIterable<D> {
  let after: PageEnd | undefined;
  do {
    const page = await find({ limit, after });
    yield* page.docs;
    after = page.next;
  } while (after !== undefined);
};
