import { expect } from 'chai';
import { withCoalescedCalls } from '../../../../application/core/concurrency/coalesced-calls.ts';
import { leaseNameOf, type ReadStore } from '../../../../application/ports/read-store.ts';
import { openSqliteReadStore } from '../../../../infrastructure/read-store/sqlite/store.ts';
import { positionOf } from '../../../../infrastructure/read-store/stored-values.ts';

describe('The coalescing of calls', () => {
  let store: ReadStore;
  let calls: string[][];
  let isAway: boolean;
  let coalesced: ReadStore;
  beforeEach(async () => {
    store = await openSqliteReadStore({ path: ':memory:' });
    [calls, isAway] = [[], false];
    coalesced = withCoalescedCalls({
      ...store,
      acquireLeases: (names, ...rest) => {
        calls.push([...names]);
        return isAway ? Promise.reject(new Error('away')) : store.acquireLeases(names, ...rest);
      },
    });
  });
  afterEach(() => store.close());

  it('takes all leases that an owner asks for in one tick by one call', async () => {
    await store.acquireLease('b', 'other', 60_000);
    const asked = ['a', 'b', 'c'].map((name) => coalesced.acquireLease(name, 'me', 60_000));
    const second = coalesced.acquireLease('a', 'second', 60_000);
    const fences = (await Promise.all(asked)).map((lease) => lease?.fence);
    expect(fences).to.deep.equal([1, undefined, 1]);
    expect(await second).to.equal(undefined);
    expect(calls).to.deep.equal([['a', 'b', 'c'], ['a']]);
  });

  it('makes a new call for a lease asked for later', async () => {
    const first = await coalesced.acquireLease('a', 'me', 60_000);
    expect(await coalesced.acquireLease('a', 'me', 60_000)).to.deep.equal(first);
    expect(calls).to.deep.equal([['a'], ['a']]);
  });

  it('fails all leases that were asked for in one tick, and no later one', async () => {
    isAway = true;
    const asked = ['a', 'b'].map((name) => coalesced.acquireLease(name, 'me', 60_000));
    const ends = await Promise.allSettled(asked);
    expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    isAway = false;
    expect((await coalesced.acquireLease('a', 'me', 60_000))?.fence).to.equal(1);
  });

  it('stores the checkpoints of one tick in one call, and refuses only those with an older fence', async () => {
    const generations = ['v1', 'v2', 'v3'].map((tag) => ({ projection: 'p', tag }));
    for (const generation of generations) {
      await store.prepare(generation, []);
      await store.acquireLease(leaseNameOf(generation), 'me', 60_000);
    }
    const saved: number[] = [];
    const watched = withCoalescedCalls({
      ...store,
      saveCheckpoints: (all) => {
        saved.push(all.length);
        return store.saveCheckpoints(all);
      },
    });
    const checkpoint = positionOf('000000000004');
    const ends = await Promise.allSettled(
      generations.map((generation, at) =>
        watched.commit({ generation, fence: at === 1 ? 9 : 1, writes: [], checkpoint }),
      ),
    );
    expect(ends.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(saved).to.deep.equal([3]);
    const states = await Promise.all(generations.map((generation) => watched.state(generation)));
    expect(states.map((state) => state.checkpoint)).to.deep.equal([checkpoint, undefined, checkpoint]);
  });

  it('rejects a call that the store does not answer', async () => {
    const silent = withCoalescedCalls({ ...store, activeGenerations: async () => [] });
    const ends = await Promise.allSettled(['p', 'q'].map((name) => silent.activeGeneration(name)));
    expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
  });
});
