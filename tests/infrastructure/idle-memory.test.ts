import { expect } from 'chai';
import { dueWhenIdle } from '../../infrastructure/idle-memory.ts';

describe('A garbage collection in idle times', () => {
  /** Seconds after which a collection is due. */
  const dueAfter = (used: readonly number[]): number[] => {
    const isDue = dueWhenIdle();
    return used.flatMap((ms, second) => (isDue(ms) ? [second + 1] : []));
  };
  const idle = (seconds: number): number[] => new Array(seconds).fill(10);

  it('is due once after the start, when three seconds in a row were idle', () => {
    expect(dueAfter([900, 10, 10, 40, 10, 10, 10, ...idle(500)])).to.deep.equal([7]);
  });

  const work = (seconds: number): number[] => new Array(seconds).fill(300);

  it('is due again only after a second of processor time and thirty idle seconds', () => {
    expect(dueAfter([...idle(3), ...work(3), ...idle(40), ...work(1), ...idle(40)])).to.deep.equal([3, 77]);
  });

  it('is not due in a short pause of load', () => {
    expect(dueAfter([...idle(3), ...work(10), ...idle(29), ...work(10), ...idle(29)])).to.deep.equal([3]);
  });

  it('is not due again for the timers of an idle thread', () => {
    expect(dueAfter(idle(10_000))).to.deep.equal([3]);
  });

  it('is never due while a thread works', () => {
    expect(dueAfter(new Array(1_000).fill(26))).to.deep.equal([]);
  });
});
