import type {
  SearchQuery as DocumentSearch,
  DocumentSelection,
  Index,
  PageEnd,
  PageQuery,
  Projection,
} from '../../domain/core/projection.ts';
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

export type IndexSpec = Index;

export type CollectionSpec = Projection['collections'][number];

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

/** A document as checks read it, in a form that also represents a damaged document, so that checks can continue. */
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
   * The document as last read from or stored in this generation, if known. A store whose document has the same position
   * may then write only the difference.
   */
  readonly replaces?: StoredDoc | undefined;
}

export interface BatchWrite {
  readonly generation: GenerationId;
  /** The fencing token of the lease under which the batch was folded. */
  readonly fence: number;
  readonly writes: readonly DocWrite[];
  /** New checkpoint; undefined leaves it unchanged, for example in a retry of a parked tenant. */
  readonly checkpoint?: Position | undefined;
}

/** A new checkpoint without documents. */
export interface CheckpointWrite {
  readonly generation: GenerationId;
  readonly fence: number;
  readonly checkpoint: Position;
}

interface OfCollection {
  readonly collection: string;
  readonly tenant: string;
}

export interface FindQuery extends PageQuery, OfCollection {}

/** Place of a row in a list: the document id, and the index values after those of `equals`. */
export type Cursor = Pick<PageEnd, 'values' | 'id'>;

/** A page of entries of a single-valued index. */
export type EntriesQuery = FindQuery;

/** All entries of a range of an index. */
export type RangeQuery = Omit<FindQuery, 'limit' | 'after'>;

export interface FindResult {
  readonly docs: readonly { id: string; value: JsonObject }[];
  /** Present when more rows follow. */
  readonly next?: Cursor | undefined;
  /** How the rows were found, for developers; only in results of searches with `explain`. */
  readonly plan?: string | undefined;
}

export interface Selection extends DocumentSelection, OfCollection {}

export interface SearchQuery extends DocumentSearch, OfCollection {
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
  /** True when documents or indexes are stored in an older form: the generation is then rebuilt. */
  readonly isOutdated?: boolean | undefined;
}

/** How far a subscriber has handled the log. */
export interface SubscriberProgress {
  /** All events up to here are handled, except those of the tenants in `behind`. */
  readonly position: Position;
  /** For each tenant that lags, the position up to which its events are handled; `''` for the log's start. */
  readonly behind: ReadonlyMap<string, Position | ''>;
}

/** The generation that answers reads, and the one being built. */
export interface ActiveGeneration {
  readonly active: string | undefined;
  readonly building: string | undefined;
}

/** Progress of projections and subscribers, protected by the fences of their leases. */
export interface ReadProgress {
  /**
   * Stores each checkpoint like a {@link ReadStore.commit} without documents.
   * @returns in the order of `all`: `Fenced` for a refused checkpoint, otherwise undefined
   */
  saveCheckpoints(all: readonly CheckpointWrite[]): Promise<(Fenced | undefined)[]>;
  state(generation: GenerationId): Promise<GenerationState>;
  /** The states of several generations, in the order of `generations`. */
  states(generations: readonly GenerationId[]): Promise<GenerationState[]>;
  park(generation: GenerationId, fence: number, parked: ParkedTenant): Promise<void>;
  unpark(generation: GenerationId, fence: number, tenant: string): Promise<void>;
  activeGeneration(projection: string): Promise<ActiveGeneration>;
  /** The active generations of several projections, in the order of `projections`. */
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
 * Documents folded from events, with declared indexes and a checkpoint. All three belong to a generation of a
 * projection (`v1`, or `v1.2` for a rebuild), so that a new generation is built beside the active one. Every document
 * belongs to one tenant, and every read names the tenant, except {@link ReadStore.list}.
 */
export interface ReadStore extends ReadProgress, ReadLeases {
  /** Creates collections, indexes and state of a generation. Safe to repeat, also concurrently. */
  prepare(generation: GenerationId, collections: readonly CollectionSpec[]): Promise<void>;
  load(generation: GenerationId, keys: readonly DocKey[]): Promise<(StoredDoc | undefined)[]>;
  /**
   * Writes documents, then the checkpoint, in one transaction if the store has transactions. Otherwise a document is
   * replaced only if its `position` is older and its `fence` is not above the batch's, so that a repeated or fenced
   * batch changes nothing.
   * @throws {Fenced} when the fence is not the lease's, or the checkpoint would move back
   */
  commit(batch: BatchWrite): Promise<void>;
  get(generation: GenerationId, key: DocKey): Promise<StoredDoc | undefined>;
  find(generation: GenerationId, query: FindQuery): Promise<FindResult>;
  /**
   * Entries of an index in its order: the values after those of `equals`, and the document ids. Reads no documents.
   * @throws {TypeError} for an index with a `multi` field
   */
  entries(generation: GenerationId, query: EntriesQuery): Promise<readonly Cursor[]>;
  /**
   * All documents of each query, as they were at one moment between two commits; for small ranges. A store without
   * transactions reads again, a few times, when a commit ended meanwhile. It may still show a part of a commit.
   */
  findAll(
    generation: GenerationId,
    queries: readonly RangeQuery[],
  ): Promise<readonly (readonly JsonObject[])[]>;
  /**
   * A page of the documents that a filter selects; paging through unchanging data neither skips nor repeats a row. A
   * page ends after about 1 MiB, with at least one document. Long scans yield to other work. Only for `searchable`
   * collections.
   * @throws {SearchGivenUp} after `withinMs`, or at once when too many searches wait
   * @throws {InvalidCursor}
   */
  search(generation: GenerationId, query: SearchQuery): Promise<FindResult>;
  /** Like {@link ReadStore.search}, but returns only ids, so that a page may have as many rows as `limit` allows. */
  ids(
    generation: GenerationId,
    query: SearchQuery,
  ): Promise<{ ids: readonly string[]; next?: Cursor | undefined }>;
  count(generation: GenerationId, selection: Selection): Promise<number>;
  /**
   * Documents of all tenants that follow `after`, for checks, in an order that writes do not change. Empty for a
   * generation that does not exist.
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

/** The lease was lost, or another process moved the checkpoint: the follower restarts from the stored state. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/** Name of the lease under which a generation is folded. */
export const leaseNameOf = ({ projection, tag }: GenerationId): string => `projection:${projection}@${tag}`;

/** Name of the lease under which a subscriber runs. */
export const leaseNameOfSubscriber = (name: string): string => `subscriber:${name}`;
