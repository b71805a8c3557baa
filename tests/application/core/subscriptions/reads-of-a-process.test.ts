import { expect } from 'chai';
import { ProjectionRunner } from '../../../../application/core/projections/projection-runner.ts';
import { tagOf } from '../../../../application/core/projections/takeover.ts';
import { WaitingReaders } from '../../../../application/core/projections/waiting-readers.ts';
import { LogFollower } from '../../../../application/core/subscriptions/log-follower.ts';
import { runSubscriber } from '../../../../application/core/subscriptions/subscriber.ts';
import type { EventStore } from '../../../../application/ports/event-store.ts';
import { catalogue } from '../../../../domain/catalogue.ts';
import { openSqliteReadStore } from '../../../../infrastructure/read-store/sqlite/store.ts';
import { projections } from '../../../../projections/all.ts';
import { events } from '../../../contract/event-store-parts/helpers.ts';
import { untilPasses } from '../../../support/eventually.ts';
import { silentMetrics } from '../../../support/fakes.ts';
import { startNode } from '../../../support/node.ts';
import { handledUpTo, newSchedule } from '../../../support/schedule.ts';

const TOTAL = 10_000;
const SUBSCRIBERS = 20;

describe('a worker process with all projections and twenty subscribers', () => {
  it('reads the log about once when it starts, and no page for new events', async () => {
    const node = startNode();
    for (let made = 0; made < TOTAL; made += 1000) await node.events.append('acme.x-1', 'any', events(1000));
    let read = 0;
    const counted: EventStore = {
      ...node.events,
      scanAll: async (...args) => {
        const page = await node.events.scanAll(...args);
        read += page.events.length;
        return page;
      },
    };
    const store = await openSqliteReadStore({ path: ':memory:' });
    const { codec, clock, logger } = node;
    const follower = new LogFollower({ events: counted, logger });
    const shared = { store, follower, codec, logger, owner: 'one', ttlMs: 60_000, ...newSchedule() };
    const runners = projections.map(
      (projection) =>
        new ProjectionRunner(projection, {
          ...shared,
          events: counted,
          metrics: silentMetrics,
          clock,
          lingerMs: 1,
          waitingReaders: new WaitingReaders(),
        }),
    );
    const names = Array.from({ length: SUBSCRIBERS }, (_, nth) => `subscriber-${nth}`);
    const types = catalogue.slice(0, 3).map(({ type }) => type);
    const stopping = new AbortController();
    const work = [
      ...runners.map((runner) => runner.run(stopping.signal)),
      ...names.map((name) =>
        runSubscriber({ name, types, handle: async () => undefined }, shared, stopping.signal),
      ),
    ];
    const allReached = async (): Promise<void> => {
      const end = await node.events.end();
      await untilPasses(async () => {
        for (const runner of runners) {
          expect(runner.localCheckpoint(tagOf(runner.projection.version))).to.equal(end);
        }
        for (const name of names) expect(await handledUpTo(store, name)).to.equal(end);
      });
    };
    await allReached();
    expect(read).to.be.within(TOTAL, TOTAL + 4000);
    const before = read;
    for (let nth = 0; nth < 20; nth += 1) await node.events.append('acme.x-1', 'any', events(10));
    await allReached();
    expect(read).to.equal(before);
    stopping.abort();
    await Promise.all(work);
    await store.close();
  }).timeout(60_000);
});
