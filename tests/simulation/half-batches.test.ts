import { expect } from 'chai';
import { HalfBatches } from './half-batches.ts';

const of = (checkpoint: string, projection = 'ledger') => ({
  generation: { projection, tag: 'v1' },
  checkpoint,
});

const world = () => {
  const time = { now: 10 };
  return { time, halves: new HalfBatches(() => time.now) };
};

describe('A half batch of the simulation', () => {
  it('is seen from the commit that failed until its last event is folded', () => {
    const { time, halves } = world();
    expect(halves.seenSince('ledger', 0)).to.equal(false);
    halves.broke(of('5'));
    expect([halves.seenSince('ledger', 10), halves.seenSince('messaging', 0)]).to.deep.equal([true, false]);
    time.now = 20;
    halves.landed('commit', [of('4')], undefined);
    halves.landed('commit', [of('9', 'messaging')], undefined);
    halves.landed('saveCheckpoints', [[of('6')]], [new Error('fenced')]);
    expect(halves.seenSince('ledger', 20)).to.equal(true);
    halves.landed('commit', [of('5')], undefined);
    time.now = 30;
    halves.landed('commit', [of('6')], undefined);
    expect([halves.seenSince('ledger', 20), halves.seenSince('ledger', 21)]).to.deep.equal([true, false]);
  });

  it('is seen until a longer batch that failed before is folded too', () => {
    const { time, halves } = world();
    halves.broke(of('5'));
    halves.broke(of('4'));
    halves.landed('commit', [of('4')], undefined);
    time.now = 20;
    expect(halves.seenSince('ledger', 20)).to.equal(true);
    halves.landed('saveCheckpoints', [[of('5')]], [undefined]);
    time.now = 30;
    expect(halves.seenSince('ledger', 30)).to.equal(false);
  });

  it('is gone with its generation', () => {
    const { time, halves } = world();
    halves.broke(of('5'));
    halves.landed('drop', [{ projection: 'ledger', tag: 'v1' }], undefined);
    time.now = 20;
    expect(halves.seenSince('ledger', 20)).to.equal(false);
  });
});
