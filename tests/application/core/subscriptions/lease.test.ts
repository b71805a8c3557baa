import { expect } from 'chai';
import { pause } from '../../../../application/core/runtime/timers.ts';
import { holdLease, whileRenewed } from '../../../../application/core/subscriptions/lease.ts';
import type { Lease } from '../../../../application/ports/read-leases.ts';
import type { ReadStore } from '../../../../application/ports/read-store.ts';
import { openSqliteReadStore } from '../../../../infrastructure/read-store/sqlite/store.ts';
import { untilPasses } from '../../../support/eventually.ts';
import { testLogger } from '../../../support/fakes.ts';

describe('a lease holder', () => {
  let store: ReadStore;
  const ends: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    store = await openSqliteReadStore({ path: ':memory:' });
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await store.close();
  });

  const holding = (
    owner: string,
    work: (lease: Lease, signal: AbortSignal) => Promise<void>,
    options: { store?: ReadStore; ttlMs?: number } = {},
  ) => {
    const stopping = new AbortController();
    const logger = testLogger();
    const done = holdLease(
      'work',
      { store: options.store ?? store, logger, owner, ttlMs: options.ttlMs ?? 150 },
      stopping.signal,
      work,
    );
    const end = async (): Promise<void> => {
      stopping.abort();
      await done;
    };
    ends.push(end);
    return { end, logger };
  };
  /** Work that runs until its lease ends; counts concurrent runs, and records the fence of each run. */
  const busy = () => {
    const fences: number[] = [];
    const now = { running: 0, most: 0 };
    return {
      fences,
      now,
      work: async (lease: Lease, signal: AbortSignal): Promise<void> => {
        fences.push(lease.fence);
        now.running += 1;
        now.most = Math.max(now.most, now.running);
        while (!signal.aborted) await pause(1000, signal);
        now.running -= 1;
      },
    };
  };

  it('lets one of several holders work at a time, and the next one after that holder has ended', async () => {
    const shared = busy();
    const first = holding('first', shared.work);
    await untilPasses(() => expect(shared.now.running).to.equal(1));
    holding('second', shared.work);
    await first.end();
    await untilPasses(() => expect(shared.fences).to.have.length(2));
    expect(shared.now.most).to.equal(1);
    expect(shared.fences[1]).to.be.greaterThan(shared.fences[0] ?? 0);
  });

  it('renews the lease while the work runs', async () => {
    const [long, other] = [busy(), busy()];
    holding('first', long.work, { ttlMs: 60 });
    await untilPasses(() => expect(long.now.running).to.equal(1));
    let asked = 0;
    const watched: ReadStore = {
      ...store,
      acquireLease: (...args) => {
        asked += 1;
        return store.acquireLease(...args);
      },
    };
    holding('second', other.work, { ttlMs: 60, store: watched });
    await untilPasses(() => expect(asked).to.be.greaterThan(10));
    expect([long.fences.length, other.fences.length]).to.deep.equal([1, 0]);
  });

  it('aborts the work when the lease cannot be renewed, and another takes over with a higher fence', async () => {
    let dead = false;
    const mortal: ReadStore = {
      ...store,
      acquireLease: (...args) =>
        dead ? Promise.reject(new Error('no network')) : store.acquireLease(...args),
      releaseLease: (lease) => (dead ? Promise.reject(new Error('no network')) : store.releaseLease(lease)),
    };
    const [first, second] = [busy(), busy()];
    holding('first', first.work, { store: mortal });
    await untilPasses(() => expect(first.now.running).to.equal(1));
    holding('second', second.work);
    dead = true;
    await untilPasses(() => expect(first.now.running).to.equal(0));
    await untilPasses(() => expect(second.now.running).to.equal(1));
    expect(second.fences[0]).to.be.greaterThan(first.fences[0] ?? 0);
  });

  it('releases a lost lease that a renewal acquired again', async () => {
    const lease = await store.acquireLease('once', 'first', 90);
    if (lease === undefined) throw new Error('the lease is not free');
    const options = { store, logger: testLogger(), owner: 'first', ttlMs: 90 };
    await whileRenewed(lease, options, new AbortController().signal, async (_lease, signal) => {
      await store.releaseLease(lease);
      while (!signal.aborted) await pause(1000, signal);
    });
    expect(await store.acquireLease('once', 'second', 90)).to.deep.include({ owner: 'second' });
  });

  it('restarts failed work after a pause and logs it', async () => {
    let tries = 0;
    const began = performance.now();
    const { logger } = holding('first', async () => {
      tries += 1;
      if (tries < 4) throw new Error('a bug');
    });
    await untilPasses(() => expect(tries).to.be.at.least(4));
    expect(performance.now() - began).to.be.greaterThan(300);
    expect(logger.lines.filter((line) => line.level === 'warn')).to.have.length(3);
  });

  it('pauses between runs of work that ends at once', async () => {
    let times = 0;
    holding('first', async () => {
      times += 1;
    });
    await untilPasses(() => expect(times).to.be.greaterThan(2));
    expect(times).to.be.lessThan(20);
  });

  it('ends at once when stopped during work, and releases the lease', async () => {
    const work = busy();
    const { end } = holding('first', work.work, { ttlMs: 60_000 });
    await untilPasses(() => expect(work.now.running).to.equal(1));
    const began = performance.now();
    await end();
    expect(performance.now() - began, 'the lease lasts a minute').to.be.lessThan(20_000);
    expect(await store.acquireLease('work', 'somebody else', 1000), 'the lease is free again').not.to.equal(
      undefined,
    );
  });

  it('starts no work when stopped while it acquires the lease, and releases the lease', async () => {
    const asked = Promise.withResolvers<void>();
    const given = Promise.withResolvers<void>();
    const slow: ReadStore = {
      ...store,
      acquireLease: async (...args) => {
        asked.resolve();
        await given.promise;
        return store.acquireLease(...args);
      },
    };
    const work = busy();
    const { end } = holding('first', work.work, { store: slow, ttlMs: 60_000 });
    await asked.promise;
    const ended = end();
    given.resolve();
    await ended;
    expect(work.fences).to.deep.equal([]);
    expect(await store.acquireLease('work', 'somebody else', 1000)).not.to.equal(undefined);
  });

  it('continues the work after one failed renewal', async () => {
    const shared = busy();
    let calls = 0;
    const lossy: ReadStore = {
      ...store,
      acquireLease: (...args) => {
        calls += 1;
        return calls === 2 ? Promise.reject(new Error('no network')) : store.acquireLease(...args);
      },
    };
    holding('first', shared.work, { store: lossy, ttlMs: 3_000 });
    await untilPasses(() => expect(calls).to.be.greaterThan(3));
    expect(shared.fences).to.deep.equal([1]);
    expect(shared.now.running).to.equal(1);
  });
});
