import { expect } from 'chai';
import { BackgroundScheduler } from '../../../../application/core/concurrency/background-scheduler.ts';
import { FoldLag } from '../../../../application/core/projections/fold-lag.ts';
import type { Position } from '../../../../application/ports/event-store.ts';
import { untilPasses } from '../../../support/eventually.ts';
import { useFakeClock } from '../../../support/fake-timers.ts';

const isPosition = (text: string): text is Position => /^p\d{6}$/.test(text);

const asPosition = (number: number): Position => {
  const text = `p${String(number).padStart(6, '0')}`;
  if (!isPosition(text)) throw new Error(text);
  return text;
};

describe('The lag of folded read models', () => {
  const clock = useFakeClock();
  const log = () => {
    let end = 0;
    const lag = new FoldLag(() => asPosition(end));
    lag.stop();
    return {
      lag,
      /** Lets time pass, and the log grow. */
      pass: (ms: number, to: number) => {
        clock.pass(ms);
        end = to;
        lag.sample();
      },
      folded: (name: string, to: number) => lag.progress(name, asPosition(to)),
    };
  };

  it('is 0 while they keep up, and grows with the age of the oldest event that a read model lacks', () => {
    const { lag, pass, folded } = log();
    pass(0, 10);
    folded('a', 10);
    folded('b', 10);
    pass(100, 20);
    folded('a', 20);
    pass(400, 30);
    expect(lag.longestLagMs()).to.equal(0);
    pass(2000, 40);
    expect(lag.longestLagMs()).to.equal(2400 - 500);
    folded('b', 20);
    expect(lag.longestLagMs()).to.equal(2000 - 500);
    folded('a', 40);
    folded('b', 40);
    expect(lag.longestLagMs()).to.equal(0);
  });

  it('does not count a rebuild before it has caught up, nor a read model that another process folds now', () => {
    const { lag, pass, folded } = log();
    pass(0, 10);
    folded('a', 10);
    folded('rebuilt', 1);
    pass(5000, 20);
    folded('a', 20);
    expect(lag.longestLagMs()).to.equal(0);
    folded('rebuilt', 20);
    pass(5000, 30);
    pass(5000, 30);
    folded('a', 30);
    expect(lag.longestLagMs()).to.be.greaterThan(4000);
    lag.ended('rebuilt');
    expect(lag.longestLagMs()).to.equal(0);
  });

  it('slows background work until the read models have caught up', async () => {
    const { lag, pass, folded } = log();
    pass(0, 10);
    folded('a', 10);
    pass(0, 20);
    pass(3000, 20);
    const scheduler = new BackgroundScheduler({ longestRead: () => lag.longestLagMs() });
    let granted = 0;
    const all = Array.from({ length: 40 }, async (_, nth) => {
      const quantum = await scheduler.take(`tenant-${nth}`, 'test');
      granted += 1;
      quantum.end();
    });
    await untilPasses(() => {
      clock.pass(1);
      expect(granted).to.be.within(2, 39);
    });
    folded('a', 20);
    await Promise.all(all);
    expect(granted).to.equal(40);
  });
});
