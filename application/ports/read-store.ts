import type { Filter, SortField } from '../../domain/expressions/filter-tree.ts';
import { type Position, StoreUnavailable } from './event-store.ts';

/**
 * The read store port: documents folded from events, with declared indexes and a checkpoint per projection.
 *
 * Documents live in a *generation* of a projection (`v1`, or `v1.2` for a rebuild of it), so that a new one is
 * built beside the one that answers. Every document belongs to one tenant and every read names the tenant.
 */

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/**
 * An index over dotted paths of the document. A path that meets an array (`participants.user_id`) gives one entry
 * per distinct element (none for an empty array); at most one path of an index may, and the index names it as
 * `multi`. Values are strings, numbers, booleans or null (absent or an object = null);
 * order: null < booleans < numbers < strings (by UTF-8 bytes). A tie is ordered by document id.
 */
export interface IndexSpec {
  readonly name: string;
  readonly fields: readonly string[];
  /** The one of `fields` that meets an array. A commit throws TypeError where an undeclared one does. */
  readonly multi?: string | undefined;
  /**
   * One of `fields`: documents that have no value there are none of the index's, and are not found by it. Not together
   * with `multi`.
   */
  readonly present?: string | undefined;
}

export interface CollectionSpec {
  readonly name: string;
  readonly indexes: readonly IndexSpec[];
  /**
   * True where documents are searched by filters. Such a document holds `keys`, an object of order keys by field
   * (domain/expressions/order-key.ts), and `state` (text or null), `created_at` and `updated_at` as the API shows them.
   */
  readonly searchable?: boolean | undefined;
}

/** Where a projection's documents live: the projection's name and the generation's tag. */
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
  /** The last event folded into the document. */
  readonly position: Position;
}

/** A document as a check sees it, which must not stop at a damaged one. */
export interface ListedDoc {
  readonly tenant: string;
  readonly id: string;
  /** Undefined where what is stored is no document. */
  readonly doc: StoredDoc | undefined;
  /** False when what the store keeps beside the document to find it by is not what the document says. */
  readonly isIndexed: boolean;
}

/** `value: null` deletes the document. */
export interface DocWrite extends DocKey {
  readonly value: JsonObject | null;
  readonly position: Position;
  /**
   * The document as it was read from this generation, or stored there, where the writer has it: a store may then change
   * what differs, so long as it holds a document of that very position. It never changes what is stored.
   */
  readonly replaces?: StoredDoc | undefined;
}

export interface BatchWrite {
  readonly generation: GenerationId;
  /** The fencing token of the lease under which the batch was folded. */
  readonly fence: number;
  readonly writes: readonly DocWrite[];
  /** New checkpoint; undefined leaves it (retry of a parked tenant). */
  readonly checkpoint?: Position | undefined;
}

export type Scalar = string | number | boolean | null;

/** Keyset query over one index: equality on leading fields, then an optional range on the next one. */
export interface FindQuery {
  readonly collection: string;
  readonly tenant: string;
  readonly index: string;
  /** Values for the index's first fields, in order. */
  readonly equals?: readonly Scalar[] | undefined;
  /** Bounds on the field after those of `equals`. */
  readonly range?: { gt?: Scalar; gte?: Scalar; lt?: Scalar; lte?: Scalar } | undefined;
  readonly order?: 'asc' | 'desc' | undefined;
  readonly limit: number;
  /** Ends a page after about 2 MiB of documents; `next` then tells that more follow. Default: by `limit` alone. */
  readonly bounded?: boolean | undefined;
  /** Cursor of an earlier page (exclusive). */
  readonly after?: Cursor | undefined;
}

/** The index values after `equals`, and the document id, of the last row of a page. */
export interface Cursor {
  readonly values: readonly Scalar[];
  readonly id: string;
}

/** The first entries of a range of a single-valued index. */
export type EntriesQuery = Omit<FindQuery, 'bounded'>;

/** All that a range of an index holds. */
export type RangeQuery = Omit<FindQuery, 'limit' | 'bounded' | 'after'>;

export interface FindResult {
  readonly docs: readonly { id: string; value: JsonObject }[];
  /** Present when more rows follow. */
  readonly next?: Cursor | undefined;
}

/** Documents of one range of a single-valued index that a filter selects; no filter selects all of them. */
export interface Selection {
  readonly collection: string;
  readonly tenant: string;
  readonly index: string;
  /** Values for the index's first fields, in order: what bounds the scan. */
  readonly equals?: readonly Scalar[] | undefined;
  readonly filter?: Filter | undefined;
  /** ms; what `now()` of the filter is. */
  readonly now: number;
}

export interface SearchQuery extends Selection {
  /** By this field, then by id, instead of the index's order. Costs a scan of the whole range. */
  readonly sort?: SortField | undefined;
  /** Of the index, where no `sort` is given. */
  readonly order?: 'asc' | 'desc' | undefined;
  readonly limit: number;
  /** Cursor of an earlier page of the same query (exclusive). Of a sorted one, its only value is the field's. */
  readonly after?: Cursor | undefined;
}

/** A tenant that a poison event stopped in one projection. */
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
}

/** Which generation answers reads, and which is being built. */
export interface ActiveGeneration {
  readonly active: string | undefined;
  readonly building: string | undefined;
}

export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Fencing token: grows with every change of hands and never restarts. */
  readonly fence: number;
}

export interface ReadStore {
  /** Creates collections, indexes and state of a generation; safe to repeat, also from several processes. */
  prepare(generation: GenerationId, collections: readonly CollectionSpec[]): Promise<void>;
  load(generation: GenerationId, keys: readonly DocKey[]): Promise<(StoredDoc | undefined)[]>;
  /**
   * Writes documents, then the checkpoint (in one transaction where the store has them). Where it has none, a
   * document is written only over an older `position` and a `fence` not above its own, so a repeated or a fenced
   * batch changes nothing.
   * @throws {Fenced} when the fence is no longer the lease's, or the checkpoint would go backwards
   */
  commit(batch: BatchWrite): Promise<void>;
  state(generation: GenerationId): Promise<GenerationState>;
  park(generation: GenerationId, fence: number, parked: ParkedTenant): Promise<void>;
  unpark(generation: GenerationId, fence: number, tenant: string): Promise<void>;
  get(generation: GenerationId, key: DocKey): Promise<StoredDoc | undefined>;
  find(generation: GenerationId, query: FindQuery): Promise<FindResult>;
  /**
   * What an index itself says, in its order: the values after those of `equals`, and ids. No document is read for it.
   * @throws {TypeError} for an index with a `multi` field
   */
  entries(generation: GenerationId, query: EntriesQuery): Promise<readonly Cursor[]>;
  /**
   * All documents of each query, in one go: for ranges that are known to be small. They are of one moment between two
   * commits; where the store has no transactions, it reads again while commits come in between, a few times.
   */
  findAll(
    generation: GenerationId,
    queries: readonly RangeQuery[],
  ): Promise<readonly (readonly JsonObject[])[]>;
  /**
   * A page of what a filter selects; a static set is paged through without a row skipped or repeated. A page ends
   * after about 2 MiB of documents (one at least), whatever its limit. Long scans leave the process free for others.
   * Only of `searchable` collections.
   * @throws {SearchGivenUp} after 10 s, or at once when too many searches wait
   * @throws {InvalidCursor}
   */
  search(generation: GenerationId, query: SearchQuery): Promise<FindResult>;
  /** As {@link ReadStore.search}, ids alone: a page has as many as its limit says. */
  ids(
    generation: GenerationId,
    query: SearchQuery,
  ): Promise<{ ids: readonly string[]; next?: Cursor | undefined }>;
  count(generation: GenerationId, selection: Selection): Promise<number>;
  /**
   * Documents of all tenants, for checks and not for requests: in one order that writes do not change, those behind
   * `after`. None where the generation is not there.
   */
  list(
    generation: GenerationId,
    collection: string,
    after: Pick<DocKey, 'tenant' | 'id'> | undefined,
    limit: number,
  ): Promise<readonly ListedDoc[]>;
  activeGeneration(projection: string): Promise<ActiveGeneration>;
  setActiveGeneration(projection: string, state: ActiveGeneration): Promise<void>;
  drop(generation: GenerationId): Promise<void>;
  /** Takes or renews a lease for `ttlMs` on the store's own clock; undefined while another owner holds it. */
  acquireLease(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** Ends the lease if it is still this one; its fence is remembered. */
  releaseLease(lease: Lease): Promise<void>;
  /** Checkpoint of a subscriber that writes no documents; conditional on the lease's fence. */
  subscriberCheckpoint(name: string): Promise<Position | undefined>;
  /** @throws {Fenced} */
  saveSubscriberCheckpoint(name: string, fence: number, position: Position): Promise<void>;
  /** How far each subscriber has come, by its name. */
  subscriberCheckpoints(): Promise<ReadonlyMap<string, Position>>;
  /** A round trip to the store. @throws {StoreUnavailable} */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** A cursor that is not one of this index: it came from outside. The API answers 400. */
export class InvalidCursor extends TypeError {
  override readonly name = 'InvalidCursor';
}

/** A search cost too much, or too many wait: nothing is wrong with the store. The API answers 503 `unavailable`. */
export class SearchGivenUp extends StoreUnavailable {}

/** The lease was lost, or somebody else has moved the checkpoint: stop, and start from the stored state. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/** The lease under which a generation of a projection is folded. */
export function leaseNameOf(generation: GenerationId): string {
  return `projection:${generation.projection}@${generation.tag}`;
}

/** The lease under which a subscriber runs. */
export function leaseNameOfSubscriber(name: string): string {
  return `subscriber:${name}`;
}
