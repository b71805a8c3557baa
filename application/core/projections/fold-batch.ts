import type { Document, Touch } from '../../../domain/core/projection.ts';
import type { Position } from '../../ports/event-store.ts';
import type { DocKey, DocWrite, JsonObject, StoredDoc } from '../../ports/read-store.ts';
import type { LoggedEvent } from '../events/event-codec.ts';
import type { BoundedCache } from '../memory/bounded-cache.ts';
import type { RecentValues } from '../memory/recent-values.ts';
import { WithDeps } from '../with-deps.ts';

/** A document in memory, and the position of the last event folded into it. */
export interface CachedDocument {
  readonly value: Document | undefined;
  readonly position: Position | undefined;
}

/** A document that events of the batch touch. */
interface BatchDocument {
  readonly key: string;
  readonly doc: DocKey;
  value: Document | undefined;
  position: Position | undefined;
  /** The document as stored. */
  stored: CachedDocument | undefined;
  isChanged: boolean;
  /** Whether to cache the document: it was cached before, or several recent events touch it. */
  isKept: boolean;
}

interface Step {
  readonly event: LoggedEvent;
  readonly index: number;
  readonly touches: readonly Touch[];
  readonly seen: readonly BatchDocument[];
}

/**
 * The documents that one batch of events changes, from planning to storing. Holds its own references to the documents,
 * so that evictions from the cache do not affect a running batch.
 */
export class FoldBatch extends WithDeps<{
  readonly cache: BoundedCache<CachedDocument>;
  /** Keys of documents that earlier batches read and did not cache. */
  readonly recent: RecentValues<true>;
}> {
  readonly #seen = new Map<string, BatchDocument>();
  readonly #missing: BatchDocument[] = [];
  readonly #steps: Step[] = [];

  /** @param index of the event in the batch, reported when it cannot be folded */
  plan(event: LoggedEvent, index: number, touches: readonly Touch[]): void {
    const seen = touches.map((touch) => this.#documentOf(touch, event));
    this.#steps.push({ event, index, touches, seen });
  }

  /** Reads all documents that are not cached, in one query. */
  async load(read: (keys: readonly DocKey[]) => Promise<(StoredDoc | undefined)[]>): Promise<void> {
    if (this.#missing.length === 0) return;
    const docs = await read(this.#missing.map(({ doc }) => doc));
    for (const [nth, seen] of this.#missing.entries()) {
      const found = docs[nth];
      if (found === undefined) continue;
      seen.value = found.value;
      seen.position = found.position;
      seen.stored = found;
      if (this.deps.recent.delete(seen.key)) seen.isKept = true;
      else this.deps.recent.set(seen.key, true);
    }
  }

  /** Folds the events in order up to the first that fails. A failed event changes no document. @returns the failure */
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
      // Folds build documents from event data and so from JSON values.
      const json = (value as JsonObject | undefined) ?? null;
      writes.push({ collection, tenant, id, value: json, position, replaces: storedDoc(stored) });
    }
    return writes;
  }

  /**
   * Caches documents that were cached before or that several recent events touch. Does not cache other documents, since
   * most messages and entries change only once.
   */
  keep(): void {
    for (const { isKept, key, value, position } of this.#seen.values()) {
      if (isKept) this.deps.cache.set(key, { value, position });
    }
    this.deps.cache.trim();
  }

  #documentOf(touch: Touch, event: LoggedEvent): BatchDocument {
    const tenant = touch.tenantId ?? event.tenantId;
    const key = `${touch.collection}/${tenant}/${touch.id}`;
    const known = this.#seen.get(key);
    if (known !== undefined) {
      known.isKept = true;
      return known;
    }
    const held = this.deps.cache.get(key);
    const seen: BatchDocument = {
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

const storedDoc = (held: CachedDocument | undefined): StoredDoc | undefined =>
  held?.value === undefined || held.position === undefined
    ? undefined
    : { value: held.value as JsonObject, position: held.position };

/** Folds one event into all its documents or none. */
const fold = ({ event, touches, seen }: Step): void => {
  const changed: { readonly document: BatchDocument; readonly before: Document | undefined }[] = [];
  try {
    for (const [nth, touch] of touches.entries()) {
      const document = seen[nth];
      // After a restart, the stored document may already contain the event.
      if (document === undefined || (document.position !== undefined && document.position >= event.position))
        continue;
      const before = document.value;
      const value = touch.change(before);
      // An unchanged document is not written.
      if (value === before && value !== undefined) continue;
      changed.push({ document, before });
      document.value = value;
    }
  } catch (error) {
    for (const { document, before } of changed.reverse()) document.value = before;
    throw error;
  }
  for (const { document } of changed) {
    document.position = event.position;
    document.isChanged = true;
  }
};
