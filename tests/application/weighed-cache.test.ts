import { expect } from 'chai';
import fc from 'fast-check';
import { roughBytes, WeighedCache } from '../../application/weighed-cache.ts';

describe('A weighed cache', () => {
  it('lets the oldest go by count', () => {
    const dropped: string[] = [];
    const cache = new WeighedCache<number>({ maxCount: 3, maxBytes: 1e9 }, (key) => dropped.push(key));
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      cache.set(key, 1);
      cache.trim();
    }
    expect(dropped).to.deep.equal(['a', 'b']);
    expect(cache.get('a')).to.equal(undefined);
    expect(cache.get('e')).to.equal(1);
  });

  it('lets the oldest go by size, and keeps one that is bigger than all its room', () => {
    const cache = new WeighedCache<string>({ maxCount: 100, maxBytes: 10_000 });
    for (let n = 0; n < 50; n += 1) {
      cache.set(`k${n}`, 'x'.repeat(1000));
      cache.trim();
      expect(cache.bytes).to.be.at.most(10_000);
    }
    cache.set('big', 'x'.repeat(1_000_000));
    cache.trim();
    expect([cache.size, cache.get('big')?.length]).to.deep.equal([1, 1_000_000]);
  });

  it('spares what was asked for, once', () => {
    const cache = new WeighedCache<number>({ maxCount: 3, maxBytes: 1e9 });
    for (const key of ['kept', 'b', 'c']) cache.set(key, 1);
    for (let n = 0; n < 100; n += 1) {
      expect(cache.get('kept')).to.equal(1);
      cache.set(`flood ${n}`, 1);
      cache.trim();
    }
    cache.set('x', 1);
    for (let n = 0; n < 4; n += 1) {
      cache.set(`later ${n}`, 1);
      cache.trim();
    }
    expect(cache.has('kept')).to.equal(false);
  });

  it('knows its own size, whatever happens', () => {
    const act = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      what: fc.constantFrom('set', 'delete', 'get', 'trim'),
      text: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const cache = new WeighedCache<string>({ maxCount: 3, maxBytes: 200 });
        for (const { key, what, text } of acts) {
          if (what === 'set') cache.set(key, text);
          else if (what === 'delete') cache.delete(key);
          else if (what === 'get') cache.get(key);
          else cache.trim();
        }
        cache.trim();
        const held = ['a', 'b', 'c', 'd'].map((key) => cache.get(key)).filter((text) => text !== undefined);
        expect(cache.size).to.equal(held.length).and.at.most(3);
        expect(cache.bytes).to.equal(held.reduce((sum, text) => sum + roughBytes(text), 0));
      }),
    );
  });

  it('weighs what is in a value', () => {
    const big = 'x'.repeat(100_000);
    for (const value of [big, { a: { b: big } }, [big], new Map([['k', big]])]) {
      expect(roughBytes(value)).to.be.within(200_000, 201_000);
    }
    expect(roughBytes(Array.from({ length: 10_000 }, () => 'x'.repeat(36)))).to.be.within(800_000, 1_000_000);
    for (const value of [undefined, null, 1, true, {}]) expect(roughBytes(value)).to.be.at.most(100);
  });
});
