import { expect } from 'chai';
import { Pace } from '../../../application/bulk/pace.ts';
import type { Others } from '../../../application/bulk/ports.ts';
import type { Position } from '../../../application/ports/event-store.ts';

/** A clock that moves when it is told to, or asked. */
const steppingClock = () => {
  let now = 0;
  return { now: () => now, pass: (ms: number) => (now += ms) };
};

// The port's type is a mark on a text.
const at = (nth: number): Position => `place-${nth}` as Position;

const quiet: Others = { asked: 0, longestWait: () => 0, comesTo: async () => true };

describe('The pace of a bulk commit', () => {
  /** Turns that take so long a row (ms). @returns rows that the next one has */
  const settled = async (
    pace: Pace,
    clock: ReturnType<typeof steppingClock>,
    rowMs: number,
  ): Promise<number> => {
    for (let turn = 0; turn < 300; turn += 1) {
      const rows = pace.size();
      await pace.timed(rows, () => void clock.pass(rows * rowMs));
    }
    return pace.size();
  };

  it('takes as many rows as a turn of a few milliseconds has time for', async () => {
    const clock = steppingClock();
    const pace = new Pace(256, quiet, clock.now);
    expect(await settled(pace, clock, 0.025)).to.be.within(110, 130);
    expect(await settled(pace, clock, 0.001)).to.equal(256);
    expect(await settled(pace, clock, 100)).to.be.within(1, 32);
  });

  it('is not put off by a long turn now and then', async () => {
    const clock = steppingClock();
    const pace = new Pace(256, quiet, clock.now);
    for (let turn = 0; turn < 200; turn += 1) {
      const rows = pace.size();
      await pace.timed(rows, () => void clock.pass(turn % 4 === 0 ? 50 : rows * 0.01));
    }
    expect(pace.size()).to.be.greaterThan(200);
  });

  it('makes shorter turns while others ask for something, and longer ones when they have gone', async () => {
    const clock = steppingClock();
    const others = { ...quiet, asked: 0 };
    const pace = new Pace(256, others, clock.now);
    const settle = async (asked: number): Promise<number> => {
      for (let turn = 0; turn < 300; turn += 1) {
        others.asked += asked;
        await pace.ready();
        const rows = pace.size();
        await pace.timed(rows, () => void clock.pass(rows * 0.02));
      }
      return pace.size();
    };
    const alone = await settle(0);
    expect(await settle(1)).to.be.lessThan(alone / 2);
    expect(await settle(0)).to.be.within(alone * 0.9, alone * 1.1);
  });

  it('lets who waits for a read model be served first, but does not wait for ever', async () => {
    let asked = 0;
    const waits = [50, 50, 0];
    const served = new Pace(64, { ...quiet, longestWait: () => waits[asked++] ?? 0 });
    await served.ready();
    expect(asked).to.equal(3);
    const began = performance.now();
    await new Pace(64, { ...quiet, longestWait: () => 1000 }).ready();
    expect(performance.now() - began).to.be.greaterThan(15);
  });

  it('gets no further ahead of the read model than a little while others are there', async () => {
    const clock = steppingClock();
    const waited: string[] = [];
    const others = {
      ...quiet,
      asked: 0,
      comesTo: async (position: Position, ms: number) => {
        waited.push(position);
        expect(ms).to.be.within(0, 20);
        return position !== at(3);
      },
    };
    const pace = new Pace(256, others, clock.now);
    const chunk = async (nth: number): Promise<void> => {
      await pace.ready();
      pace.wrote(22, at(nth));
    };
    // Nobody is there: as far as it can.
    for (let nth = -4; nth < 0; nth += 1) await chunk(nth);
    expect(waited).to.deep.equal([]);
    others.asked += 100;
    clock.pass(200);
    for (let nth = 0; nth < 3; nth += 1) await chunk(nth);
    expect(waited).to.deep.equal([]);
    await chunk(3);
    expect(waited).to.deep.equal([at(0)]);
    await chunk(4);
    await chunk(5);
    expect(waited).to.deep.equal([at(0), at(1), at(2)]);
    // One that does not come is not waited for twice before the same rows.
    await chunk(6);
    expect(waited).to.deep.equal([at(0), at(1), at(2), at(3)]);
  });

  it('takes no more rows than there may be under way', () => {
    expect(new Pace(2, quiet).size()).to.equal(2);
  });
});
