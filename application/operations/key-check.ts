import type { EventDefinition } from '../../domain/core/event.ts';
import { ERASING, type Erasures } from '../core/privacy/erasures.ts';
import { type KeyRing, sealedKeyId } from '../core/privacy/key-ring.ts';
import { monotonic, pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type StoredEvent, StoreUnavailable } from '../ports/event-store.ts';
import type { Finding } from './log-check.ts';

/** How long to wait (ms) for erasures at the end of the log, which are applied asynchronously. */
const WAIT_MS = 5000;
const ROUND_MS = 200;
/** Ids of keys that only an erasure in the log destroys: keys of texts, persons and webhooks. */
const BY_FACTS = /^[^/]+\/(message|person|webhook)-/;

/**
 * Checks that the key of each sealed text exists and the key of each erased text does not. Collects erasures that are
 * not applied yet, and missing keys that no erasure explains yet.
 */
export class KeyCheck extends WithDeps<{
  readonly catalogue: readonly EventDefinition[];
  readonly keys: KeyRing;
  readonly erasures: Erasures;
}> {
  /** Names of personal fields by event type. */
  readonly #personal: ReadonlyMap<string, readonly string[]> = new Map(
    this.deps.catalogue
      .map(({ type, personal }) => [type, Object.keys(personal)] as const)
      .filter(([, fields]) => fields.length > 0),
  );
  readonly #erasing = new Set(ERASING);
  readonly #erased = new Set<string>();
  readonly #left: StoredEvent[] = [];
  /** Ids of missing keys, each with the name of the first event that needs the key. */
  readonly #gone = new Map<string, string>();
  readonly #damaged = new Set<string>();

  /** Checks the next events in log order, a few hundred in one call. @throws {StoreUnavailable} */
  async take(events: readonly StoredEvent[]): Promise<Finding[]> {
    const findings: Finding[] = [];
    const wanted = new Map<string, string>();
    for (const event of events) {
      const name = `${event.stream}@${event.revision}`;
      for (const id of this.#keysIn(event)) if (!wanted.has(id)) wanted.set(id, name);
    }
    // Loads all keys together; if that fails, the loads below find the keys that cannot be read.
    await this.deps.keys.load([...wanted.keys()]).catch(ignoreUnlessUnavailable);
    for (const [id, name] of wanted) {
      if (this.#damaged.has(id)) continue;
      try {
        await this.deps.keys.load([id]);
        if (this.deps.keys.has(id) && !this.deps.keys.isDestroyed(id)) continue;
        const isLost = !this.deps.keys.has(id) || BY_FACTS.test(id);
        if (isLost && !this.#gone.has(id)) this.#gone.set(id, name);
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        this.#damaged.add(id);
        const message = `The key of ${name} was changed, or was wrapped with another MASTER_KEY.`;
        findings.push({ kind: 'unreadable_key', what: id, message });
      }
    }
    for (const event of events) {
      if (!this.#erasing.has(event.type) || !(await this.noteErased(event))) continue;
      if ((await this.#notApplied(event)).length > 0) this.#left.push(event);
    }
    return findings;
  }

  /** Whether any key is missing without an erasure that explains it. */
  get hasUnexplainedMisses(): boolean {
    for (const id of this.#gone.keys()) if (!this.#erased.has(id)) return true;
    return false;
  }

  /**
   * Records an erasure as the reason for missing keys, without checking that it was applied.
   * @returns false when the event cannot be decoded, which the log check reports
   */
  async noteErased(event: StoredEvent): Promise<boolean> {
    try {
      for (const id of await this.deps.erasures.erasedBy(event)) this.#erased.add(id);
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return false;
    }
  }

  /** Findings about missing keys and erasures that are not applied; call it after the last event. */
  async end(): Promise<Finding[]> {
    const findings: Finding[] = [];
    for (const id of this.#erased) this.#gone.delete(id);
    for (const [id, name] of this.#gone) {
      const message = `The key of ${name} is not in the key store, although no event erased it.`;
      findings.push({ kind: 'missing_key', what: id, message });
    }
    const deadline = monotonic() + WAIT_MS;
    let left = this.#left;
    for (;;) {
      const still: StoredEvent[] = [];
      for (const event of left) if ((await this.#notApplied(event)).length > 0) still.push(event);
      left = still;
      if (left.length === 0 || monotonic() > deadline) break;
      await pause(ROUND_MS);
    }
    for (const event of left) {
      const what = `${event.stream}@${event.revision}`;
      findings.push({ kind: 'key_not_erased', what, message: 'It erases a text whose key still exists.' });
    }
    return findings;
  }

  async #notApplied(event: StoredEvent): Promise<readonly string[]> {
    try {
      return await this.deps.erasures.notApplied(event);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      // Damaged keys are reported with their texts.
      return [];
    }
  }

  #keysIn({ type, data }: StoredEvent): string[] {
    const fields = this.#personal.get(type);
    if (fields === undefined) return [];
    try {
      const values: unknown = JSON.parse(data);
      if (typeof values !== 'object' || values === null) return [];
      return Object.entries(values)
        .filter(([name, text]) => fields.includes(name) && isSealed(text))
        .map(([, text]) => sealedKeyId(text));
    } catch {
      return [];
    }
  }
}

const isSealed = (text: unknown): boolean =>
  typeof text === 'string' && text.startsWith('v1:') && text.lastIndexOf(':') > 3;

const ignoreUnlessUnavailable = (error: unknown): void => {
  if (error instanceof StoreUnavailable) throw error;
};
