import { randomUUID } from 'node:crypto';
import {
  type EventBatch,
  type FollowOptions,
  LogFollower,
} from '../../../application/core/subscriptions/log-follower.ts';
import type { EventStore, NewEvent, StoredEvent } from '../../../application/ports/event-store.ts';
import { testLogger } from '../../support/fakes.ts';

/** Gives a suite its store. The log may hold other events: every test uses its own prefix. */
export interface Fixture {
  readonly store: EventStore;
  /** Reopens the same log; undefined for a store without persistence. */
  readonly reopen?: (() => Promise<EventStore>) | undefined;
  readonly dispose: () => Promise<void>;
}

/** The fixture of a store that `open` opens and reopens. */
export function reopening(open: () => EventStore): Fixture {
  const store = open();
  const opened = [store];
  return {
    store,
    async reopen() {
      await store.close();
      const again = open();
      opened.push(again);
      return again;
    },
    async dispose() {
      for (const one of opened) await one.close();
    },
  };
}

export type Factory = () => Promise<Fixture>;

/** The store and name space of a test. */
export interface Context {
  readonly fixture: () => Fixture;
  readonly store: () => EventStore;
  /** A new stream-name prefix, such as `t1f9….`. */
  readonly prefix: () => string;
}

export function newPrefix(): string {
  return `t${randomUUID().replaceAll('-', '')}.`;
}

export function event(type = 'NoteTaken', data = '{"n":1}', metadata = '{"tenant_id":"t"}'): NewEvent {
  return { id: randomUUID(), type, data, metadata };
}

export function events(count: number, type = 'NoteTaken'): NewEvent[] {
  return Array.from({ length: count }, (_, n) => event(type, JSON.stringify({ n })));
}

export function idsOf(list: readonly { readonly id: string }[]): string[] {
  return list.map(({ id }) => id);
}

/** The rejection's error; fails when the promise resolves. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}

export const followerOf = (store: EventStore): LogFollower =>
  new LogFollower({ events: store, logger: testLogger() });

/** Follows the log until `enough` returns true, then aborts. */
export async function follow(
  store: EventStore,
  options: Omit<FollowOptions, 'signal'>,
  enough: (all: readonly StoredEvent[], batch: EventBatch) => boolean,
  follower = followerOf(store),
): Promise<{ events: StoredEvent[]; batches: EventBatch[] }> {
  const end = new AbortController();
  const all: StoredEvent[] = [];
  const batches: EventBatch[] = [];
  await follower.run({ ...options, signal: end.signal }, (batch) => {
    all.push(...batch.events);
    batches.push(batch);
    if (enough(all, batch)) end.abort();
  });
  return { events: all, batches };
}

/** Appends concurrently: `writers` callers, each `each` appends of one to three events, over `streams` streams. */
export async function race(
  store: EventStore,
  prefix: string,
  { writers = 16, each = 20, streams = 5 } = {},
): Promise<string[]> {
  const written: string[] = [];
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; n < each; n += 1) {
      const batch = events(1 + ((writer + n) % 3), `Type${n % 4}`);
      await store.append(`${prefix}s-${(writer + n) % streams}`, 'any', batch);
      written.push(...idsOf(batch));
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return written;
}
