import { DomainError } from '../../domain/core/errors.ts';
import { pause } from '../core/concurrency/pause.ts';
import type { EventBatch, LogFollower } from '../core/subscriptions/log-follower.ts';
import type { HeadStore, NotedHead } from '../ports/audit-heads.ts';
import type { EventStore, Position, StoredEvent } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';

/** Streams noted in memory before they are written: a transaction of a few milliseconds, which holds up the loop. */
const MAX_NOTED = 500;
/** What is noted is written so often at least. */
const FLUSH_MS = 10_000;
/** Live, the log is looked at so often: many events cost little together, and each alone a turn of the loop. */
const LINGER_MS = 200;
/**
 * … and by a store that takes heads over itself: a page of its file that many streams share is written once for all of
 * them, which is what most of the work is. Whoever waits for heads cuts this short.
 */
const REST_MS = 2000;
const BATCH = 2048;
/** How long a proof waits for the heads to reach the log. */
const PATIENCE_MS = 5000;
/** After a failure of the store's own way the heads are kept here for so long. */
const ALONE_MS = 300_000;

interface Waiting {
  readonly target: Position;
  readonly resolve: () => void;
  readonly reject: () => void;
}

export interface HeadKeeperDeps {
  readonly events: Pick<EventStore, 'head' | 'readStream' | 'wake'>;
  readonly follower: LogFollower;
  readonly heads: HeadStore;
  readonly logger: Logger;
}

/**
 * Follows the log and keeps where each stream ends, off the path of every command: what it costs is a look at each
 * event's metadata, in batches, and a row for each stream that has grown.
 */
export class HeadKeeper {
  readonly #deps: HeadKeeperDeps;
  #noted = new Map<string, NotedHead>();
  /** Up to where events were seen, and up to where their heads are stored. */
  #position: Position | undefined;
  #stored: Position | undefined;
  #flushed = 0;
  #flushing: Promise<void> = Promise.resolve();
  #hurry = new AbortController();
  /** Aborted when the heads have to be looked at anew. */
  #round = new AbortController();
  /** ms of the process; until then the heads are kept here, since the store's own way has failed. */
  #aloneUntil = 0;
  readonly #waiting = new Set<Waiting>();
  /** Nothing is kept any more, so that nobody has to wait for it. */
  #isOver = false;

  constructor(deps: HeadKeeperDeps) {
    this.#deps = deps;
  }

  /** Until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger, heads } = this.#deps;
    while (!signal.aborted) {
      this.#round = new AbortController();
      const round = AbortSignal.any([signal, this.#round.signal]);
      const advance = performance.now() < this.#aloneUntil ? undefined : heads.advance?.bind(heads);
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
        logger.warn({ err: error }, 'the heads of streams could not be kept; it is tried again');
        await pause(1000, signal);
      }
    }
    this.#isOver = true;
    for (const { reject } of this.#waiting) reject();
    await this.#flush().catch(() => undefined);
  }

  /**
   * Writes the heads up to the end of the log as it is now, and gives that end.
   * @throws {DomainError} `read_model_behind` when it takes too long, or the keeper has ended
   */
  async reachEnd(): Promise<void> {
    const target = await this.#deps.events.head();
    if (target === undefined) return;
    for (let isAgain = false; ; isAgain = true) {
      if ((this.#position ?? '') < target) await this.#reach(target);
      await this.#flush();
      if (((await this.#deps.heads.position()) ?? '') >= target) return;
      if (isAgain) throw behind();
      // Another process has begun anew.
      this.#position = undefined;
      this.#round.abort();
    }
  }

  #reach(target: Position): Promise<void> {
    if (this.#isOver) return Promise.reject(behind());
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(entry);
      };
      const entry: Waiting = {
        target,
        resolve: () => {
          leave();
          resolve();
        },
        reject: () => {
          leave();
          reject(behind());
        },
      };
      const timer = setTimeout(entry.reject, PATIENCE_MS);
      this.#waiting.add(entry);
      this.#hurry.abort();
      this.#deps.events.wake?.();
    });
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const alone = new AbortController();
    this.#flushed = performance.now();
    const handle = async (batch: EventBatch): Promise<void> => {
      this.#noteAll(batch.events);
      this.#reached(batch.position);
      const isDue = performance.now() - this.#flushed >= FLUSH_MS;
      if (this.#noted.size >= MAX_NOTED || (isDue && this.#noted.size > 0)) await this.#flush();
      if (this.#aloneUntil > 0 && performance.now() >= this.#aloneUntil) {
        this.#aloneUntil = 0;
        alone.abort();
        return this.#flush();
      }
      if (batch.caughtUp && this.#waiting.size === 0) await this.#linger(LINGER_MS, signal);
    };
    const ended = AbortSignal.any([signal, alone.signal]);
    await this.#deps.follower.run({ after: this.#position, batchSize: BATCH, signal: ended }, handle);
  }

  /** Has the store take over what the log has grown by, now and then. */
  async #advance(advance: () => Promise<Position | undefined>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const end = await this.#deps.events.head();
      const before = this.#position;
      const isBehind = end !== undefined && (before ?? '') < end;
      // Also where nothing is new: somebody may have begun to wait before it was known how far the heads go.
      const position = isBehind ? await this.#advanced(advance) : before;
      if (signal.aborted) return;
      if (isBehind) this.#stored = position;
      if (position !== undefined) this.#reached(position);
      // More of the same, which a thread was asked for; otherwise never without letting others have their turn.
      if (isBehind && position !== before && (position ?? '') < end) continue;
      if (this.#waiting.size === 0) await this.#linger(REST_MS, signal);
      else await pause(1, signal);
    }
  }

  async #advanced(advance: () => Promise<Position | undefined>): Promise<Position | undefined> {
    try {
      return await advance();
    } catch (error) {
      this.#aloneUntil = performance.now() + ALONE_MS;
      throw error;
    }
  }

  #reached(position: Position): void {
    this.#position = position;
    for (const { target, resolve } of this.#waiting) if (position >= target) resolve();
  }

  /** A log that was put back to an earlier state, or exchanged, has other heads. */
  async #checkLog(): Promise<void> {
    const { events, heads, logger } = this.#deps;
    const last = await heads.lastNoted();
    if (last === undefined) return;
    const [event] = await events.readStream(last.stream, { from: last.revision, limit: 1 });
    if (event?.revision === last.revision && hashOf(event) === last.hash) return;
    logger.warn({}, 'the heads of streams are of another log, and are made again');
    await heads.reset(last);
  }

  /** Of each stream the last event of a batch counts, so that is looked for from the end. */
  #noteAll(events: readonly StoredEvent[]): void {
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

  /** One at a time; heads and position belong together, so both are taken in one step. */
  #flush(): Promise<void> {
    const mine = this.#flushing.then(async () => {
      const [noted, position, stored] = [this.#noted, this.#position, this.#stored];
      this.#flushed = performance.now();
      if (position === undefined || position === stored) return;
      this.#noted = new Map();
      this.#stored = position;
      try {
        if (!(await this.#deps.heads.merge(noted, stored, position))) this.#round.abort();
      } catch (error) {
        for (const [stream, head] of this.#noted) noted.set(stream, head);
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
  new DomainError('read_model_behind', 'The heads of the log are not ready yet; try again.');

const MEMBER = '"hash":"';
const HASH_LENGTH = 64;

/** By position in the text: metadata is canonical JSON, in which a quote within a text is escaped. */
const hashOf = ({ metadata }: StoredEvent): string => {
  const at = metadata.indexOf(MEMBER) + MEMBER.length;
  return metadata.slice(at, at + HASH_LENGTH);
};
