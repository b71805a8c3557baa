import { DomainError } from '../../domain/core/errors.ts';
import { clearTimeout, monotonic, pause, setTimeout } from '../core/runtime/timers.ts';
import type { EventBatch, LogFollower } from '../core/subscriptions/log-follower.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { HeadStore, NotedRevision } from '../ports/audit-heads.ts';
import type { EventStore, Position, StoredEvent } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';

/** A flush is due at this many collected streams, so that its transaction takes only a few milliseconds. */
const MAX_NOTED = 500;
/** Longest time (ms) between flushes while there are new events. */
const FLUSH_MS = 10_000;
/** Pause (ms) between batches at the end of the log; a waiting caller of `reachEnd` ends the pause. */
const LINGER_MS = 200;
/** Pause (ms) between rounds if the store reads the log itself; long, since each round rewrites database pages. */
const REST_MS = 2000;
const BATCH = 2048;
/** How long (ms) `reachEnd` waits until the hashes reach the end of the log. */
const WAIT_MS = 5000;
/** How long (ms) this class follows the log after the store failed to read it. */
const SELF_FOLLOW_MS = 300_000;

interface Waiting {
  readonly target: Position;
  readonly resolve: () => void;
  readonly reject: () => void;
}

/** Follows the log and stores the last revision and hash of each stream: in batches, so that commands do not wait. */
export class HeadKeeper extends WithDeps<{
  readonly events: Pick<EventStore, 'end' | 'readStream' | 'wake'>;
  readonly follower: LogFollower;
  readonly heads: HeadStore;
  readonly logger: Logger;
}> {
  #noted = new Map<string, NotedRevision>();
  /** The position up to which events were read. */
  #position: Position | undefined;
  /** The position up to which hashes are stored. */
  #stored: Position | undefined;
  #flushed = 0;
  #flushing: Promise<void> = Promise.resolve();
  #hurry = new AbortController();
  /** Aborted when the keeper must restart from the stored position. */
  #round = new AbortController();
  /** Time (ms of the process) until which this class follows the log itself, since the store's `advance` failed. */
  #selfFollowUntil = 0;
  readonly #waiting = new Set<Waiting>();
  /** Set when the keeper has ended; callers of `reachEnd` that would wait then fail at once. */
  #isOver = false;

  async run(signal: AbortSignal): Promise<void> {
    const { logger, heads } = this.deps;
    while (!signal.aborted) {
      this.#round = new AbortController();
      const round = AbortSignal.any([signal, this.#round.signal]);
      const advance = monotonic() < this.#selfFollowUntil ? undefined : heads.advance?.bind(heads);
      this.#noted = new Map();
      this.#position = undefined;
      try {
        await this.#checkLog();
        this.#stored = await heads.position();
        this.#position = this.#stored;
        if (advance === undefined) await this.#follow(round);
        else await this.#advance(advance, round);
      } catch (error) {
        if (signal.aborted) break;
        logger.warn({ err: error }, 'the heads of streams could not be stored; retrying');
        await pause(1000, signal);
      }
    }
    this.#isOver = true;
    for (const { reject } of this.#waiting) reject();
    await this.#flush().catch(() => undefined);
  }

  /**
   * Stores the hashes up to the present end of the log.
   * @throws {DomainError} `read_model_behind` when the wait takes too long or the keeper has ended
   */
  async reachEnd(): Promise<void> {
    const target = await this.deps.events.end();
    if (target === undefined) return;
    for (let isAgain = false; ; isAgain = true) {
      if ((this.#position ?? '') < target) await this.#reach(target);
      await this.#flush();
      if (((await this.deps.heads.position()) ?? '') >= target) return;
      if (isAgain) throw behind();
      // Another process has reset the store.
      this.#position = undefined;
      this.#round.abort();
    }
  }

  async #reach(target: Position): Promise<void> {
    if (this.#isOver) throw behind();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry = { target, resolve, reject: () => reject(behind()) };
    const timer = setTimeout(entry.reject, WAIT_MS);
    this.#waiting.add(entry);
    this.#hurry.abort();
    this.deps.events.wake?.();
    await promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(entry);
    });
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const alone = new AbortController();
    this.#flushed = monotonic();
    const handle = async (batch: EventBatch): Promise<void> => {
      this.#noteLastRevisions(batch.events);
      this.#reached(batch.position);
      const isDue = monotonic() - this.#flushed >= FLUSH_MS;
      if (this.#noted.size >= MAX_NOTED || (isDue && this.#noted.size > 0)) await this.#flush();
      if (this.#selfFollowUntil > 0 && monotonic() >= this.#selfFollowUntil) {
        this.#selfFollowUntil = 0;
        alone.abort();
        return this.#flush();
      }
      if (batch.caughtUp && this.#waiting.size === 0) await this.#linger(LINGER_MS, signal);
    };
    const ended = AbortSignal.any([signal, alone.signal]);
    await this.deps.follower.run({ after: this.#position, batchSize: BATCH, signal: ended }, handle);
  }

  /** Lets the store read new events from the log by itself, in rounds. */
  async #advance(advance: () => Promise<Position | undefined>, signal: AbortSignal): Promise<void> {
    // Pauses first, so that a short-lived server does not start the store's thread.
    if (this.#waiting.size === 0) await this.#linger(REST_MS, signal);
    while (!signal.aborted) {
      const end = await this.deps.events.end();
      const before = this.#position;
      const isBehind = end !== undefined && (before ?? '') < end;
      // Reports the position even without new events, for callers that began to wait before the position was known.
      const position = isBehind ? await this.#advanced(advance) : before;
      if (signal.aborted) return;
      if (isBehind) this.#stored = position;
      if (position !== undefined) this.#reached(position);
      // Continues at once while the store makes progress, otherwise pauses.
      if (isBehind && position !== before && (position ?? '') < end) continue;
      if (this.#waiting.size === 0) await this.#linger(REST_MS, signal);
      else await pause(1, signal);
    }
  }

  async #advanced(advance: () => Promise<Position | undefined>): Promise<Position | undefined> {
    try {
      return await advance();
    } catch (error) {
      this.#selfFollowUntil = monotonic() + SELF_FOLLOW_MS;
      throw error;
    }
  }

  #reached(position: Position): void {
    this.#position = position;
    for (const entry of this.#waiting) {
      if (position < entry.target) continue;
      this.#waiting.delete(entry);
      entry.resolve();
    }
  }

  /** Resets the store when its hashes belong to another log, or to a later state of a log restored from a backup. */
  async #checkLog(): Promise<void> {
    const { events, heads, logger } = this.deps;
    const last = await heads.lastNoted();
    if (last === undefined) return;
    const [event] = await events.readStream(last.stream, { from: last.revision, limit: 1 });
    if (event?.revision === last.revision && hashOf(event) === last.hash) return;
    logger.warn({}, 'the stored heads of streams belong to another log; they are rebuilt');
    await heads.reset(last);
  }

  /** Collects the last event of each stream in the batch, going backward. */
  #noteLastRevisions(events: readonly StoredEvent[]): void {
    const seen = new Set<string>();
    for (let at = events.length - 1; at >= 0; at -= 1) {
      const event = events[at];
      if (event === undefined || seen.has(event.stream)) continue;
      const { stream, revision, position } = event;
      seen.add(stream);
      this.#noted.set(stream, { revision, hash: hashOf(event), position });
    }
  }

  async #linger(ms: number, signal: AbortSignal): Promise<void> {
    this.#hurry = new AbortController();
    await pause(ms, AbortSignal.any([signal, this.#hurry.signal]));
  }

  /** Runs one flush at a time; hashes and position are stored together. */
  #flush(): Promise<void> {
    const mine = this.#flushing.then(async () => {
      const [noted, position, stored] = [this.#noted, this.#position, this.#stored];
      this.#flushed = monotonic();
      if (position === undefined || position === stored) return;
      this.#noted = new Map();
      this.#stored = position;
      try {
        if (!(await this.deps.heads.merge(noted, stored, position))) this.#round.abort();
      } catch (error) {
        for (const [stream, revision] of this.#noted) noted.set(stream, revision);
        this.#noted = noted;
        this.#stored = stored;
        throw error;
      }
    });
    this.#flushing = mine.catch(() => undefined);
    return mine;
  }
}

const behind = (): DomainError =>
  new DomainError('read_model_behind', 'The heads of the log are not ready yet. Try again.');

const MEMBER = '"hash":"';
const HASH_LENGTH = 64;

/** Finds the hash by text search. The text is unique, since in canonical JSON a quote within a string is escaped. */
const hashOf = ({ metadata }: StoredEvent): string => {
  const at = metadata.indexOf(MEMBER) + MEMBER.length;
  return metadata.slice(at, at + HASH_LENGTH);
};
