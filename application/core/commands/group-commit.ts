import {
  type AppendResult,
  type EventStore,
  type StreamAppend,
  WrongExpectedRevision,
} from '../../ports/event-store.ts';
import type { WrappedKey } from '../../ports/key-store.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { KeyRing } from '../privacy/key-ring.ts';

/** A round takes no more commands than this before it is decided. */
const FULL = 256;
/** A round never waits longer than this for further commands (ms). */
const MAX_WAIT_MS = 2;
/** After a round of so many commands there are many callers, and waiting for them pays. */
const BUSY = 8;
/** Streams decided in one tick of the event loop: a few milliseconds of work. */
const SLICE = 32;

interface Entry extends StreamAppend {
  readonly keys: readonly WrappedKey[];
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches concurrent commands so that they share one key write and one fsync (decision 8). A round collects commands,
 * decides them, writes their new data keys in one transaction, and appends their events in another.
 */
export class GroupCommit {
  readonly #events: EventStore;
  readonly #keys: KeyRing;
  readonly #metrics: Metrics;
  #ready: (() => void)[] = [];
  #arrived = 0;
  #lastCommands = 0;
  #lastMs = 0;
  #entries: Entry[] = [];
  /** Callers of {@link decideAll} that have not begun all decisions yet. */
  #deciding = 0;
  #isFlushScheduled = false;

  constructor(deps: { readonly events: EventStore; readonly keys: KeyRing; readonly metrics: Metrics }) {
    this.#events = deps.events;
    this.#keys = deps.keys;
    this.#metrics = deps.metrics;
  }

  /** Counts commands as they arrive: a round stays open while more of them come. */
  arrived(commands: number): void {
    this.#arrived += commands;
  }

  /** Calls `decide` in the next round. It must not throw; what it decides goes to {@link append}. */
  schedule(decide: () => void): void {
    this.#ready.push(decide);
    if (this.#ready.length === 1) this.#collect();
  }

  /**
   * Runs decisions in slices, so that other work gets its tick in between; their appends still go to disk together.
   * @returns resolves when all have begun
   */
  async decideAll(decisions: readonly (() => void)[]): Promise<void> {
    this.#deciding += 1;
    for (const [at, decide] of decisions.entries()) {
      if (at > 0 && at % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
      decide();
    }
    this.#deciding -= 1;
    // Also while others decide: nobody waits for those who overlap without end.
    if (this.#entries.length > 0) this.#scheduleFlush();
  }

  /**
   * Appends to one stream, once the new keys are on disk.
   * @throws {WrongExpectedRevision} also when another node stored a key of the same id first: the events must be
   * sealed again with that key
   * @throws as the key store and the event store do
   */
  append(append: StreamAppend, keys: readonly WrappedKey[]): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ ...append, keys, resolve, reject });
      if (this.#deciding === 0) this.#scheduleFlush();
    });
  }

  /**
   * Waits for further commands. A lone one waits until the end of its tick. Under load a round stays open about as long
   * as a commit takes, since callers that were just answered come back in that time.
   */
  #collect(): void {
    const since = performance.now();
    const minMs = this.#lastCommands >= BUSY ? Math.min(this.#lastMs, MAX_WAIT_MS) : 0;
    let seen = this.#arrived;
    const look = (): void => {
      const waited = performance.now() - since;
      const isGrowing = this.#arrived > seen && waited < MAX_WAIT_MS;
      seen = this.#arrived;
      if (seen < FULL && (isGrowing || waited < minMs)) setImmediate(look);
      else this.#decideReady();
    };
    setImmediate(look);
  }

  #decideReady(): void {
    const ready = this.#ready;
    this.#ready = [];
    this.#lastCommands = this.#arrived;
    this.#arrived = 0;
    void this.decideAll(ready);
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    this.#isFlushScheduled = false;
    const entries = this.#entries;
    this.#entries = [];
    const began = performance.now();
    const ready = await this.#persistKeys(entries);
    let appended = 0;
    await Promise.all(
      ready.map(({ stream, expected, events, resolve, reject }) =>
        this.#events.append(stream, expected, events).then((result) => {
          appended += events.length;
          resolve(result);
        }, reject),
      ),
    );
    this.#lastMs = performance.now() - began;
    if (appended > 0) this.#metrics.eventsAppended(appended, this.#lastMs / 1000);
  }

  /** Returns the entries whose keys are all on disk; the others are rejected. */
  async #persistKeys(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const keys = new Set(entries.flatMap((entry) => entry.keys));
    if (keys.size === 0) return entries;
    try {
      const lost = new Set(await this.#keys.persist([...keys]));
      return entries.filter(({ keys: own, stream, expected, reject }) => {
        const isLost = own.some((key) => lost.has(key.id));
        if (isLost) reject(new WrongExpectedRevision(stream, expected, undefined));
        return !isLost;
      });
    } catch (error) {
      return entries.filter((entry) => {
        if (entry.keys.length > 0) entry.reject(error);
        return entry.keys.length === 0;
      });
    }
  }
}
