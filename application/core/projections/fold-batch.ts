import type { Document, Touch } from '../../../domain/core/projection.ts';
import type { Position } from '../../ports/event-store.ts';
import type { DocKey, DocWrite, JsonObject, StoredDoc } from '../../ports/read-store.ts';
import type { LoggedEvent } from '../events/event-codec.ts';
import type { BoundedCache } from '../memory/bounded-cache.ts';
import { RecentValues } from '../memory/recent-values.ts';

/** A document in memory, and the last event it has seen. */
export interface Held {
  readonly value: Document | undefined;
  readonly position: Position | undefined;
}

/** A document as the batch at hand sees it. */
interface Seen {
  readonly key: string;
  readonly doc: DocKey;
  value: Document | undefined;
  position: Position | undefined;
  /** What the store holds. */
  stored: Held | undefined;
  isChanged: boolean;
  /** Worth to be kept: it is in memory already, or several events of late have touched it. */
  isKept: boolean;
}

interface Step {
  readonly event: LoggedEvent;
  readonly index: number;
  readonly touches: readonly Touch[];
  readonly seen: readonly Seen[];
}

/**
 * The documents that one batch of events touches, from planning to storing. It holds what it needs itself: a cache that
 * lets entries go, for others' sake too, never takes one from a batch under way.
 */
export class FoldBatch {
  readonly #cache: BoundedCache<Held>;
  readonly #recent: RecentKeys;
  readonly #seen = new Map<string, Seen>();
  readonly #missing: Seen[] = [];
  readonly #steps: Step[] = [];

  /** @param recent what batches before this one have read */
  constructor(cache: BoundedCache<Held>, recent: RecentKeys) {
    this.#cache = cache;
    this.#recent = recent;
  }

  /** @param index of the event in the batch, told when it cannot be folded */
  plan(event: LoggedEvent, index: number, touches: readonly Touch[]): void {
    const seen = touches.map((touch) => this.#seeing(touch, event));
    this.#steps.push({ event, index, touches, seen });
  }

  /** Reads what is not in memory, all of it in one go. */
  async load(read: (keys: readonly DocKey[]) => Promise<(StoredDoc | undefined)[]>): Promise<void> {
    if (this.#missing.length === 0) return;
    const docs = await read(this.#missing.map(({ doc }) => doc));
    for (const [nth, seen] of this.#missing.entries()) {
      const found = docs[nth];
      if (found === undefined) continue;
      seen.value = found.value;
      seen.position = found.position;
      seen.stored = found;
      if (this.#recent.note(seen.key)) seen.isKept = true;
    }
  }

  /** Folds in order, up to the first event that fails; of that one nothing is left. */
  run(): { readonly index: number; readonly error: unknown } | undefined {
    for (const step of this.#steps) {
      try {
        fold(step);
      } catch (error) {
        return { index: step.index, error };
      }
    }
    return undefined;
  }

  writes(): DocWrite[] {
    const writes: DocWrite[] = [];
    for (const { isChanged, doc, value, position, stored } of this.#seen.values()) {
      if (!isChanged || position === undefined) continue;
      const { collection, tenant, id } = doc;
      // The documents are JSON by construction: folds build them from event data, strings and numbers.
      const json = (value as JsonObject | undefined) ?? null;
      writes.push({ collection, tenant, id, value: json, position, replaces: storedDoc(stored) });
    }
    return writes;
  }

  /**
   * Puts into memory what was stored, but for what was made or read here and not touched again: most messages and entries
   * never are, rows of a large edit are once, and one that is touched after all costs a read, or two.
   */
  keep(): void {
    for (const { isKept, key, value, position } of this.#seen.values()) {
      if (isKept) this.#cache.set(key, { value, position });
    }
    this.#cache.trim();
  }

  #seeing(touch: Touch, event: LoggedEvent): Seen {
    const tenant = touch.tenantId ?? event.tenantId;
    const key = `${touch.collection}/${tenant}/${touch.id}`;
    const known = this.#seen.get(key);
    if (known !== undefined) {
      known.isKept = true;
      return known;
    }
    const held = this.#cache.get(key);
    const seen: Seen = {
      key,
      doc: { collection: touch.collection, tenant, id: touch.id },
      value: held?.value,
      position: held?.position,
      stored: held,
      isChanged: false,
      isKept: held !== undefined,
    };
    this.#seen.set(key, seen);
    if (held === undefined) this.#missing.push(seen);
    return seen;
  }
}

const storedDoc = (held: Held | undefined): StoredDoc | undefined =>
  held?.value === undefined || held.position === undefined
    ? undefined
    : { value: held.value as JsonObject, position: held.position };

/** How many keys are remembered, and as many again of those before. */
const RECENT = 2048;

/** Documents that were read of late and not kept. */
export class RecentKeys {
  readonly #noted = new RecentValues<true>(RECENT);

  /** @returns whether it was noted before, not long ago */
  note(key: string): boolean {
    if (this.#noted.delete(key)) return true;
    this.#noted.set(key, true);
    return false;
  }
}

/** One event, whole or not at all. */
const fold = ({ event, touches, seen }: Step): void => {
  const changed: { readonly one: Seen; readonly before: Document | undefined }[] = [];
  try {
    for (const [nth, touch] of touches.entries()) {
      const one = seen[nth];
      // A document remembers the last event it has seen: an event that comes again changes nothing.
      if (one === undefined || (one.position !== undefined && one.position >= event.position)) continue;
      const before = one.value;
      const value = touch.change(before);
      // What comes out as it was need not be written: it would come out the same again.
      if (value === before && value !== undefined) continue;
      changed.push({ one, before });
      one.value = value;
    }
  } catch (error) {
    for (const { one, before } of changed.reverse()) one.value = before;
    throw error;
  }
  for (const { one } of changed) {
    one.position = event.position;
    one.isChanged = true;
  }
};
