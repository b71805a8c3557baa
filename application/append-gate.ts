import {
  type AppendResult,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
  WrongExpectedRevision,
} from './ports/event-store.ts';
import type { WrappedKey } from './ports/key-store.ts';
import type { KeyRing } from './sealing.ts';

interface Entry {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
  readonly keys: WrappedKey[];
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Where the appends of all streams come together: first their new data keys go to disk, in one transaction, then
 * their events, in another. A key is durable before any event that is sealed with it.
 */
export class AppendGate {
  readonly #events: EventStore;
  readonly #keys: KeyRing;
  readonly #committed: (appends: number, ms: number) => void;
  #waiting: Entry[] = [];
  /** How many are about to bring further appends. */
  #holding = 0;
  #scheduled = false;

  /** @param committed told of each time that appends went to disk together: how many, and how long it took */
  constructor(events: EventStore, keys: KeyRing, committed: (appends: number, ms: number) => void) {
    this.#events = events;
    this.#keys = keys;
    this.#committed = committed;
  }

  /**
   * @param keys emptied as soon as they are on disk, whatever becomes of the append
   * @throws {WrongExpectedRevision} also when another node has made one of the keys meanwhile: everything must be
   * sealed again, with the one that is kept
   * @throws as the key store and the event store do
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    keys: WrappedKey[],
  ): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ stream, expected, events, keys, resolve, reject });
      if (this.#holding === 0) this.#schedule();
    });
  }

  /**
   * Lets appends wait for those that are about to come, so that all go to disk together.
   * @returns to be called, once, when they have come: whatever waits then goes, also where others still hold
   */
  hold(): () => void {
    this.#holding += 1;
    return () => {
      this.#holding -= 1;
      this.#schedule();
    };
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    this.#scheduled = false;
    const entries = this.#waiting;
    this.#waiting = [];
    const began = performance.now();
    const ready = await this.#persistKeys(entries);
    await Promise.all(
      ready.map(({ stream, expected, events, resolve, reject }) =>
        this.#events.append(stream, expected, events).then(resolve, reject),
      ),
    );
    this.#committed(entries.length, performance.now() - began);
  }

  /** Answers the entries whose keys are all on disk; the others are rejected. */
  async #persistKeys(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const keys = entries.flatMap((entry) => entry.keys);
    if (keys.length === 0) return entries;
    let lost: ReadonlySet<string>;
    try {
      lost = new Set(await this.#keys.persist(keys));
    } catch (error) {
      const [keyed, others] = parted(entries, (entry) => entry.keys.length > 0);
      for (const { reject } of keyed) reject(error);
      return others;
    }
    const [beaten, ready] = parted(entries, (entry) => entry.keys.some((key) => lost.has(key.id)));
    for (const { keys: kept } of entries) kept.length = 0;
    for (const { stream, expected, reject } of beaten) {
      reject(new WrongExpectedRevision(stream, expected, undefined));
    }
    return ready;
  }
}

const parted = <T>(items: readonly T[], test: (item: T) => boolean): readonly [T[], T[]] => {
  const yes: T[] = [];
  const no: T[] = [];
  for (const item of items) (test(item) ? yes : no).push(item);
  return [yes, no];
};
