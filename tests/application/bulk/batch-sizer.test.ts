import { expect } from 'chai';
import { BatchSizer, type ForegroundLoad } from '../../../application/bulk/batch-sizer.ts';
import type { SettledRow } from '../../../application/bulk/row.ts';
import type { Position } from '../../../application/ports/event-store.ts';

/** A clock that advances only on request. */
const steppingClock = () => {
  let now = 0;
  return { now: () => now, pass: (ms: number) => (now += ms) };
};

// A position is a branded string.
const at = (nth: number): Position => `place-${nth}` as Position;

const quiet: ForegroundLoad = { requestCount: 0, longestWait: () => 0, reachesWithin: async () => true };

const wrote = (rows: number, position: Position): SettledRow[] =>
  Array.from({ length: rows }, () => ({ status: 'fulfilled', value: { kind: 'succeeded', position } }));

describe('the batch sizer', () => {
  it('takes smaller batches while the foreground is busy and full ones when it is idle', async () => {
    const clock = steppingClock();
    const foreground = { ...quiet, requestCount: 0 };
    const sizer = new BatchSizer(256, foreground, clock.now);
    const sizeAfter = (asked: number): number => {
      foreground.requestCount += asked;
      clock.pass(200);
      return sizer.size();
    };
    expect(sizeAfter(0)).to.equal(256);
    expect(sizeAfter(100)).to.equal(24);
    expect(sizeAfter(2)).to.equal(256);
  });

  it('waits for requests that wait for a read model, up to a limit', async () => {
    let asked = 0;
    const waits = [50, 50, 0];
    const served = new BatchSizer(64, { ...quiet, longestWait: () => waits[asked++] ?? 0 });
    await served.ready();
    expect(asked).to.equal(3);
    const began = performance.now();
    await new BatchSizer(64, { ...quiet, longestWait: () => 1000 }).ready();
    expect(performance.now() - began).to.be.greaterThan(15);
  });

  it('waits for the read model while the foreground is busy', async () => {
    const clock = steppingClock();
    const waited: string[] = [];
    const foreground = {
      ...quiet,
      requestCount: 0,
      reachesWithin: async (_name: string, position: Position, ms: number) => {
        waited.push(position);
        expect(ms).to.be.within(0, 20);
        return position !== at(3);
      },
    };
    const sizer = new BatchSizer(256, foreground, clock.now);
    const chunk = async (nth: number): Promise<void> => {
      await sizer.ready();
      sizer.wrote(wrote(22, at(nth)));
    };
    // While the foreground is idle, the commit does not wait.
    for (let nth = -4; nth < 0; nth += 1) await chunk(nth);
    expect(waited).to.deep.equal([]);
    foreground.requestCount += 100;
    clock.pass(200);
    for (let nth = 0; nth < 3; nth += 1) await chunk(nth);
    expect(waited).to.deep.equal([]);
    await chunk(3);
    expect(waited).to.deep.equal([at(0)]);
    await chunk(4);
    await chunk(5);
    expect(waited).to.deep.equal([at(0), at(1), at(2)]);
    // A stalled read model is waited for once per batch.
    await chunk(6);
    expect(waited).to.deep.equal([at(0), at(1), at(2), at(3)]);
  });

  it('takes no more rows than may run concurrently', () => {
    expect(new BatchSizer(2, quiet).size()).to.equal(2);
  });
});
