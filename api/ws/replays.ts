import { FairLimiter } from '../../application/core/concurrency/fair-limiter.ts';
import { Interrupted, RetryPolicy } from '../../application/core/concurrency/retry-policy.ts';
import type { EventCodec } from '../../application/core/events/event-codec.ts';
import { tenantPrefix } from '../../application/core/events/stream-name.ts';
import { ENVELOPE_TYPES, type Envelopes } from '../../application/messaging/envelopes.ts';
import { type EventStore, latest, type Position } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Metrics } from '../../application/ports/metrics.ts';
import { STUCK_MS } from './lanes.ts';
import { CLOSE, type Peer } from './peer.ts';

export interface ReplaysDeps {
  readonly envelopes: Envelopes;
  readonly events: EventStore;
  readonly codec: EventCodec;
  /** How far live events have come. */
  readonly position: () => Position | undefined;
  readonly told: (tenantId: string, position: Position) => void;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Milliseconds that never go back. */
  readonly monotonic: () => number;
}

const MAX_REPLAYED = 1000;
/** A replay that would have to look through more of the log than this is answered with a resync instead. */
const MAX_SCANNED = 50_000;
const PAGE = 50;
/** How long a reader may take nothing of what waits for it. */
const UNREAD_MS = 30_000;

/** Where an event is that is to be sent: its text is opened no earlier than that. */
interface Place {
  readonly stream: string;
  readonly revision: number;
}

interface Replay {
  readonly peer: Peer;
  readonly patience: RetryPolicy;
  /** Since when it waits for the one or the other; undefined: for neither. */
  waits: { readonly for: 'store' | 'reader'; readonly since: number } | undefined;
  failure: unknown;
}

/**
 * Sends what peers have missed. Memory holds the places of a replay's events and one of its frames. Replays read in
 * turn, a few at a time, so that the pages they read are few as well.
 */
export class Replays {
  readonly #deps: ReplaysDeps;
  readonly #running = new Set<Replay>();
  readonly #turns = new FairLimiter({ total: 4, perTenant: 2, reserved: 0 });

  constructor(deps: ReplaysDeps) {
    this.#deps = deps;
  }

  /** Sends what a peer is owed, and lets it go live. */
  async run(peer: Peer): Promise<void> {
    const clock = { now: this.#deps.monotonic };
    const patience = new RetryPolicy({ clock, limitMs: Number.POSITIVE_INFINITY }, peer.gone);
    const replay: Replay = { peer, patience, waits: undefined, failure: undefined };
    this.#running.add(replay);
    try {
      if (!(await this.#sendOwed(replay))) this.#resync(peer);
      peer.goLive();
    } catch (error) {
      if (error instanceof Interrupted) return;
      this.#deps.logger.error({ err: error }, 'a replay failed');
      this.#resync(peer);
      peer.goLive();
    } finally {
      this.#running.delete(replay);
    }
  }

  /** Closes the peers whose replay has waited too long. To be called again and again. */
  check(): void {
    const now = this.#deps.monotonic();
    for (const { peer, waits, failure } of this.#running) {
      if (waits === undefined || !peer.isOpen) continue;
      const ms = now - waits.since;
      switch (waits.for) {
        case 'reader':
          if (ms > UNREAD_MS) peer.close(CLOSE.slowReader, 'reading too slowly');
          break;
        case 'store':
          if (ms <= STUCK_MS) break;
          this.#deps.logger.warn({ err: failure }, 'a replay waited too long for a store');
          peer.close(CLOSE.resume, 'try again');
          break;
        default:
          waits.for satisfies never;
      }
    }
  }

  /** @returns false for what can only be answered with a resync */
  async #sendOwed(replay: Replay): Promise<boolean> {
    const { peer } = replay;
    if (!(await this.#isReached(replay))) return false;
    let left = MAX_REPLAYED;
    for (let until = peer.owed; until !== undefined && peer.isOpen; until = peer.owed) {
      const places = await this.#missed(replay, until, left);
      if (places === undefined) return false;
      left -= places.length;
      for (const place of places) await this.#send(replay, place);
      peer.replayed(until);
    }
    return true;
  }

  /** Whether the log has come to the position that the client has seen, if not yet here: a restored log may not have. */
  async #isReached(replay: Replay): Promise<boolean> {
    const { through } = replay.peer;
    const here = this.#deps.position();
    if (through === undefined || (here !== undefined && through <= here)) return true;
    const head = await this.#fromStore(replay, () => this.#deps.events.head());
    return head !== undefined && through <= head;
  }

  /** Places of the user's envelopes up to a position, or undefined when they are too many. */
  async #missed(replay: Replay, until: Position, most: number): Promise<Place[] | undefined> {
    const places: Place[] = [];
    let from = replay.peer.through;
    for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
      const page = await this.#fromStore(replay, () => this.#page(replay.peer, from, until));
      places.push(...page.places);
      if (places.length > most) return undefined;
      if (page.next === undefined) return places;
      from = page.next;
    }
    return undefined;
  }

  async #page(peer: Peer, from: Position | undefined, until: Position) {
    const { events, codec, envelopes } = this.#deps;
    const { tenantId, userId } = peer;
    const filter = { streamPrefix: tenantPrefix(tenantId), types: ENVELOPE_TYPES };
    const places: Place[] = [];
    const page = await events.readAll({ from, filter, limit: PAGE });
    for (const stored of page) {
      if (stored.position > until) return { places, next: undefined };
      const recipients = await envelopes.recipients(codec.decodeOnce(stored));
      if (recipients.includes(userId)) places.push({ stream: stored.stream, revision: stored.revision });
    }
    return { places, next: page.length < PAGE ? undefined : page.at(-1)?.position };
  }

  /** Opens a text and hands its frame to the connection in one turn, and waits until it has left. */
  async #send(replay: Replay, { stream, revision }: Place): Promise<void> {
    const { events, codec, envelopes, told, metrics, monotonic } = this.#deps;
    const { peer } = replay;
    const found = await this.#fromStore(replay, async () => {
      const [stored] = await events.readStream(stream, { from: revision, limit: 1 });
      const envelope = stored && (await envelopes.prepare(codec.decodeOnce(stored)));
      return stored && envelope && { position: stored.position, envelope };
    });
    const text = found?.envelope.text();
    if (found === undefined || text === undefined) return;
    told(peer.tenantId, found.position);
    replay.waits = { for: 'reader', since: monotonic() };
    await peer.sendAndFlush(text);
    replay.waits = undefined;
    metrics.envelopesSent(1);
  }

  /** Asks a store until it answers. @throws {Interrupted} when the peer has gone, and what stays wrong */
  async #fromStore<T>(replay: Replay, ask: () => Promise<T>): Promise<T> {
    const { peer, patience } = replay;
    try {
      return await patience.with(async () => {
        const giveBack = await this.#turns.take(peer.tenantId, peer.userId);
        try {
          if (!peer.isOpen) throw new Interrupted();
          // Since the first try.
          replay.waits ??= { for: 'store', since: this.#deps.monotonic() };
          return await ask();
        } catch (error) {
          replay.failure = error;
          throw error;
        } finally {
          // Not before the next turn of the event loop: a store that answers at once leaves it to others as well.
          setImmediate(giveBack);
        }
      });
    } finally {
      replay.waits = undefined;
    }
  }

  /** The client reads over REST what it is owed. */
  #resync(peer: Peer): void {
    const position = latest(this.#deps.position(), peer.owed);
    if (position !== undefined) {
      this.#deps.told(peer.tenantId, position);
      peer.replayed(position);
    }
    peer.send(JSON.stringify({ kind: 'system', event: 'resync', position: position ?? '' }));
  }
}
