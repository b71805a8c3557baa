import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  type EventBatch,
  type FollowOptions,
  LogFollower,
} from '../../../../application/core/subscriptions/log-follower.ts';
import type {
  EventStore,
  GrowthListener,
  LogGrowth,
  NewEvent,
  Position,
  StoredEvent,
} from '../../../../application/ports/event-store.ts';
import { events, idsOf } from '../../../contract/event-store-parts/helpers.ts';
import { untilPasses } from '../../../support/eventually.ts';
import { testLogger } from '../../../support/fakes.ts';
import { openMemoryEventStore } from '../../../support/memory-event-store.ts';

const FOLLOWERS = 40;
const SMALL = { maxCount: 64, maxBytes: 1024 * 1024 };

/** A store that counts returned events, can omit them from notifications, and can fail. */
const countedStore = (store = openMemoryEventStore()) => {
  const counts = { read: 0, refused: 0, told: 0, listeners: 0 };
  const faults = { silent: false, away: false };
  const counted: EventStore = {
    ...store,
    scanAll: async (...args) => {
      if (faults.away) {
        counts.refused += 1;
        throw new Error('no connection');
      }
      const page = await store.scanAll(...args);
      counts.read += page.events.length;
      return page;
    },
    onGrowth: (listener) => {
      counts.listeners += 1;
      const leave = store.onGrowth((growth) => {
        if (faults.silent) return listener();
        counts.told += growth?.events.length ?? 0;
        listener(growth);
      });
      return () => {
        counts.listeners -= 1;
        leave();
      };
    },
  };
  return { store: counted, counts, faults };
};

const typed = (count: number): NewEvent[] =>
  events(count).map((one, nth) => ({ ...one, type: `Type${nth % FOLLOWERS}` }));

describe('the log follower', () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  /** Follows until the test ends; collects events. */
  const following = (
    follower: LogFollower,
    options: Omit<FollowOptions, 'signal'> = {},
    handle: (batch: EventBatch) => Promise<void> | void = () => undefined,
  ) => {
    const seen: StoredEvent[] = [];
    const state: { position: Position | undefined; caughtUp: boolean } = {
      position: undefined,
      caughtUp: false,
    };
    const stopping = new AbortController();
    const done = follower.run({ ...options, signal: stopping.signal }, async (batch) => {
      await handle(batch);
      seen.push(...batch.events);
      state.position = batch.position;
      state.caughtUp = batch.caughtUp;
    });
    const stop = async (): Promise<void> => {
      stopping.abort();
      await done;
    };
    stops.push(stop);
    return { seen, state, stop };
  };
  /** As many followers as a process has, each of its own type. */
  const many = (follower: LogFollower) =>
    Array.from({ length: FOLLOWERS }, (_, nth) => following(follower, { filter: { types: [`Type${nth}`] } }));
  const reached = (
    all: readonly { state: { position: Position | undefined } }[],
    end: Position | undefined,
  ) =>
    untilPasses(() => {
      for (const { state } of all) expect(state.position).to.equal(end);
    });

  it('receives each new event once for all its followers', async () => {
    const { store, counts } = countedStore();
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const all = many(follower);
    await store.append('a.s-1', 'any', typed(40));
    await reached(all, await store.end());
    const before = { ...counts };
    for (let nth = 0; nth < 50; nth += 1) {
      await store.append('a.s-1', 'any', typed(FOLLOWERS));
      if (nth % 10 === 0) await setImmediate();
    }
    await reached(all, await store.end());
    expect(counts.told - before.told).to.equal(50 * FOLLOWERS);
    expect(counts.read, 'no page is read').to.equal(before.read);
    expect(counts.listeners, 'one live source').to.equal(1);
    for (const { seen } of all) expect(seen).to.have.length(51);
  });

  it('reads new events once when the store only signals them', async () => {
    const { store, counts, faults } = countedStore();
    faults.silent = true;
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const all = many(follower);
    for (let nth = 0; nth < 50; nth += 1) {
      await store.append('a.s-1', 'any', typed(FOLLOWERS));
      await setImmediate();
    }
    await reached(all, await store.end());
    expect(counts.read).to.be.within(50 * FOLLOWERS, 50 * FOLLOWERS + 1000);
  });

  it('reads again when a read that it shares began before the last growth', async () => {
    const { store, faults } = countedStore();
    faults.silent = true;
    await store.append('a.s-1', 'any', typed(1));
    const [held, handling] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const end = await store.end();
    let isHeld = false;
    const slow: EventStore = {
      ...store,
      scanAll: async (options, most) => {
        const page = await store.scanAll(options, most);
        if (options.from === end && !isHeld) {
          isHeld = true;
          await held.promise;
        }
        return page;
      },
    };
    const follower = new LogFollower({ events: slow, logger: testLogger() });
    const first = following(follower);
    const second = following(follower, {}, ({ events: [event] }) =>
      event?.position === end ? handling.promise : undefined,
    );
    await untilPasses(() => expect(isHeld, 'the first reads on while the second handles').to.equal(true));
    await store.append('a.s-1', 'any', typed(1));
    handling.resolve();
    await untilPasses(() => expect(second.seen).to.have.length(1));
    for (let tick = 0; tick < 5; tick += 1) await setImmediate();
    held.resolve();
    await reached([first, second], await store.end());
  });

  it('continues after a growth that is announced again late', async () => {
    const store = openMemoryEventStore();
    const told: LogGrowth[] = [];
    let repeat: GrowthListener = () => undefined;
    const repeating: EventStore = {
      ...store,
      onGrowth: (listener) => {
        repeat = listener;
        return store.onGrowth((growth) => {
          if (growth !== undefined) told.push(growth);
          listener(growth);
        });
      },
    };
    const [begun, handling] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const follower = new LogFollower({ events: repeating, logger: testLogger() });
    const one = following(follower, {}, ({ events: { length } }) => {
      if (length > 0) begun.resolve();
      return length > 0 ? handling.promise : undefined;
    });
    await reached([one], undefined);
    await store.append('a.s-1', 'any', typed(1));
    await begun.promise;
    await store.append('a.s-1', 'any', typed(1));
    repeat(told[0]);
    handling.resolve();
    await reached([one], await store.end());
    await store.append('a.s-1', 'any', typed(1));
    await reached([one], await store.end());
    expect(one.seen).to.have.length(3);
  });

  it('reads a long log about once for followers that start together', async () => {
    const { store, counts } = countedStore();
    const total = 20_000;
    for (let made = 0; made < total; made += 1000) await store.append('a.s-1', 'any', typed(1000));
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const all: ReturnType<typeof many> = [];
    for (let nth = 0; nth < FOLLOWERS; nth += 1) {
      const types = [`Type${nth}`];
      all.push(following(follower, { filter: { types } }, () => setTimeout(nth % 5)));
      // Followers start one after another, as leases are granted.
      await setImmediate();
    }
    await reached(all, await store.end());
    expect(counts.read).to.be.at.most(total + 4000);
    for (const { seen } of all) expect(seen).to.have.length(total / FOLLOWERS);
  }).timeout(30_000);

  /** Two threads over one store: the followers of `asking` read older pages from `reading`. */
  const twoThreads = async (total: number) => {
    const { store, counts } = countedStore();
    for (let made = 0; made < total; made += 1000) await store.append('a.s-1', 'any', typed(1000));
    const stopping = new AbortController();
    stops.push(async () => stopping.abort());
    const reading = new LogFollower({ events: store, logger: testLogger() });
    const asking = new LogFollower({ events: store, logger: testLogger() });
    const before = await store.end();
    if (before === undefined) throw new Error('the log is empty');
    const pageAfter = reading.pagesFor(stopping.signal);
    return { store, counts, reading, asking, before, pageAfter, none: { events: [], position: before } };
  };

  it('reads a long log about once for the followers of two threads', async () => {
    const total = 20_000;
    const { store, counts, reading, asking, before, pageAfter, none } = await twoThreads(total);
    asking.readOlderFrom({ before, read: async (after) => (await pageAfter(after)) ?? none });
    const all = [...many(reading), ...many(asking)];
    await reached(all, before);
    expect(counts.read).to.be.at.most(total + 4000);
    await store.append('a.s-1', 'any', typed(FOLLOWERS));
    await reached(all, await store.end());
    for (const { seen } of all) expect(seen).to.have.length(total / FOLLOWERS + 1);
  }).timeout(30_000);

  it('continues from the store when the other thread ends, fails or has no more pages', async () => {
    const { store, asking, before, pageAfter, none } = await twoThreads(5000);
    const [first] = await store.readAll({ limit: 1 });
    const nothing = { events: [], position: first?.position ?? before };
    let asked = 0;
    asking.readOlderFrom({
      before,
      read: async (after) => {
        asked += 1;
        if (asked === 2) throw new Error('the thread has ended');
        return asked > 3 ? nothing : ((await pageAfter(after)) ?? none);
      },
    });
    const all = many(asking);
    await reached(all, before);
    for (const { seen } of all) expect(seen).to.have.length(5000 / FOLLOWERS);
  });

  it('reads only its own selection for a single follower', async () => {
    const { store, counts } = countedStore();
    for (let made = 0; made < 10_000; made += 1000) await store.append('a.s-1', 'any', typed(1000));
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const alone = following(follower, { filter: { types: ['Type1'] } });
    await reached([alone], await store.end());
    expect(alone.seen).to.have.length(250);
    expect(counts.read, 'the first page is whole').to.be.at.most(1000 + 250);
  });

  it('does not let a stalled follower delay the others', async () => {
    const { store } = countedStore();
    for (let made = 0; made < 6000; made += 1000) await store.append('a.s-1', 'any', typed(1000));
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const released = Promise.withResolvers<void>();
    const slow = following(follower, { batchSize: 10 }, () => released.promise);
    const quick = [following(follower), following(follower)];
    await reached(quick, await store.end());
    expect(slow.seen).to.have.length(0);
    released.resolve();
    await reached([slow], await store.end());
    expect(idsOf(slow.seen)).to.deep.equal(idsOf(quick[0]?.seen ?? []));
  }).timeout(20_000);

  it('does not wait for another thread that never asks for a page', async () => {
    const { store } = countedStore();
    for (let made = 0; made < 6000; made += 1000) await store.append('a.s-1', 'any', typed(1000));
    const follower = new LogFollower({ events: store, logger: testLogger(), pages: SMALL });
    const stopping = new AbortController();
    stops.push(async () => stopping.abort());
    follower.pagesFor(stopping.signal);
    const all = [following(follower), following(follower, { batchSize: 10 })];
    await reached(all, await store.end());
    for (const { seen } of all) expect(seen).to.have.length(6000);
  }).timeout(20_000);

  it('serves a follower that fell out of the buffer from pages, then live again', async () => {
    const { store, counts } = countedStore();
    const follower = new LogFollower({ events: store, logger: testLogger(), live: SMALL });
    let released = Promise.withResolvers<void>();
    const slow = following(follower, {}, () => released.promise);
    const quick = following(follower);
    await store.append('a.s-1', 'any', typed(10));
    await reached([quick], await store.end());
    for (let nth = 0; nth < 30; nth += 1) await store.append('a.s-1', 'any', typed(10));
    await reached([quick], await store.end());
    released.resolve();
    await reached([slow], await store.end());
    expect(counts.read).to.be.greaterThan(0);
    const before = counts.read;
    released = Promise.withResolvers<void>();
    released.resolve();
    await store.append('a.s-1', 'any', typed(10));
    await reached([slow, quick], await store.end());
    expect(counts.read).to.equal(before);
    expect(idsOf(slow.seen)).to.deep.equal(idsOf(await store.readAll({ limit: 1000 })));
  });

  it('retries while the store is unavailable, logs it once, and continues', async () => {
    const { store, counts, faults } = countedStore();
    const logger = testLogger();
    await store.append('a.s-1', 'any', typed(100));
    faults.away = true;
    const follower = new LogFollower({ events: store, logger });
    const all = Array.from({ length: FOLLOWERS }, () => following(follower));
    await untilPasses(() => expect(counts.refused).to.be.at.least(3));
    faults.away = false;
    await reached(all, await store.end());
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn', 'info']);
    for (const { seen } of all) expect(seen).to.have.length(100);
  });

  it('stops while the store is unavailable without further reads', async () => {
    const { store, counts, faults } = countedStore();
    faults.away = true;
    const { stop } = following(new LogFollower({ events: store, logger: testLogger() }));
    await setImmediate();
    await stop();
    expect(counts.listeners).to.equal(0);
  });

  it('fails with the handler’s error and can restart from any position', async () => {
    const { store } = countedStore();
    await store.append('a.s-1', 'any', typed(10));
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const failing = follower.run({ signal: new AbortController().signal }, () => {
      throw new Error('a bug');
    });
    expect(String(await failing.catch((error: unknown) => error))).to.contain('a bug');
    const again = following(follower);
    await reached([again], await store.end());
    expect(again.seen).to.have.length(10);
  });

  it('moves an idle follower past events of other types at once, without a batch', async () => {
    const { store } = countedStore();
    await store.append('a.s-1', 'any', events(1, 'Own'));
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const passed: Position[] = [];
    const onPassed = (position: Position): boolean => passed.push(position) > 0;
    let batches = 0;
    const { seen, state } = following(follower, { filter: { types: ['Own'] }, onPassed }, () => {
      batches += 1;
    });
    await untilPasses(() => expect(state.caughtUp).to.equal(true));
    const before = batches;
    const ends = [];
    for (let nth = 0; nth < 3; nth += 1) {
      await setImmediate();
      await store.append('a.s-1', 'any', events(2, 'Other'));
      ends.push(await store.end());
    }
    expect(passed).to.deep.equal(ends);
    expect(batches).to.equal(before);
    await store.append('a.s-1', 'any', [...events(1, 'Other'), ...events(1, 'Own')]);
    await untilPasses(() => expect(seen).to.have.length(2));
    expect(state.position).to.equal(await store.end());
    expect(passed).to.have.length(3);
  });

  it('gives an empty batch to a follower whose `onPassed` returns false', async () => {
    const { store } = countedStore();
    await store.append('a.s-1', 'any', events(1, 'Own'));
    const follower = new LogFollower({ events: store, logger: testLogger() });
    const { state } = following(follower, { filter: { types: ['Own'] }, onPassed: () => false });
    await untilPasses(() => expect(state.caughtUp).to.equal(true));
    await store.append('a.s-1', 'any', events(1, 'Other'));
    const end = await store.end();
    await untilPasses(() => expect(state.position).to.equal(end));
  });

  it('gives every follower each matching event once and in order under any faults and delays', async () => {
    const plan = fc.record({
      types: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 4 }),
      batchSize: fc.integer({ min: 1, max: 40 }),
      /** Ticks per batch. */
      ticks: fc.nat(6),
      /** Batches after which the follower fails and restarts at the last handled position. */
      fails: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 4 }),
      startsLate: fc.nat(20),
      /** The result of the follower’s `onPassed`; undefined: it has no `onPassed`. */
      letsPass: fc.option(fc.boolean(), { nil: undefined }),
    });
    const writer = fc.record({
      count: fc.integer({ min: 1, max: 30 }),
      pause: fc.nat(3),
      silent: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: 1, maxLength: 6 }),
        fc.array(writer, { minLength: 1, maxLength: 25 }),
        fc.array(fc.nat(40), { maxLength: 5 }),
        async (plans, writes, outages) => {
          const { store, faults } = countedStore();
          const sizes = { live: { ...SMALL, maxCount: 20 }, pages: { ...SMALL, maxCount: 50 } };
          const follower = new LogFollower({ events: store, logger: testLogger(), ...sizes });
          let end: Position | undefined;
          const runs = plans.map(async ({ types, batchSize, ticks, fails, startsLate, letsPass }) => {
            const left = [...fails];
            const seen: string[] = [];
            let after: Position | undefined;
            for (let tick = 0; tick < startsLate; tick += 1) await setImmediate();
            const stopping = new AbortController();
            while (!stopping.signal.aborted) {
              let batches = 0;
              const failsAt = left.shift();
              const filter = { types: types.map((type) => `Type${type}`) };
              const onPassed = (position: Position): boolean => {
                expect(after === undefined || position > after).to.equal(true);
                if (letsPass === true) after = position;
                if (letsPass === true && end !== undefined && position >= end) stopping.abort();
                return letsPass === true;
              };
              const asked = letsPass === undefined ? {} : { onPassed };
              const options = { after, batchSize, filter, ...asked, signal: stopping.signal };
              await follower
                .run(options, async (batch) => {
                  for (let tick = 0; tick < ticks; tick += 1) await setImmediate();
                  batches += 1;
                  if (batches === failsAt) throw new Error('it fails');
                  expect(batch.events.length).to.be.at.most(batchSize);
                  seen.push(...idsOf(batch.events));
                  after = batch.position;
                  if (end !== undefined && batch.position >= end) stopping.abort();
                })
                .catch((error: unknown) => {
                  if (failsAt === undefined || batches !== failsAt) throw error;
                });
            }
            const filter = { types: types.map((type) => `Type${type}`) };
            expect(seen).to.deep.equal(idsOf(await store.readAll({ filter, limit: 10_000 })));
          });
          for (const [nth, { count, pause, silent }] of writes.entries()) {
            faults.silent = silent;
            faults.away = outages.includes(nth);
            await store.append(
              `a.s-${nth % 3}`,
              'any',
              typed(count).map((one, at) => ({ ...one, type: `Type${at % 4}` })),
            );
            for (let tick = 0; tick < pause; tick += 1) await setImmediate();
          }
          faults.away = false;
          end = await store.end();
          // Wakes the present followers.
          await store.append('a.end-1', 'any', events(1, 'End'));
          await Promise.all(runs);
        },
      ),
      { numRuns: 40 },
    );
  }).timeout(60_000);
});
