import { expect } from 'chai';
import { Gathering } from '../../application/gathering.ts';

/** Turns of the event loop until the gathering has flushed; what arrives is added in between. */
const gathered = async (arrivals: readonly number[], last?: { size: number; ms: number }) => {
  let waiting = 1;
  let flushedAt: { waiting: number; turn: number } | undefined;
  let turn = 0;
  const gathering = new Gathering(
    () => waiting,
    () => {
      flushedAt = { waiting, turn };
    },
  );
  if (last !== undefined) gathering.committed(last.size, last.ms);
  gathering.start();
  while (flushedAt === undefined) {
    waiting += arrivals[turn] ?? 0;
    turn += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return flushedAt;
};

describe('Commands that gather', () => {
  it('do not wait when one is alone', async () => {
    expect(await gathered([])).to.deep.equal({ waiting: 1, turn: 1 });
  });

  it('wait as long as others are still coming', async () => {
    expect(await gathered([3, 4])).to.deep.include({ waiting: 8 });
  });

  it('wait for those whom the last commit has just answered, about as long as a commit takes', async () => {
    const began = performance.now();
    await gathered([], { size: 30, ms: 1.5 });
    expect(performance.now() - began).to.be.greaterThan(1.4);
  });

  it('do not wait for company after a commit that served a few', async () => {
    expect(await gathered([], { size: 2, ms: 1.5 })).to.deep.equal({ waiting: 1, turn: 1 });
  });

  it('go when they are enough', async () => {
    expect(await gathered([400, 400, 400, 400], { size: 30, ms: 2 })).to.deep.include({ turn: 1 });
  });
});
