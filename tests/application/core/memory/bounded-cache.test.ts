import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  BoundedCache,
  CacheBudget,
  PER_ENTRY,
  roughBytes,
} from '../../../../application/core/memory/bounded-cache.ts';

/** Runs V8’s garbage collector, which a flag exposes. */
const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof gc !== 'function') throw new Error('no garbage collector is shown');
  gc();
};

describe('A bounded cache', () => {
  it('evicts the oldest entries by count', () => {
    const dropped: string[] = [];
    const cache = new BoundedCache<number>({ maxCount: 3, maxBytes: 1e9 }, (key) => dropped.push(key));
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      cache.set(key, 1);
      cache.trim();
    }
    expect(dropped).to.deep.equal(['a', 'b']);
    expect(cache.get('a')).to.equal(undefined);
    expect(cache.get('e')).to.equal(1);
  });

  it('evicts the oldest entries by size, and keeps one larger than its budget', () => {
    const cache = new BoundedCache<string>({ maxCount: 100, maxBytes: 10_000 });
    for (let n = 0; n < 50; n += 1) {
      cache.set(`k${n}`, 'x'.repeat(1000));
      cache.trim();
      expect(cache.bytes).to.be.at.most(10_000);
    }
    cache.set('big', 'x'.repeat(1_000_000));
    cache.trim();
    expect([cache.size, cache.get('big')?.length]).to.deep.equal([1, 1_000_000]);
  });

  it('keeps an entry that was read since its last check, and evicts it when it was not', () => {
    const cache = new BoundedCache<number>({ maxCount: 3, maxBytes: 1e9 });
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

  it('counts its size correctly in any sequence', () => {
    const act = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      what: fc.constantFrom('set', 'delete', 'get', 'trim'),
      text: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const cache = new BoundedCache<string>({ maxCount: 3, maxBytes: 600 });
        for (const { key, what, text } of acts) {
          if (what === 'set') cache.set(key, text);
          else if (what === 'delete') cache.delete(key);
          else if (what === 'get') cache.get(key);
          else cache.trim();
        }
        cache.trim();
        const held = ['a', 'b', 'c', 'd'].map((key) => cache.get(key)).filter((text) => text !== undefined);
        expect(cache.size).to.equal(held.length).and.at.most(3);
        expect(cache.bytes).to.equal(held.reduce((sum, text) => sum + PER_ENTRY + 1 + roughBytes(text), 0));
      }),
    );
  });

  it('keeps a budget that several caches share', () => {
    const act = fc.record({
      at: fc.nat(2),
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      what: fc.constantFrom('set', 'set', 'delete', 'get', 'clear'),
      size: fc.nat(400),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
        const bounds = { maxCount: 6, maxBytes: 3000 };
        const budget = new CacheBudget(bounds);
        const dropped: string[] = [];
        const caches = [0, 1, 2].map(
          (at) => new BoundedCache<string>(budget, (key) => dropped.push(`${at}${key}`)),
        );
        const model = new Map<string, string>();
        for (const { at, key, what, size } of acts) {
          const cache = caches[at];
          if (cache === undefined) throw new Error('no such cache');
          if (what === 'set') {
            cache.set(key, 'x'.repeat(size));
            model.set(`${at}${key}`, 'x'.repeat(size));
          } else if (what === 'delete') {
            cache.delete(key);
            model.delete(`${at}${key}`);
          } else if (what === 'clear') {
            cache.clear();
            for (const known of [...model.keys()]) if (known.startsWith(`${at}`)) model.delete(known);
          } else expect(cache.get(key)).to.equal(model.get(`${at}${key}`));
          cache.trim();
          // Every eviction is reported, and nothing else is lost.
          for (const gone of dropped.splice(0)) expect(model.delete(gone), gone).to.equal(true);
          const sizes = [...model.values()].map((text) => PER_ENTRY + 1 + roughBytes(text));
          const bytes = sizes.reduce((sum, each) => sum + each, 0);
          expect(budget.bytes).to.equal(bytes);
          expect(caches.reduce((sum, each) => sum + each.size, 0)).to.equal(model.size);
          expect(model.size).to.be.at.most(bounds.maxCount);
          if (model.size > 1) expect(bytes).to.be.at.most(bounds.maxBytes);
        }
      }),
    );
  });

  it('retains no deleted entry when it is never full', async () => {
    const cache = new BoundedCache<object>({ maxCount: 1000, maxBytes: 1e9 });
    const gone: WeakRef<object>[] = [];
    for (let n = 0; n < 5000; n += 1) {
      const value = { n };
      if (n % 10 === 0) gone.push(new WeakRef(value));
      cache.set(`k${n}`, value);
      cache.trim();
      if (n >= 500) cache.delete(`k${n - 500}`);
    }
    for (let n = 4500; n < 5000; n += 1) cache.delete(`k${n}`);
    expect([cache.size, cache.bytes]).to.deep.equal([0, 0]);
    // The target of a WeakRef stays alive until the end of the tick in which the WeakRef was created.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(gone.filter((ref) => ref.deref() !== undefined).length).to.be.at.most(1);
    // Keeps the cache itself alive up to here.
    expect(cache.size).to.equal(0);
  });

  it('measures nested values', () => {
    const big = 'x'.repeat(100_000);
    for (const value of [big, { a: { b: big } }, [big], new Map([['k', big]])]) {
      expect(roughBytes(value)).to.be.within(200_000, 201_000);
    }
    expect(roughBytes(Array.from({ length: 10_000 }, () => 'x'.repeat(36)))).to.be.within(800_000, 1_000_000);
    for (const value of [undefined, null, 1, true, {}]) expect(roughBytes(value)).to.be.at.most(100);
  });
});
