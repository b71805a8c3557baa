import { expect } from 'chai';
import { RetryPolicy } from '../../../../application/core/concurrency/retry-policy.ts';
import { StoreUnavailable } from '../../../../application/ports/event-store.ts';
import { rejection } from '../../../support/eventually.ts';
import { withFakeTimers } from '../../../support/fake-timers.ts';

describe('a retry policy', () => {
  it('retries with growing pauses, until its limit or without one', () =>
    withFakeTimers(async ({ now, pass }) => {
      const policy = new RetryPolicy({ clock: { now }, limitMs: 10_000 }, new AbortController().signal);
      const away = async (): Promise<never> => {
        throw new StoreUnavailable('gone');
      };
      const failed = rejection(policy.retry(away));
      await pass(20_000);
      expect(await failed).to.have.property('name', 'OutOfReach');
      const tries: number[] = [];
      const found = policy.retryForever(async (nth) => {
        tries.push(nth);
        if (now() < 80_000) await away();
        return 'found';
      });
      await pass(62_000);
      expect(await found).to.equal('found');
      expect(tries).to.deep.equal(tries.map((_, nth) => nth));
      // Six pauses up to 2 s, then at most one try a second.
      expect(tries.length).to.be.at.most(66);
    }));
});
