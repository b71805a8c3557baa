import type { Filter, SortField } from '../../domain/expressions/filter-tree.ts';
import type { Position } from './event-store.ts';
import type { ReadLeases } from './read-leases.ts';

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/**
 * An index over dotted paths of the document. A path through an array (`participants.user_id`) gives one entry per
 * distinct element (none for an empty array); at most one path, named as `multi`, may do so. Values are strings,
 * numbers, booleans or null (absent or an object = null); order: null < booleans < numbers < strings (by UTF-8 bytes),
 * ties by document id.
 */
export interface IndexSpec {
  readonly name: string;
  readonly fields: readonly string[];
  /** The one of `fields` that passes through an array. A commit throws TypeError when another one does. */
  readonly multi?: string | undefined;
  /** One of `fields`: documents without a value there are left out of the index. Not together with `multi`. */
  readonly present?: string | undefined;
}

export interface CollectionSpec {
  readonly name: string;
  readonly indexes: readonly IndexSpec[];
  /**
   * Whether documents are searched by filters. They then have `keys`, an object of order keys by field
   * (domain/expressions/order-key.ts), and `state` (text or null), `created_at` and `updated_at` as in the API.
   */
  readonly searchable?: boolean | undefined;
  /**
   * Path of a text that divides a searchable collection: searches within one of its values use an index over all
   * fields. Documents without the text are in no such search.
   */
  readonly scopedBy?: string | undefined;
}

/** A generation of a projection: the projection's name and the generation's tag. */
export interface GenerationId {
  readonly projection: string;
  readonly tag: string;
}

export interface DocKey {
  readonly collection: string;
  readonly tenant: string;
  readonly id: string;
}

export interface StoredDoc {
  readonly value: JsonObject;
  /** Position of the last event folded into the document. */
  readonly position: Position;
}

/** A document as checks read it, which must not stop at a damaged one. */
export interface ListedDoc {
  readonly tenant: string;
  readonly id: string;
  /** Undefined when the stored value is not a document. */
  readonly doc: StoredDoc | undefined;
  /** False when the stored index entries do not match the document. */
  readonly isIndexed: boolean;
}

/** `value: null` deletes the document. */
export interface DocWrite extends DocKey {
  readonly value: JsonObject | null;
  readonly position: Position;
  /**
   * The document as last read from or stored in this generation, if known. A store may then write only the difference,
   * provided that it holds a document of that position.
   */
  readonly replaces?: StoredDoc | undefined;
}

export interface BatchWrite {
  readonly generation: GenerationId;
  /** The fencing token of the lease under which the batch was folded. */
  readonly fence: number;
  readonly writes: readonly DocWrite[];
  /** New checkpoint; undefined leaves it unchanged (retry of a parked tenant). */
  readonly checkpoint?: Position | undefined;
}

/** A checkpoint that moves without documents. */
export interface CheckpointWrite {
  readonly generation: GenerationId;
  readonly fence: number;
  readonly checkpoint: Position;
}

export type Scalar = string | number | boolean | null;

/** Keyset query over one index: equality on leading fields, then an optional range on the next one. */
export interface FindQuery {
  readonly collection: string;
  readonly tenant: string;
  readonly index: string;
  /** Values of the index's first fields, in order. */
  readonly equals?: readonly Scalar[] | undefined;
  /** Bounds on the field after those of `equals`. */
  readonly range?: { gt?: Scalar; gte?: Scalar; lt?: Scalar; lte?: Scalar } | undefined;
  readonly order?: 'asc' | 'desc' | undefined;
  /** A page also ends after about 1 MiB of documents (one at least); `next` is then set. */
  readonly limit: number;
  /** Cursor of an earlier page (exclusive). */
  readonly after?: Cursor | undefined;
}

/** The index values after `equals`, and the document id, of the last row of a page. */
export interface Cursor {
  readonly values: readonly Scalar[];
  readonly id: string;
}

/** The first entries of a range of a single-valued index. */
export type EntriesQuery = FindQuery;

/** All entries of a range of an index. */
export type RangeQuery = Omit<FindQuery, 'limit' | 'after'>;

export interface FindResult {
  readonly docs: readonly { id: string; value: JsonObject }[];
  /** Present when more rows follow. */
  readonly next?: Cursor | undefined;
  /** How the rows were found, for developers; searches with `explain` only. */
  readonly plan?: string | undefined;
}

/** Documents of one range of a single-valued index that a filter selects; no filter selects all. */
export interface Selection {
  readonly collection: string;
  readonly tenant: string;
  readonly index: string;
  /** Values of the index's first fields, in order; they bound the scan. */
  readonly equals?: readonly Scalar[] | undefined;
  readonly filter?: Filter | undefined;
  /** `now()` of the filter (ms). */
  readonly now: number;
  /** Gives up after this time (ms) instead of 10 s. */
  readonly withinMs?: number | undefined;
}

export interface SearchQuery extends Selection {
  /** Sorts by this field, then by id, instead of the index's order; scans the whole range. */
  readonly sort?: SortField | undefined;
  /** Order of the index, when no `sort` is given. */
  readonly order?: 'asc' | 'desc' | undefined;
  readonly limit: number;
  /** Cursor of an earlier page of the same query (exclusive). With `sort` its only value is the field's. */
  readonly after?: Cursor | undefined;
  /** Whether to tell how the rows were found. */
  readonly explain?: boolean | undefined;
}

/** A tenant that a poison event has parked in one projection. */
export interface ParkedTenant {
  readonly tenant: string;
  readonly position: Position;
  readonly event_id: string;
  readonly error: string;
  readonly since: string;
  readonly attempts: number;
}

export interface GenerationState {
  readonly checkpoint: Position | undefined;
  readonly parked: readonly ParkedTenant[];
  /** True where the store would keep its documents in another form today: it is then rebuilt. */
  readonly isOutdated?: boolean | undefined;
}

/** How far a subscriber came. */
export interface SubscriberProgress {
  /** All events up to here are handled, except those of tenants that are behind. */
  readonly position: Position;
  /** Tenants that are behind, and up to where their events are handled; `''` for the start of the log. */
  readonly behind: ReadonlyMap<string, Position | ''>;
}

/** The generation that answers reads, and the one being built. */
export interface ActiveGeneration {
  readonly active: string | undefined;
  readonly building: string | undefined;
}

/** Progress of projections and subscribers, protected by the fences of their leases. */
export interface ReadProgress {
  /** Stores each checkpoint as a {@link ReadStore.commit} without documents does: `Fenced` in the place of one that is refused. */
  saveCheckpoints(all: readonly CheckpointWrite[]): Promise<(Fenced | undefined)[]>;
  state(generation: GenerationId): Promise<GenerationState>;
  /** The state of each generation, in their order. */
  states(generations: readonly GenerationId[]): Promise<GenerationState[]>;
  park(generation: GenerationId, fence: number, parked: ParkedTenant): Promise<void>;
  unpark(generation: GenerationId, fence: number, tenant: string): Promise<void>;
  activeGeneration(projection: string): Promise<ActiveGeneration>;
  /** Those of several projections, in their order. */
  activeGenerations(projections: readonly string[]): Promise<ActiveGeneration[]>;
  setActiveGeneration(projection: string, state: ActiveGeneration): Promise<void>;
  /** Progress of a subscriber, which writes no documents. */
  subscriberProgress(name: string): Promise<SubscriberProgress | undefined>;
  /** @throws {Fenced} also when the position would move back */
  saveSubscriberProgress(name: string, fence: number, progress: SubscriberProgress): Promise<void>;
  /** Positions of all subscribers, by name. */
  subscriberCheckpoints(): Promise<ReadonlyMap<string, Position>>;
}

/**
 * Documents folded from events, with declared indexes and a checkpoint per projection. They live in a generation of a
 * projection (`v1`, or `v1.2` for a rebuild), so that a new one is built beside the active one. Every document belongs
 * to one tenant, and every read names the tenant.
 */
export interface ReadStore extends ReadProgress, ReadLeases {
  /** Creates collections, indexes and state of a generation. Safe to repeat, also concurrently. */
  prepare(generation: GenerationId, collections: readonly CollectionSpec[]): Promise<void>;
  load(generation: GenerationId, keys: readonly DocKey[]): Promise<(StoredDoc | undefined)[]>;
  /**
   * Writes documents, then the checkpoint, in one transaction where the store has them. Without transactions, a
   * document is written only over an older `position` and a `fence` not above its own, so that a repeated or fenced
   * batch changes nothing.
   * @throws {Fenced} when the fence is not the lease's, or the checkpoint would move back
   */
  commit(batch: BatchWrite): Promise<void>;
  get(generation: GenerationId, key: DocKey): Promise<StoredDoc | undefined>;
  find(generation: GenerationId, query: FindQuery): Promise<FindResult>;
  /**
   * Entries of an index in its order: the values after those of `equals`, and ids. Reads no documents.
   * @throws {TypeError} for an index with a `multi` field
   */
  entries(generation: GenerationId, query: EntriesQuery): Promise<readonly Cursor[]>;
  /**
   * All documents of each query, for small ranges, of one moment between two commits. A store without transactions
   * retries a few times while commits interfere.
   */
  findAll(
    generation: GenerationId,
    queries: readonly RangeQuery[],
  ): Promise<readonly (readonly JsonObject[])[]>;
  /**
   * A page of the documents that a filter selects; paging through unchanging data neither skips nor repeats a row. A
   * page ends after about 1 MiB of documents (one at least). Long scans yield to other work. Only for `searchable`
   * collections.
   * @throws {SearchGivenUp} after 10 s, or at once when too many searches wait
   * @throws {InvalidCursor}
   */
  search(generation: GenerationId, query: SearchQuery): Promise<FindResult>;
  /** As {@link ReadStore.search}, only ids: a page has as many as `limit` allows. */
  ids(
    generation: GenerationId,
    query: SearchQuery,
  ): Promise<{ ids: readonly string[]; next?: Cursor | undefined }>;
  count(generation: GenerationId, selection: Selection): Promise<number>;
  /**
   * Documents of all tenants after `after`, for checks, in an order that writes do not change. Empty for a generation
   * that does not exist.
   */
  list(
    generation: GenerationId,
    collection: string,
    after: Pick<DocKey, 'tenant' | 'id'> | undefined,
    limit: number,
  ): Promise<readonly ListedDoc[]>;
  /** Tags of all stored generations of a projection. */
  generations(projection: string): Promise<readonly string[]>;
  drop(generation: GenerationId): Promise<void>;
  /** A round trip to the store. @throws {StoreUnavailable} */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The lease was lost, or another process moved the checkpoint: stop and restart from the stored state. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/** Name of the lease under which a generation is folded. */
export const leaseNameOf = ({ projection, tag }: GenerationId): string => `projection:${projection}@${tag}`;

/** Name of the lease under which a subscriber runs. */
export const leaseNameOfSubscriber = (name: string): string => `subscriber:${name}`;
