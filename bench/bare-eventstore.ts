import { randomUUID } from 'node:crypto';
import {
  binaryEvent,
  type EventData,
  EventStoreDBClient,
  FORWARDS,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { percentile } from './rounds.ts';

/** Measures EventStoreDB through its client alone: the yardstick for the product on EventStoreDB. */

const DATA = Buffer.from(JSON.stringify({ text: 'x'.repeat(260) }));
const METADATA = new TextEncoder().encode(JSON.stringify({ tenant_id: 'bare', hash: '0'.repeat(64) }));

const PER_APPEND = 200;

const newEvent = (): EventData => {
  const data = new Uint8Array(DATA);
  return { ...binaryEvent({ id: randomUUID(), type: 'BareEvent', data }), metadata: METADATA };
};

export interface BareEventStore {
  /** Appends per second while each writer appends one event at a time to its own stream. */
  appends(writers: number, seconds: number): Promise<number>;
  /** 99th percentile of the time (ms) from an append's scheduled start to its end. */
  p99(perSecond: number, count: number): Promise<number>;
  /** Appends events that belong to no tenant of the product, many at a time. */
  fill(count: number): Promise<void>;
  /** Seconds of one read of all events, and their number. */
  readAll(): Promise<{ readonly seconds: number; readonly events: number }>;
  /** Seconds until a filtered subscription has received `count` events of the streams with a prefix. */
  filtered(prefix: string, count: number): Promise<number>;
  close(): Promise<void>;
}

export const bareEventStore = (url: string): BareEventStore => {
  const client = EventStoreDBClient.connectionString(url);
  const newStream = (): string => `bare.note-${randomUUID()}`;
  const append = (stream: string, revision: number): Promise<unknown> =>
    client.appendToStream(stream, newEvent(), {
      expectedRevision: revision < 0 ? 'no_stream' : BigInt(revision),
    });
  return {
    appends: async (writers, seconds) => {
      const began = performance.now();
      const until = began + seconds * 1000;
      let appended = 0;
      const write = async (): Promise<void> => {
        const stream = newStream();
        for (let revision = -1; performance.now() < until; revision += 1) {
          await append(stream, revision);
          appended += 1;
        }
      };
      await Promise.all(Array.from({ length: writers }, write));
      return (appended / (performance.now() - began)) * 1000;
    },
    p99: async (perSecond, count) => {
      const began = performance.now() + 50;
      const times: number[] = [];
      const pending: Promise<void>[] = [];
      for (let nth = 0; nth < count; nth += 1) {
        const due = began + (nth * 1000) / perSecond;
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
        const one = append(newStream(), -1).then(() => void times.push(performance.now() - due));
        pending.push(one);
      }
      await Promise.all(pending);
      return percentile(times, 0.99);
    },
    fill: async (count) => {
      const stream = newStream();
      for (let revision = -1; revision + 1 < count; ) {
        const events = Array.from({ length: Math.min(PER_APPEND, count - revision - 1) }, newEvent);
        await client.appendToStream(stream, events, {
          expectedRevision: revision < 0 ? 'no_stream' : BigInt(revision),
        });
        revision += events.length;
      }
    },
    readAll: async () => {
      const began = performance.now();
      let events = 0;
      const source = client.readAll({ direction: FORWARDS, fromPosition: START });
      for await (const _ of source) events += 1;
      return { seconds: (performance.now() - began) / 1000, events };
    },
    filtered: async (prefix, count) => {
      const began = performance.now();
      const filter = streamNameFilter({ prefixes: [prefix], maxSearchWindow: 4096, checkpointInterval: 32 });
      const source = client.subscribeToAll({ fromPosition: START, filter });
      let found = 0;
      for await (const _ of source) {
        found += 1;
        if (found >= count) break;
      }
      return (performance.now() - began) / 1000;
    },
    close: () => client.dispose(),
  };
};
