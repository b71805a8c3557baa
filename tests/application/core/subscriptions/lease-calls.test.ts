import { expect } from 'chai';
import { withGatheredLeases } from '../../../../application/core/subscriptions/lease-calls.ts';
import type { ReadStore } from '../../../../application/ports/read-store.ts';
import { openSqliteReadStore } from '../../../../infrastructure/read-store/sqlite/store.ts';

describe('gathered leases', () => {
  let store: ReadStore;
  let calls: string[][];
  let isAway: boolean;
  let gathered: ReadStore;
  beforeEach(async () => {
    store = await openSqliteReadStore({ path: ':memory:' });
    [calls, isAway] = [[], false];
    gathered = withGatheredLeases({
      ...store,
      acquireLeases: (names, ...rest) => {
        calls.push([...names]);
        return isAway ? Promise.reject(new Error('away')) : store.acquireLeases(names, ...rest);
      },
    });
  });
  afterEach(() => store.close());

  it('takes the leases asked for in one tick in one call for each owner', async () => {
    await store.acquireLease('b', 'other', 60_000);
    const asked = ['a', 'b', 'c'].map((name) => gathered.acquireLease(name, 'me', 60_000));
    const second = gathered.acquireLease('a', 'second', 60_000);
    const fences = (await Promise.all(asked)).map((lease) => lease?.fence);
    expect(fences).to.deep.equal([1, undefined, 1]);
    expect(await second).to.equal(undefined);
    expect(calls).to.deep.equal([['a', 'b', 'c'], ['a']]);
  });

  it('makes a new call for a lease asked for later', async () => {
    const first = await gathered.acquireLease('a', 'me', 60_000);
    expect(await gathered.acquireLease('a', 'me', 60_000)).to.deep.equal(first);
    expect(calls).to.deep.equal([['a'], ['a']]);
  });

  it('fails all that were asked for together, and none after', async () => {
    isAway = true;
    const asked = ['a', 'b'].map((name) => gathered.acquireLease(name, 'me', 60_000));
    const ends = await Promise.allSettled(asked);
    expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    isAway = false;
    expect((await gathered.acquireLease('a', 'me', 60_000))?.fence).to.equal(1);
  });
});
