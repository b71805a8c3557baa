import { expect } from 'chai';
import { RecentValues } from '../../../../application/core/memory/recent-values.ts';

describe('recent values', () => {
  it('are the latest of at most two generations', () => {
    const recent = new RecentValues<number>(10);
    for (let n = 0; n < 1000; n += 1) {
      recent.set(`${n}`, n);
      for (let back = 0; back < Math.min(10, n); back += 1)
        expect(recent.get(`${n - back}`)).to.equal(n - back);
      expect(recent.get(`${n - 20}`)).to.equal(undefined);
    }
  });

  it('can be deleted from either generation', () => {
    const recent = new RecentValues<number>(2);
    for (const n of [1, 2, 3]) recent.set(`${n}`, n);
    expect(['1', '3', '4', '1'].map((key) => recent.delete(key))).to.deep.equal([true, true, false, false]);
    expect(['1', '2', '3'].map((key) => recent.get(key))).to.deep.equal([undefined, 2, undefined]);
  });

  it('are deleted from both generations at once', () => {
    const recent = new RecentValues<number>(1);
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('a', 3);
    expect(recent.delete('a')).to.equal(true);
    expect(recent.get('a')).to.equal(undefined);
  });
});
