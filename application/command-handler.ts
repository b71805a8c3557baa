import type { Decided, Decider, DecisionContext } from '../domain/decider.ts';
import { DomainError } from '../domain/errors.ts';
import { AppendGate } from './append-gate.ts';
import type { Cause, EventCodec, RecordedEvent } from './codec.ts';
import { Gathering } from './gathering.ts';
import type { Clock, Ids } from './ports/clock.ts';
import {
  type EventStore,
  EventTooLarge,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  StoreUnavailable,
  WrongExpectedRevision,
} from './ports/event-store.ts';
import type { WrappedKey } from './ports/key-store.ts';
import type { Metrics } from './ports/metrics.ts';
import type { KeyRing } from './sealing.ts';
import type { AnyDecider, StreamState, StreamStates } from './stream-states.ts';
import { streamName } from './streams.ts';

/** A command on one stream. */
export interface Command<S, E, Facts = undefined> {
  readonly tenantId: string;
  readonly decider: Decider<S, E>;
  readonly id: string;
  readonly cause: Cause;
  /**
   * Facts from outside the state that must hold at the very revision the command is decided at. The stream takes no
   * other command of this process meanwhile; a race lost to another process asks again.
   */
  readonly prepare?: (head: StreamState<S>) => Promise<Facts>;
  readonly decide: (state: S, context: DecisionContext, facts: Facts) => readonly Decided<E>[];
  /**
   * Given when an earlier try of the same cause may have appended already: the stream is searched, back to the bound,
   * for events with this causation before anything is decided.
   */
  readonly again?: Again | undefined;
}

/** How far back an effect can lie: not before its cause began, or not before a time (ms). */
export type Again = { readonly after: Position } | { readonly since: number };

export interface Outcome<S, E extends { type: string; data: unknown }> {
  /** What was appended: none when there was nothing to do. Personal fields are sealed. */
  readonly events: readonly RecordedEvent<E>[];
  readonly state: S;
  /** Where the stream stands now; undefined for a stream without events. */
  readonly position: Position | undefined;
}

interface Waiting {
  readonly command: Command<unknown, { type: string; data: unknown }, unknown>;
  readonly deadline: number;
  readonly resolve: (outcome: Outcome<unknown, { type: string; data: unknown }>) => void;
  readonly reject: (error: unknown) => void;
}

type Settle = (position: Position | undefined) => void;

/** Commands that lose races are decided again for this long. */
const PATIENCE_MS = 5000;
/** One append holds at most this much, well under what the stores take. */
const MAX_APPEND_BYTES = MAX_EVENT_BYTES + 256 * 1024;

/**
 * Runs commands: load, decide, append (design, Consistency boundaries). Commands on one stream queue in this process
 * and are decided and appended as one batch; a race lost to another process is decided again on what it wrote.
 */
export class CommandHandler {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  readonly #keys: KeyRing;
  readonly #gate: AppendGate;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #metrics: Metrics;
  readonly #queues = new Map<string, Waiting[]>();
  /** Streams whose commands wait to be decided together with those of others. */
  #ready: string[] = [];
  #arrived = 0;
  readonly #gathering = new Gathering(
    () => this.#arrived,
    () => this.#runReady(),
  );

  constructor(deps: {
    events: EventStore;
    codec: EventCodec;
    states: StreamStates;
    keys: KeyRing;
    clock: Clock;
    ids: Ids;
    metrics: Metrics;
  }) {
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#states = deps.states;
    this.#keys = deps.keys;
    this.#gate = new AppendGate(deps.events, deps.keys, (appends, ms) =>
      this.#gathering.committed(appends, ms),
    );
    this.#clock = deps.clock;
    this.#ids = deps.ids;
    this.#metrics = deps.metrics;
  }

  /**
   * @throws {DomainError} as decided; `unavailable` when races were lost for 5 s
   * @throws {StoreUnavailable} when the outcome is not known
   */
  execute<S, E extends { type: string; data: unknown }, Facts = undefined>(
    command: Command<S, E, Facts>,
  ): Promise<Outcome<S, E>> {
    const stream = streamName(command.tenantId, command.decider.category, command.id);
    return new Promise<Outcome<S, E>>((resolve, reject) => {
      // The queue holds commands of one stream, and a stream has one decider: the types pair up again here.
      const waiting = {
        command,
        resolve,
        reject,
        deadline: this.#clock.now() + PATIENCE_MS,
      } as unknown as Waiting;
      this.#arrived += 1;
      const queue = this.#queues.get(stream);
      if (queue === undefined) {
        this.#queues.set(stream, [waiting]);
        this.#schedule(stream);
      } else queue.push(waiting);
    });
  }

  /** Commands are decided when nobody else is about to come: what is decided together goes to disk together. */
  #schedule(stream: string): void {
    this.#ready.push(stream);
    if (this.#ready.length === 1) this.#gathering.start();
  }

  #runReady(): void {
    const streams = this.#ready;
    this.#ready = [];
    this.#arrived = 0;
    for (const stream of streams) void this.#run(stream);
  }

  async #run(stream: string): Promise<void> {
    const batch = this.#queues.get(stream) ?? [];
    this.#queues.set(stream, []);
    await this.#runBatch(stream, batch);
    const came = this.#queues.get(stream)?.length ?? 0;
    if (came === 0) {
      this.#queues.delete(stream);
      return;
    }
    this.#arrived += came;
    this.#schedule(stream);
  }

  async #runBatch(stream: string, batch: readonly Waiting[]): Promise<void> {
    let rest = batch;
    let fresh = this.#states.cached(stream) === undefined;
    while (rest.length > 0) {
      const [first] = rest;
      if (first === undefined) return;
      try {
        const loaded =
          (fresh ? undefined : this.#states.cached(stream)) ??
          (await this.#states.refresh(stream, first.command.decider));
        const done = await this.#decideAndAppend(stream, rest, loaded, fresh);
        rest = rest.slice(done);
        // A decision to write nothing is confirmed against the store before it is answered.
        fresh = done === 0;
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision)) {
          this.#states.drop(stream);
          for (const waiting of rest) waiting.reject(error);
          return;
        }
        fresh = true;
        rest = this.#giveUpOnLate(rest);
      }
    }
  }

  #giveUpOnLate(rest: readonly Waiting[]): readonly Waiting[] {
    const now = this.#clock.now();
    return rest.filter((waiting) => {
      if (waiting.deadline > now) return true;
      waiting.reject(new DomainError('unavailable', 'The resource is too busy at the moment.'));
      return false;
    });
  }

  /**
   * Decides as many commands as fit into one append, appends, then answers them.
   * @returns how many were answered; 0 when the state must be confirmed first: what writes nothing is not answered
   * from a state that another node may have left behind
   */
  async #decideAndAppend(
    stream: string,
    batch: readonly Waiting[],
    loaded: StreamState,
    fresh: boolean,
  ): Promise<number> {
    const unsaved: WrappedKey[] = [];
    try {
      return await this.#decideAndAppendWith(unsaved, stream, batch, loaded, fresh);
    } finally {
      // A key that is not on disk must not be found in memory by a later command.
      for (const key of unsaved) this.#keys.forget(key.id);
    }
  }

  /** @param unsaved takes the keys that are made; emptied when they are on disk */
  async #decideAndAppendWith(
    unsaved: WrappedKey[],
    stream: string,
    batch: readonly Waiting[],
    loaded: StreamState,
    fresh: boolean,
  ): Promise<number> {
    let head = loaded;
    let bytes = 0;
    const settles: Settle[] = [];
    const appended: NewEvent[] = [];
    const decider: AnyDecider | undefined = batch[0]?.command.decider;
    for (const waiting of batch) {
      const { command } = waiting;
      if ((command.prepare !== undefined || command.again !== undefined) && appended.length > 0) break;
      const step = await this.#decide(stream, waiting, head, unsaved);
      const stays = step.head === head;
      if (stays && !fresh && appended.length === 0 && settles.length === 0) return 0;
      if (stays && !fresh) break;
      if (bytes + step.bytes > MAX_APPEND_BYTES && appended.length > 0) break;
      bytes += step.bytes;
      head = step.head;
      appended.push(...step.events);
      settles.push(step.settle);
    }
    let position = loaded.position;
    if (appended.length > 0) {
      const started = performance.now();
      const expected = loaded.revision < 0 ? 'no_stream' : loaded.revision;
      const result = await this.#gate.append(stream, expected, appended, unsaved);
      this.#metrics.eventsAppended(appended.length, (performance.now() - started) / 1000);
      position = result.position;
      if (decider !== undefined) this.#states.set(stream, { ...head, position }, decider);
    }
    for (const settle of settles) settle(position);
    return settles.length;
  }

  async #decide(
    stream: string,
    waiting: Waiting,
    head: StreamState,
    newKeys: WrappedKey[],
  ): Promise<{ head: StreamState; events: NewEvent[]; bytes: number; settle: Settle }> {
    const { command, resolve, reject } = waiting;
    const nothing = { head, events: [], bytes: 0 };
    try {
      if (command.again !== undefined) {
        const earlier = await this.#appendedBefore(stream, command.cause, command.again);
        if (earlier.length > 0) {
          const settle: Settle = (position) => resolve({ events: earlier, state: head.state, position });
          return { ...nothing, settle };
        }
      }
      const facts = command.prepare === undefined ? undefined : await command.prepare(head);
      const now = Math.max(this.#clock.now(), head.at);
      const decided = command.decide(head.state, { now }, facts);
      if (decided.length === 0) {
        return { ...nothing, settle: (position) => resolve({ events: [], state: head.state, position }) };
      }
      let next = head;
      let bytes = 0;
      const events: NewEvent[] = [];
      const recorded: RecordedEvent[] = [];
      for (const event of decided) {
        const loading = this.#haveKeys(command.tenantId, event, newKeys);
        if (loading !== undefined) await loading;
        const at = Math.max(event.at ?? now, next.at);
        const id = this.#ids.next();
        const encoded = this.#codec.encode(
          stream,
          command.tenantId,
          next,
          { ...event, id, at },
          command.cause,
        );
        const size = Buffer.byteLength(encoded.stored.data) + Buffer.byteLength(encoded.stored.metadata);
        if (size > MAX_EVENT_BYTES) throw new EventTooLarge(`an event of ${size} bytes`);
        bytes += size;
        events.push(encoded.stored);
        recorded.push(encoded.recorded);
        next = {
          state: command.decider.evolve(next.state, encoded.recorded, { at, revision: next.revision + 1 }),
          revision: next.revision + 1,
          hash: encoded.recorded.hash,
          at,
          position: next.position,
        };
      }
      const { state } = next;
      return {
        head: next,
        events,
        bytes,
        settle: (position) => resolve({ events: recorded, state, position }),
      };
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return { ...nothing, settle: () => reject(error) };
    }
  }

  /** Keys that exist are loaded, others are made; `newKeys` collects what must be durable before the append. */
  #haveKeys(
    tenantId: string,
    event: { type: string; data: unknown },
    newKeys: WrappedKey[],
  ): Promise<void> | undefined {
    const ids = this.#codec.keyIds(tenantId, event).filter((id) => !this.#keys.has(id));
    if (ids.length === 0) return undefined;
    return this.#keys.load(ids).then(() => {
      for (const id of new Set(ids)) {
        if (!this.#keys.has(id)) newKeys.push(this.#keys.create(id));
      }
    });
  }

  /** The actor counts too: a request without a key names its causation itself, and must not pass for another's. */
  async #appendedBefore(stream: string, cause: Cause, bound: Again): Promise<RecordedEvent[]> {
    const found: RecordedEvent[] = [];
    let from: number | undefined;
    // Mostly there is next to nothing to look through; where there is much, pages grow.
    for (let limit = 8; ; limit = Math.min(limit * 4, 512)) {
      const page = await this.#events.readStream(stream, { direction: 'backward', from, limit });
      for (const stored of page) {
        const event = this.#codec.decode(stored);
        if (isOf(cause, event)) found.unshift(event);
        else if (found.length > 0) return found;
        if ('after' in bound ? event.position <= bound.after : event.at < bound.since) return found;
      }
      const last = page.at(-1);
      if (last === undefined || last.revision === 0) return found;
      from = last.revision - 1;
    }
  }
}

const isOf = ({ causationId, actor }: Cause, event: RecordedEvent): boolean =>
  event.causationId === causationId && event.actor.id === actor.id && event.actor.kind === actor.kind;
