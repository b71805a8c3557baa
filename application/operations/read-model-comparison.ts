import { canonicalJson, isSameJson } from '../../domain/core/canonical-json.ts';
import type { Projection } from '../../domain/core/projection.ts';
import type { EventCodec } from '../core/events/event-codec.ts';
import { Generation, type GenerationDeps } from '../core/projections/generation.ts';
import { monotonic, pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type EventStore, latest, type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { DocKey, GenerationId, ReadStore, StoredDoc } from '../ports/read-store.ts';

/**
 * A document, tenant or checkpoint of a read model that does not agree with the log. Contains no content of documents.
 */
export interface Difference {
  readonly kind: /** Missing, although the log yields it. */
    | 'missing'
    /** Stored, although the log does not yield it. */
    | 'surplus'
    /** Differs from what the log yields, or comes from other events. */
    | 'changed'
    /** The stored value is not a document. */
    | 'unreadable'
    /** The document is correct, but its index entries are wrong. */
    | 'not_indexed'
    /** A poison event parked the tenant in this read model. */
    | 'parked'
    /** The checkpoint is not a position of the log. */
    | 'wrong_checkpoint';
  readonly projection: string;
  readonly collection?: string;
  readonly tenant?: string;
  readonly id?: string;
}

export interface Compared {
  readonly projection: string;
  /** Undefined when the active generation is not of the code's version, or has no valid checkpoint. */
  readonly position: Position | undefined;
  readonly documents: number;
  readonly differences: readonly Difference[];
}

interface ComparisonDeps extends Omit<GenerationDeps, 'store'> {
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly live: ReadStore;
  /** Empty store for the generation folded for comparison. */
  readonly scratch: ReadStore;
}

const PAGE = 200;
const EVENTS = 500;
/** Differing documents are compared again as soon as there are this many. */
const AT_ONCE = 500;
const MAX_DIFFERENCES = 1000;
const ROUND_MS = 100;
/** How long (ms) to wait for a stalled read model. */
const QUIET_MS = 3000;
/** Documents that still differ after this time are reported. */
const WAIT_MS = 60_000;

/**
 * Folds a read model again from the log and compares the result with the active generation, document by document. The
 * active generation may progress meanwhile: differing documents are compared again at one position of both generations.
 * Holds only a few pages in memory.
 * @throws {Replaced} when another generation became active meanwhile
 */
export const compareReadModel = async (projection: Projection, deps: ComparisonDeps): Promise<Compared> => {
  const { active } = await deps.live.activeGeneration(projection.name);
  const isOurs =
    active === `v${projection.version}` || active?.startsWith(`v${projection.version}.`) === true;
  if (active === undefined || !isOurs) {
    return { projection: projection.name, position: undefined, documents: 0, differences: [] };
  }
  const generation = { projection: projection.name, tag: active };
  const compared = await new Comparison({ ...deps, projection, generation }).run();
  const now = await deps.live.activeGeneration(projection.name);
  if (now.active !== active) throw new Replaced(`${projection.name}: another generation replaced this one`);
  return compared;
};

export class Replaced extends Error {
  override readonly name = 'Replaced';
}

class Comparison extends WithDeps<
  ComparisonDeps & { readonly projection: Projection; readonly generation: GenerationId }
> {
  readonly #projection = this.deps.projection;
  readonly #generation = this.deps.generation;
  readonly #rebuilt = new Generation(this.#projection, this.#generation, {
    ...this.deps,
    store: this.deps.scratch,
  });
  readonly #found: Difference[] = [];
  #parkedTenants: ReadonlySet<string> = new Set();
  #documents = 0;

  async run(): Promise<Compared> {
    const { live, scratch, events } = this.deps;
    const { checkpoint } = await live.state(this.#generation);
    const isPlace = checkpoint === undefined || events.parsePosition(checkpoint) !== undefined;
    const end = await events.end();
    if (!isPlace || (checkpoint ?? '') > (end ?? '')) this.#add({ kind: 'wrong_checkpoint' });
    if (!isPlace) return this.#result();
    await scratch.prepare(this.#generation, this.#projection.collections);
    const lease = await scratch.acquireLease(this.#rebuilt.leaseName, 'comparison', 7 * 24 * 3_600_000);
    if (lease === undefined) throw new Error('the scratch store is in use');
    await this.#rebuilt.begin(lease);
    if (checkpoint !== undefined) await this.#foldTo(checkpoint);
    await this.#noteParked();
    for (const { name } of this.#projection.collections) {
      await this.#compare(name, live);
      await this.#compare(name, scratch);
    }
    return this.#result();
  }

  #result(): Compared {
    return {
      projection: this.#projection.name,
      position: this.#rebuilt.checkpoint,
      documents: this.#documents,
      differences: this.#found,
    };
  }

  #add(difference: Omit<Difference, 'projection'>): void {
    this.#found.push({ ...difference, projection: this.#projection.name });
  }

  /** Documents of a tenant that is parked in either generation cannot be compared. */
  async #noteParked(): Promise<void> {
    const { parked } = await this.deps.live.state(this.#generation);
    this.#parkedTenants = new Set([...parked.map(({ tenant }) => tenant), ...this.#rebuilt.parkedTenants]);
    for (const tenant of this.#parkedTenants) this.#add({ kind: 'parked', tenant });
  }

  /** Folds up to `target`, which the active generation has reached, and never beyond. */
  async #foldTo(target: Position): Promise<void> {
    const { events } = this.deps;
    for (;;) {
      const { checkpoint } = this.#rebuilt;
      if (checkpoint !== undefined && checkpoint >= target) return;
      const filter = { types: this.#projection.types };
      const page = await events.readAll({ from: checkpoint, filter, limit: EVENTS });
      const wanted = page.filter(({ position }) => position <= target);
      const last = wanted.length === EVENTS ? wanted.at(-1)?.position : undefined;
      await this.#rebuilt.apply(wanted, last ?? target);
    }
  }

  /** Compares the documents of one store with the documents of the other store. */
  async #compare(collection: string, side: ReadStore): Promise<void> {
    const { live } = this.deps;
    let suspects: DocKey[] = [];
    for (let after: { tenant: string; id: string } | undefined; ; ) {
      const page = await side.list(this.#generation, collection, after, PAGE);
      const wanted = page.filter(({ tenant }) => !this.#parkedTenants.has(tenant));
      const keys = wanted.map(({ tenant, id }) => ({ collection, tenant, id }));
      const others = await (side === live ? this.#rebuiltDocs(keys) : this.#live(keys));
      for (const [at, { doc, isIndexed, ...key }] of wanted.entries()) {
        const other = others[at];
        const place = { collection, tenant: key.tenant, id: key.id };
        if (side === live) {
          this.#documents += 1;
          if (doc === undefined) this.#add({ kind: 'unreadable', ...place });
          else if (!isSame(doc, other)) suspects.push(place);
          else if (!isIndexed) this.#add({ kind: 'not_indexed', ...place });
        } else if (other === undefined) suspects.push(place);
      }
      const isLast = page.length < PAGE;
      if (isLast || suspects.length >= AT_ONCE) {
        await this.#settle(suspects);
        suspects = [];
      }
      if (isLast || this.#found.length >= MAX_DIFFERENCES) return;
      after = page.at(-1);
    }
  }

  /** Compares again at one position until each document agrees or certainly differs, at most for `WAIT_MS`. */
  async #settle(keys: readonly DocKey[]): Promise<void> {
    const { live } = this.deps;
    let left = keys;
    let before: string | undefined;
    let quietSince = monotonic();
    const deadline = quietSince + WAIT_MS;
    while (left.length > 0) {
      const from = (await live.state(this.#generation)).checkpoint;
      const found = await this.#live(left);
      const until = (await live.state(this.#generation)).checkpoint;
      // A missing document may have been deleted at any position up to `until`; other documents state their position.
      const places = found.map((doc) =>
        doc === undefined ? until : doc === 'damaged' ? undefined : doc.position,
      );
      const target = places.reduce(latest, this.#rebuilt.checkpoint);
      if (target !== undefined) await this.#foldTo(target);
      const made = await this.#rebuiltDocs(left);
      const stood = canonicalJson([from, found.map(placeOf)]);
      if (stood !== before) quietSince = monotonic();
      before = stood;
      const isQuiet = monotonic() - quietSince >= QUIET_MS || monotonic() > deadline;
      left = left.filter((key, at) => {
        const [present, wanted] = [found[at], made[at]];
        if (present === 'damaged' || isSame(present, wanted)) return false;
        if (!isQuiet && !isCertain(present, wanted, from, this.#rebuilt.checkpoint)) return true;
        const kind = present === undefined ? 'missing' : wanted === undefined ? 'surplus' : 'changed';
        this.#add({ kind, ...key });
        return false;
      });
      if (left.length > 0) await pause(ROUND_MS);
    }
  }

  async #rebuiltDocs(keys: readonly DocKey[]): Promise<(StoredDoc | undefined)[]> {
    return keys.length === 0 ? [] : this.deps.scratch.load(this.#generation, keys);
  }

  async #live(keys: readonly DocKey[]): Promise<(StoredDoc | 'damaged' | undefined)[]> {
    const { live } = this.deps;
    if (keys.length === 0) return [];
    try {
      return await live.load(this.#generation, keys);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
    }
    // One of the stored values is not a document: loads them one by one to find it.
    const found: (StoredDoc | 'damaged' | undefined)[] = [];
    for (const key of keys) {
      try {
        found.push((await live.load(this.#generation, [key]))[0]);
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        found.push('damaged');
      }
    }
    return found;
  }
}

const isSame = (a: StoredDoc | undefined, b: StoredDoc | 'damaged' | undefined): boolean =>
  a === undefined || b === undefined || b === 'damaged'
    ? a === b
    : a.position === b.position && isSameJson(a.value, b.value);

/**
 * Whether the difference is certain, and not due to the progress of the active generation.
 * @param from checkpoint of the active generation before `present` was read
 * @param folded checkpoint up to which `wanted` was folded
 */
const isCertain = (
  present: StoredDoc | undefined,
  wanted: StoredDoc | undefined,
  from: Position | undefined,
  folded: Position | undefined,
): boolean => {
  if (present !== undefined && present.position === wanted?.position) return true;
  if (from === undefined) return false;
  // `wanted` was folded up to a later checkpoint of the active generation, and has not changed since `from`.
  if (present === undefined) return wanted !== undefined && wanted.position <= from;
  return folded !== undefined && from >= folded;
};

const placeOf = (doc: StoredDoc | 'damaged' | undefined): string | null =>
  doc === undefined ? null : doc === 'damaged' ? doc : doc.position;
