import { FairLimiter } from '../../application/core/concurrency/fair-limiter.ts';
import { Interrupted, RetryPolicy } from '../../application/core/concurrency/retry-policy.ts';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import type { EventCodec } from '../../application/core/events/event-codec.ts';
import { tenantPrefix } from '../../application/core/events/stream-name.ts';
import { setImmediate } from '../../application/core/runtime/timers.ts';
import { WithDeps } from '../../application/core/with-deps.ts';
import { ENVELOPE_TYPES, type Envelopes } from '../../application/messaging/envelopes.ts';
import { type EventStore, latest, type Position } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Metrics } from '../../application/ports/metrics.ts';
import { TokenBuckets } from '../http/rate-limits.ts';
import { STUCK_MS } from './live-queues.ts';
import { CLOSE, type Peer, UNREAD_MS } from './peer.ts';

interface ReplaysDeps {
  readonly envelopes: Envelopes;
  readonly events: EventStore;
  readonly codec: EventCodec;
  /** Position of the live feed. */
  readonly position: () => Position | undefined;
  readonly onPosition: (tenantId: string, position: Position) => void;
  readonly metrics: Pick<Metrics, 'envelopesSent'>;
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
}

const MAX_REPLAYED = 1000;
/** A replay that would scan more events than this is answered with a resync. */
const MAX_SCANNED = 50_000;
const PAGE = 50;
/** Pages that all replays of a person, or of a tenant, may scan in a minute; beyond this limit a resync is sent. */
const PAGES_PER_MINUTE = { ofUser: 1000, ofTenant: 4000 };
/** Maximum of concurrent replays of a user, of a tenant and in total; further ones wait, without pages in memory. */
const OF_USER = { total: Number.POSITIVE_INFINITY, perTenant: 8, reserved: 8 };
const OF_TENANT = { total: 128, perTenant: 32, reserved: 2 };

/** An event to be sent; its text is opened only when it is sent. */
interface MissedEvent {
  readonly stream: string;
  readonly revision: number;
}

interface Replay {
  readonly peer: Peer;
  readonly retries: RetryPolicy;
  /** The store or reader that the replay waits for, and since when; undefined when it does not wait. */
  waits: { readonly for: 'store' | 'reader'; readonly since: number } | undefined;
  failure: unknown;
}

/**
 * Sends missed envelopes. A replay keeps in memory stream and revision of each missed event, and one frame at a time.
 * Only a few replays read at a time, so that few pages are in memory.
 */
export class Replays extends WithDeps<ReplaysDeps> {
  readonly #running = new Set<Replay>();
  readonly #ofUser = new FairLimiter(OF_USER);
  readonly #ofTenant = new FairLimiter(OF_TENANT);
  readonly #pagesOfUser = new TokenBuckets(PAGES_PER_MINUTE.ofUser, PAGES_PER_MINUTE.ofUser);
  readonly #pagesOfTenant = new TokenBuckets(PAGES_PER_MINUTE.ofTenant, PAGES_PER_MINUTE.ofTenant);
  readonly #reads = new FairLimiter({ total: 4, perTenant: 2, reserved: 0 });

  /** Sends a peer its missed envelopes or a resync, then makes the peer live. Replays beyond the limits wait. */
  async run(peer: Peer): Promise<void> {
    const ofUser = await this.#ofUser.take(`${peer.tenantId}/${peer.userId}`, '');
    const ofTenant = await this.#ofTenant.take(peer.tenantId, peer.userId);
    try {
      if (peer.isOpen) await this.#run(peer);
    } finally {
      ofTenant();
      ofUser();
    }
  }

  async #run(peer: Peer): Promise<void> {
    const clock = { now: this.deps.monotonic };
    const retries = new RetryPolicy({ clock, limitMs: Number.POSITIVE_INFINITY }, peer.gone);
    const replay: Replay = { peer, retries, waits: undefined, failure: undefined };
    this.#running.add(replay);
    try {
      if (await this.#sendOwed(replay)) return;
      this.#resync(peer);
      peer.goLive();
    } catch (error) {
      if (error instanceof Interrupted) return;
      this.deps.logger.error({ err: error }, 'a replay failed');
      this.#resync(peer);
      peer.goLive();
    } finally {
      this.#running.delete(replay);
    }
  }

  /** Closes the peers whose replay has waited too long. Call it periodically. */
  check(): void {
    const now = this.deps.monotonic();
    for (const { peer, waits, failure } of this.#running) {
      if (waits === undefined || !peer.isOpen) continue;
      const ms = now - waits.since;
      switch (waits.for) {
        case 'reader':
          if (ms > UNREAD_MS) peer.close(CLOSE.slowReader, 'reading too slowly');
          break;
        case 'store':
          if (ms <= STUCK_MS) break;
          this.deps.logger.warn({ err: failure }, 'a replay waited too long for a store');
          peer.close(CLOSE.resume, 'try again');
          break;
        default:
          waits.for satisfies never;
      }
    }
  }

  /** Sends the missed envelopes and makes the peer live. @returns false when only a resync is possible */
  async #sendOwed(replay: Replay): Promise<boolean> {
    const { peer } = replay;
    if (!(await this.#isReached(replay))) return false;
    let left = MAX_REPLAYED;
    for (let until = peer.owed; until !== undefined && peer.isOpen; until = peer.owed) {
      const missed = await this.#missed(replay, until, left);
      if (missed === undefined) return false;
      left -= missed.length;
      for (const event of missed) await this.#send(replay, event);
      peer.replayed(until);
    }
    // In the tick of the last check: a live envelope that came in between would be owed, and never sent.
    peer.goLive();
    return true;
  }

  /** Whether the log has reached the client's last position; a restored log may end before that position. */
  async #isReached(replay: Replay): Promise<boolean> {
    const { through } = replay.peer;
    const here = this.deps.position();
    if (through === undefined || (here !== undefined && through <= here)) return true;
    const end = await this.#fromStore(replay, () => this.deps.events.end());
    return end !== undefined && through <= end;
  }

  /**
   * Events of the user's envelopes up to a position; undefined when there are too many, too many to scan, or the pages
   * of this minute are used up.
   */
  async #missed(replay: Replay, until: Position, most: number): Promise<MissedEvent[] | undefined> {
    const missed: MissedEvent[] = [];
    let from = replay.peer.through;
    const slice = timeSlices.of(replay.peer.tenantId, 'replaySocket');
    for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
      if (!this.#mayScan(replay.peer)) return undefined;
      await slice.next();
      const page = await this.#fromStore(replay, () => this.#page(replay.peer, from, until));
      missed.push(...page.missed);
      if (missed.length > most) return undefined;
      if (page.next === undefined) return missed;
      from = page.next;
    }
    return undefined;
  }

  #mayScan({ tenantId, userId }: Peer): boolean {
    const now = this.deps.monotonic();
    return (
      this.#pagesOfUser.take(`${tenantId}/${userId}`, now) === undefined &&
      this.#pagesOfTenant.take(tenantId, now) === undefined
    );
  }

  async #page(peer: Peer, from: Position | undefined, until: Position) {
    const { events, codec, envelopes } = this.deps;
    const { tenantId, userId } = peer;
    const filter = { streamPrefix: tenantPrefix(tenantId), types: ENVELOPE_TYPES };
    const missed: MissedEvent[] = [];
    const page = await events.readAll({ from, filter, limit: PAGE });
    for (const stored of page) {
      if (stored.position > until) return { missed, next: undefined };
      const recipients = await envelopes.recipients(codec.decodeOnce(stored));
      if (recipients.includes(userId)) missed.push({ stream: stored.stream, revision: stored.revision });
    }
    return { missed, next: page.length < PAGE ? undefined : page.at(-1)?.position };
  }

  /** Opens a text and hands its frame to the connection in one tick, then waits until the frame is sent. */
  async #send(replay: Replay, { stream, revision }: MissedEvent): Promise<void> {
    const { events, codec, envelopes, onPosition, metrics, monotonic } = this.deps;
    const { peer } = replay;
    const found = await this.#fromStore(replay, async () => {
      const [stored] = await events.readStream(stream, { from: revision, limit: 1 });
      const envelope = stored && (await envelopes.prepare(codec.decodeOnce(stored)));
      return stored && envelope && { position: stored.position, envelope };
    });
    const text = found?.envelope.text();
    if (found === undefined || text === undefined) return;
    onPosition(peer.tenantId, found.position);
    replay.waits = { for: 'reader', since: monotonic() };
    await peer.sendAndFlush(text);
    replay.waits = undefined;
    metrics.envelopesSent(1);
  }

  /** Retries until the store answers. @throws {Interrupted} when the peer has gone, and permanent errors */
  async #fromStore<T>(replay: Replay, ask: () => Promise<T>): Promise<T> {
    const { peer, retries } = replay;
    try {
      return await retries.retry(async () => {
        const giveBack = await this.#reads.take(peer.tenantId, peer.userId);
        try {
          if (!peer.isOpen) throw new Interrupted();
          // The wait counts from the first try.
          replay.waits ??= { for: 'store', since: this.deps.monotonic() };
          return await ask();
        } catch (error) {
          replay.failure = error;
          throw error;
        } finally {
          // In the next tick, so that other replays run even when the store answers at once.
          setImmediate(giveBack);
        }
      });
    } finally {
      replay.waits = undefined;
    }
  }

  /** Tells the client to read over REST. */
  #resync(peer: Peer): void {
    const position = latest(this.deps.position(), peer.owed);
    if (position !== undefined) {
      this.deps.onPosition(peer.tenantId, position);
      peer.replayed(position);
    }
    peer.send(JSON.stringify({ kind: 'system', event: 'resync', position: position ?? '' }));
  }
}
