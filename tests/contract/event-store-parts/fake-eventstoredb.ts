import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  type AllStreamRecordedEvent,
  type AllStreamResolvedEvent,
  type EventData,
  type Filter,
  type ReadPosition,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import type {
  Connection,
  SubscriptionSource,
} from '../../../infrastructure/event-store/eventstoredb/connection.ts';
import type { ReadSource } from '../../../infrastructure/event-store/eventstoredb/read-source.ts';

const CHECKPOINT_EVERY = 8;

interface Subscriber {
  readonly stream: Readable;
  readonly pump: () => void;
}

/**
 * A fake of EventStoreDB's client with the behaviour that was measured on the server: positions with gaps,
 * system events between others, subscriptions that break and do not resume.
 */
export class FakeEventStoreDb implements Connection {
  readonly log: AllStreamRecordedEvent[] = [];
  /** While set, every call fails with it. */
  down: Error | undefined;
  /** While true, appends and reads are never answered. */
  frozen = false;
  /** Whether subscriptions send `caughtUp`; older servers do not. */
  tellsCaughtUp = true;
  readonly #subscribers = new Set<Subscriber>();

  /** Open subscriptions. */
  get subscriptions(): number {
    return this.#subscribers.size;
  }

  async append(stream: string, expected: 'any' | 'no_stream' | bigint, events: EventData[]) {
    if (this.frozen) await new Promise<never>(() => {});
    // An answer over the network never comes in the same tick.
    await setImmediate();
    if (this.down) throw this.down;
    const known = this.log.filter(({ streamId }) => streamId === stream);
    const current = BigInt(known.length - 1);
    if (expected !== 'any' && current !== (expected === 'no_stream' ? -1n : expected)) {
      const first = expected === 'no_stream' ? 0 : Number(expected) + 1;
      const before = known.slice(first, first + events.length);
      const last = before.at(-1);
      const same = before.length === events.length && before.every(({ id }, i) => id === events[i]?.id);
      if (!last || !same) {
        const versions = {
          streamName: stream,
          expected,
          current: current < 0n ? 'no_stream' : current,
        } as const;
        throw new WrongExpectedVersionError(undefined, versions);
      }
      return { success: true, nextExpectedRevision: last.revision, position: last.position };
    }
    this.#write('$stats-0', { type: '$statsCollected', id: 'x', data: new Uint8Array() });
    let revision = current;
    for (const { id, type, data, metadata } of events) {
      if (!(data instanceof Uint8Array) || !(metadata instanceof Uint8Array)) throw new Error('not binary');
      revision += 1n;
      this.#write(stream, { id, type, data, metadata: parsed(metadata), revision });
    }
    const position = this.log.at(-1)?.position;
    for (const { pump } of this.#subscribers) pump();
    return { success: true, nextExpectedRevision: revision, ...(position && { position }) };
  }

  readStream(stream: string, range: Parameters<Connection['readStream']>[1]) {
    const own = this.log.filter(({ streamId }) => streamId === stream);
    const { from, backward, maxCount } = range;
    const error = own.length === 0 ? new StreamNotFoundError(undefined, stream) : undefined;
    const first = typeof from === 'bigint' ? Number(from) : from === 'start' ? 0 : own.length - 1;
    // A backward read returns the revisions first − count + 1 to first, also where some do not exist.
    const part = backward
      ? own.slice(Math.max(0, first - maxCount + 1), first + 1).reverse()
      : own.slice(first, first + maxCount);
    return this.#source(part, error);
  }

  readAll(
    { from, backward, maxCount }: Parameters<Connection['readAll']>[0],
    filter?: Parameters<Connection['readAll']>[1],
  ) {
    const at = commitOf(from);
    const all = backward
      ? this.log.filter(({ position }) => from === 'end' || position.commit < at).reverse()
      : this.log.filter(({ position }) => position.commit >= at);
    const part = all.filter(({ streamId, type }) => {
      if (filter === undefined) return true;
      const name = filter.on === 'stream' ? streamId : type;
      return filter.prefixes.some((prefix) => name.startsWith(prefix));
    });
    return this.#source(part.slice(0, maxCount), undefined);
  }

  subscribe(from: ReadPosition, filter: Filter): SubscriptionSource {
    let next = this.log.findIndex(({ position }) => position.commit > commitOf(from));
    if (next < 0) next = this.log.length;
    let skipped = 0;
    let live = false;
    const pump = (): void => {
      for (let room = true; room && next < this.log.length; ) {
        const event = this.log[next++];
        if (!event) break;
        if (selects(filter, event)) room = stream.push({ event } satisfies AllStreamResolvedEvent);
        else if (++skipped % CHECKPOINT_EVERY === 0) checkpoint(event);
      }
      if (next === this.log.length && !live && this.tellsCaughtUp) stream.emit('caughtUp');
      live = next === this.log.length;
    };
    const stream = new Readable({
      objectMode: true,
      highWaterMark: 16,
      read: () => void setImmediate().then(pump),
    });
    const checkpoint = ({ position }: AllStreamRecordedEvent): void => {
      // The package types the first argument as its own subscription, which the adapter does not use.
      const tell: ((...args: never[]) => unknown) | undefined = filter.checkpointReached;
      Reflect.apply(tell ?? (() => {}), undefined, [stream, position]);
    };
    const subscriber = { stream, pump };
    this.#subscribers.add(subscriber);
    const { down } = this;
    void setImmediate().then(() =>
      down === undefined ? stream.emit('confirmation') : stream.emit('error', down),
    );
    const unsubscribe = async (): Promise<void> => {
      this.#subscribers.delete(subscriber);
    };
    return Object.assign(stream, { unsubscribe });
  }

  async dispose(): Promise<void> {}

  /** Breaks all subscriptions like a lost server: with an error, and without an end. */
  breakSubscriptions(error: Error): void {
    for (const subscriber of this.#subscribers) {
      this.#subscribers.delete(subscriber);
      subscriber.stream.emit('error', error);
    }
  }

  #write(
    streamId: string,
    event: Partial<Omit<AllStreamRecordedEvent, 'metadata'>> & { metadata?: unknown },
  ): void {
    const commit = BigInt(this.log.length * 137 + 40);
    // The package types metadata as bytes or objects but returns any JSON value; the cast lets tests store such values.
    this.log.push({
      id: '',
      type: '',
      streamId,
      isJson: false,
      revision: 0n,
      created: new Date(0),
      data: new Uint8Array(),
      metadata: undefined,
      ...event,
      position: { commit, prepare: commit },
    } as AllStreamRecordedEvent);
  }

  #source<E extends AllStreamRecordedEvent>(part: E[], error: Error | undefined): ReadSource<{ event: E }> {
    const failure = this.down ?? error;
    const frozen = this.frozen;
    const items = async function* () {
      if (frozen) await new Promise<never>(() => {});
      if (failure) throw failure;
      for (const event of part) yield { event };
    };
    return Object.assign(Readable.from(items()), { cancel: async () => {} });
  }
}

/** Metadata as the client returns it: parsed as JSON where possible. */
function parsed(metadata: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(metadata).toString('utf8'));
  } catch {
    return metadata;
  }
}

function commitOf(from: ReadPosition): bigint {
  return typeof from === 'string' ? -1n : from.commit;
}

function selects(filter: Filter, event: AllStreamRecordedEvent): boolean {
  const name = filter.filterOn === 'streamName' ? event.streamId : event.type;
  return 'regex' in filter
    ? new RegExp(filter.regex).test(name)
    : filter.prefixes.some((prefix) => name.startsWith(prefix));
}
