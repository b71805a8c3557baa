import {
  type AppendResult,
  type EventStore,
  type StreamAppend,
  WrongExpectedRevision,
} from '../../ports/event-store.ts';
import type { WrappedKey } from '../../ports/key-store.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { KeyRing } from '../privacy/key-ring.ts';
import { afterPromises, monotonic, nextTick, setImmediate } from '../runtime/timers.ts';
import { WithDeps } from '../with-deps.ts';

/** A round that has this many commands is decided at once. */
const FULL = 256;
/** The longest a round waits for further commands (ms). */
const MAX_WAIT_MS = 2;
/** A round waits a minimum time for further commands if the last round had at least this many commands. */
const BUSY = 8;
/** Limits of one tick: the most decisions that start in it, and the time (ms) after which no further one starts. */
const SLICE = 32;
const SLICE_MS = 5;

interface Entry extends StreamAppend {
  readonly keys: readonly WrappedKey[];
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches concurrent commands so that they share one key write and one fsync (decision 8). A round collects commands,
 * decides them, writes their new data keys in one transaction, and appends their events in another.
 */
export class GroupCommit extends WithDeps<{
  readonly events: EventStore;
  readonly keys: KeyRing;
  readonly metrics: Pick<Metrics, 'eventsAppended'>;
}> {
  #ready: (() => void)[] = [];
  #arrived = 0;
  #lastCommands = 0;
  #lastMs = 0;
  #entries: Entry[] = [];
  /** Calls of {@link decideAll} that have not started all their decisions. */
  #deciding = 0;
  #isFlushScheduled = false;

  /** Counts arriving commands; a round stays open while the count grows. */
  arrived(commands: number): void {
    this.#arrived += commands;
  }

  /** Calls `decide` in the next round. `decide` must not throw; it passes its events to {@link append}. */
  schedule(decide: () => void): void {
    this.#ready.push(decide);
    if (this.#ready.length === 1) this.#collect();
  }

  /**
   * Starts decisions, a limited number in each tick. Their appends share one group commit, unless an overlapping call
   * ends first.
   * @returns a promise that resolves when all decisions have started
   */
  async decideAll(decisions: readonly (() => void)[]): Promise<void> {
    this.#deciding += 1;
    let [since, decided] = [monotonic(), 0];
    for (const decide of decisions) {
      if (decided === SLICE || monotonic() - since > SLICE_MS) {
        await nextTick();
        [since, decided] = [monotonic(), 0];
      }
      decided += 1;
      decide();
    }
    this.#deciding -= 1;
    // Flushes even while other calls decide, since overlapping calls could delay the flush for ever.
    if (this.#entries.length > 0) this.#scheduleFlush();
  }

  /**
   * Appends to one stream, after the new keys are on disk.
   * @throws {WrongExpectedRevision} also when another node stored a key of the same id first: the events must be sealed
   * again with that key
   * @throws errors of the key store and the event store
   */
  append(append: StreamAppend, keys: readonly WrappedKey[]): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ ...append, keys, resolve, reject });
      if (this.#deciding === 0) this.#scheduleFlush();
    });
  }

  /**
   * Waits for further commands. A single command waits until the end of its tick. Under load a round stays open as long
   * as the last commit took, at most `MAX_WAIT_MS`, so that callers answered by that commit can send further commands.
   */
  #collect(): void {
    const since = monotonic();
    const minMs = this.#lastCommands >= BUSY ? Math.min(this.#lastMs, MAX_WAIT_MS) : 0;
    let seen = this.#arrived;
    const look = (): void => {
      const waited = monotonic() - since;
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
    // Flushes in the same tick, since under load the next tick starts only after milliseconds.
    afterPromises(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    this.#isFlushScheduled = false;
    const entries = this.#entries;
    this.#entries = [];
    const began = monotonic();
    const ready = await this.#persistKeys(entries);
    let appended = 0;
    await Promise.all(
      ready.map(({ stream, expected, events, resolve, reject }) =>
        this.deps.events.append(stream, expected, events).then((result) => {
          appended += events.length;
          resolve(result);
        }, reject),
      ),
    );
    this.#lastMs = monotonic() - began;
    if (appended > 0) this.deps.metrics.eventsAppended(appended, this.#lastMs / 1000);
  }

  /** Returns the entries whose keys are on disk; rejects the others. */
  async #persistKeys(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const keys = new Set(entries.flatMap((entry) => entry.keys));
    if (keys.size === 0) return entries;
    try {
      const lost = new Set(await this.deps.keys.persist([...keys]));
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
