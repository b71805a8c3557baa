import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { boundedCache, roughBytes } from '../../../../application/core/memory/bounded-cache.ts';

/** The engine’s own function, exposed by a flag. */
const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof gc !== 'function') throw new Error('the garbage collector is not exposed');
  gc();
};

const textOf = (characters: number): { readonly text: string } => ({ text: 'x'.repeat(characters) });

describe('A cache bounded by count and bytes', () => {
  it('evicts the least recently used entry above its count, and reports it', () => {
    const evicted: string[] = [];
    const cache = boundedCache<object>({ maxCount: 3, maxBytes: 1e9 }, (key) => evicted.push(key));
    for (const key of ['a', 'b', 'c']) cache.set(key, {});
    cache.get('a');
    for (const key of ['d', 'e']) cache.set(key, {});
    cache.set('d', {});
    cache.delete('e');
    expect(evicted).to.deep.equal(['b', 'c']);
    expect([...cache.keys()].sort()).to.deep.equal(['a', 'd']);
  });

  it('keeps an entry larger than its bytes, alone', () => {
    const cache = boundedCache<object>({ maxCount: 100, maxBytes: 10_000 });
    for (let n = 0; n < 50; n += 1) cache.set(`k${n}`, textOf(1000));
    expect(cache.size).to.be.within(3, 5);
    const big = textOf(1_000_000);
    cache.set('big', big);
    expect([...cache.entries()]).to.deep.equal([['big', big]]);
    cache.set('small', {});
    expect([...cache.keys()]).to.deep.equal(['small']);
  });

  it('stays within its bounds and reports each eviction, whatever happens', () => {
    const act = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      what: fc.constantFrom('set', 'set', 'delete', 'get'),
      size: fc.nat(400),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
        const bounds = { maxCount: 3, maxBytes: 1500 };
        const model = new Map<string, object>();
        const cache = boundedCache<object>(bounds, (key) => expect(model.delete(key)).to.equal(true));
        for (const { key, what, size } of acts) {
          const value = textOf(size);
          if (what === 'set') {
            model.set(key, value);
            cache.set(key, value);
          } else if (what === 'delete') {
            model.delete(key);
            cache.delete(key);
          } else expect(cache.get(key)).to.equal(model.get(key));
          expect(new Map(cache.entries())).to.deep.equal(model);
          expect(cache.size).to.be.at.most(bounds.maxCount);
          expect(cache.calculatedSize).to.be.at.most(bounds.maxBytes);
        }
      }),
    );
  });

  it('retains nothing that was deleted while it is never full', async () => {
    const cache = boundedCache<object>({ maxCount: 1000, maxBytes: 1e9 });
    const gone: WeakRef<object>[] = [];
    for (let n = 0; n < 5000; n += 1) {
      const value = { n };
      if (n % 10 === 0) gone.push(new WeakRef(value));
      cache.set(`k${n}`, value);
      if (n >= 500) cache.delete(`k${n - 500}`);
    }
    for (let n = 4500; n < 5000; n += 1) cache.delete(`k${n}`);
    expect([cache.size, cache.calculatedSize]).to.deep.equal([0, 0]);
    // The target of a WeakRef created in this tick is kept until its end.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(gone.filter((ref) => ref.deref() !== undefined).length).to.be.at.most(1);
    // Keeps the cache alive up to here.
    expect(cache.size).to.equal(0);
  });

  it('estimates the bytes of nested values', () => {
    const big = 'x'.repeat(100_000);
    for (const value of [big, { a: { b: big } }, [big], new Map([['k', big]])]) {
      expect(roughBytes(value)).to.be.within(200_000, 201_000);
    }
    expect(roughBytes(Array.from({ length: 10_000 }, () => 'x'.repeat(36)))).to.be.within(800_000, 1_000_000);
    for (const value of [undefined, null, 1, true, {}]) expect(roughBytes(value)).to.be.at.most(100);
  });
});
