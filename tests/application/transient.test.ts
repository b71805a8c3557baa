import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import fc from 'fast-check';
import { TransientMap, TransientSet } from '../../application/ports/transient.ts';

const RUNS = 200;
/** Long enough for many tables: a new one comes after 64 additions at the earliest. */
const acts = fc.array(
  fc.record({
    what: fc.oneof(
      { weight: 12, arbitrary: fc.constant('put' as const) },
      { weight: 6, arbitrary: fc.constant('delete' as const) },
      { weight: 3, arbitrary: fc.constant('find' as const) },
      { weight: 1, arbitrary: fc.constant('look' as const) },
    ),
    key: fc.oneof(
      { weight: 9, arbitrary: fc.nat(120) },
      { weight: 1, arbitrary: fc.constantFrom(Number.NaN, -0, undefined, '', '0') },
    ),
    /** Everything goes now and then, and not so often that there is never much. */
    clears: fc.integer({ min: 0, max: 199 }).map((drawn) => drawn === 0),
  }),
  { minLength: 1, maxLength: 1500, size: 'max' },
);
type Act = typeof acts extends fc.Arbitrary<(infer One)[]> ? One : never;
type Key = Act['key'];

/** What each act answers, and what is there in the end. */
const toldByMap = (map: Map<Key, unknown> | TransientMap<Key, unknown>, done: readonly Act[]): unknown[] => {
  const act = ({ what, key, clears }: Act, nth: number): unknown => {
    if (clears) return map.clear();
    switch (what) {
      case 'put':
        // Every tenth value is none: what is there with nothing is there all the same.
        return map.set(key, nth % 10 === 0 ? undefined : nth) === map;
      case 'delete':
        return map.delete(key);
      case 'find':
        return [map.has(key), map.get(key)];
      case 'look':
        return [[...map.keys()], [...map.values()], [...map]];
      default:
        return what satisfies never;
    }
  };
  return [...done.map((each, nth) => [act(each, nth), map.size]), [...map]];
};

const toldBySet = (set: Set<Key> | TransientSet<Key>, done: readonly Act[]): unknown[] => {
  const act = ({ what, key, clears }: Act): unknown => {
    if (clears) return set.clear();
    switch (what) {
      case 'put':
        return set.add(key) === set;
      case 'delete':
        return set.delete(key);
      case 'find':
        return set.has(key);
      case 'look':
        return [...set];
      default:
        return what satisfies never;
    }
  };
  return [...done.map((each) => [act(each), set.size]), [...set]];
};

/** Additions after which a new table is taken at least once, with a few or with many entries. */
const MANY = 1000;

/** What went through, about a kilobyte each. */
const PASSED = 100_000;
const MIB = 1024 * 1024;
/** No full collection comes in between: it would let go of what is kept. */
const FLAGS = [
  '--expose-gc',
  '--max-semi-space-size=8',
  '--initial-old-space-size=1024',
  '--no-allocation-site-pretenuring',
];

/**
 * Grows old, and then has a hundred megabytes pass, of which sixteen kilobytes are there at a time. Tells by how much that
 * which only a full collection takes away has grown.
 */
const script = (made: string): string => `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { TransientMap, TransientSet } from '${new URL('../../application/ports/transient.ts', import.meta.url)}';
  const room = new ${made}();
  const put = room instanceof Map || room instanceof TransientMap
    ? (key, payload) => room.set(key, payload)
    : (key) => room.add(key);
  const pass = (count) => {
    const there = [];
    for (let nth = 0; nth < count; nth += 1) {
      const key = { nth, payload: new Array(128).fill(nth) };
      put(key, key.payload);
      there.push(key);
      if (there.length > 16) room.delete(there.shift());
    }
    for (const key of there) room.delete(key);
  };
  const old = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
  pass(1000);
  gc();
  gc();
  const before = old();
  pass(${PASSED});
  console.log(JSON.stringify({ grown: old() - before, left: room.size }));
`;

/** @returns MiB */
const grownBy = async (made: 'Map' | 'Set' | 'TransientMap' | 'TransientSet'): Promise<number> => {
  const child = spawn(process.execPath, [...FLAGS, '--input-type=module', '-e', script(made)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const [told, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(code).to.equal(0);
  const { grown, left } = JSON.parse(told);
  expect(left).to.equal(0);
  return Number(grown) / MIB;
};

describe('A transient map', () => {
  it('is a map, whatever is done with it', () => {
    fc.assert(
      fc.property(acts, (done) => {
        expect(toldByMap(new TransientMap(), done)).to.deep.equal(toldByMap(new Map(), done));
      }),
      { numRuns: RUNS },
    );
  });

  it('keeps its order while thousands go through', () => {
    const map = new TransientMap<number, number>();
    const like = new Map<number, number>();
    for (let nth = 0; nth < 50 * MANY; nth += 1) {
      for (const each of [map, like]) {
        each.set(nth, nth);
        // The first stays where it is, the second goes to the end again and again.
        each.set(0, nth);
        each.delete(1);
        each.set(1, nth);
        each.delete(nth - 40);
      }
      if (nth % MANY === 0) expect([...map]).to.deep.equal([...like]);
    }
    expect([...map]).to.deep.equal([...like]);
  });

  it('lets what has not been passed yet go while one passes through', () => {
    const map = new TransientMap<number, string>();
    for (let nth = 0; nth < MANY; nth += 1) map.set(nth, `${nth}`);
    const seen: number[] = [];
    for (const key of map.keys()) {
      seen.push(key);
      map.delete(key);
      map.delete(key + 1);
    }
    expect(seen).to.deep.equal(Array.from({ length: MANY / 2 }, (_, nth) => 2 * nth));
    expect(map.size).to.equal(0);
  });

  it('keeps nothing of what went through it once it is old', async function () {
    this.timeout(120_000);
    expect(await grownBy('TransientMap')).to.be.below(4);
  });

  it('is needed: a plain one keeps all that', async function () {
    this.timeout(120_000);
    // Where this fails the engine has mended it, and a plain Map will do everywhere.
    expect(await grownBy('Map')).to.be.above(40);
  });
});

describe('A transient set', () => {
  it('is a set, whatever is done with it', () => {
    fc.assert(
      fc.property(acts, (done) => {
        expect(toldBySet(new TransientSet(), done)).to.deep.equal(toldBySet(new Set(), done));
      }),
      { numRuns: RUNS },
    );
  });

  it('lets each go that one comes to', () => {
    const set = new TransientSet<number>();
    for (let nth = 0; nth < MANY; nth += 1) set.add(nth);
    let seen = 0;
    for (const each of set) {
      set.delete(each);
      seen += 1;
    }
    expect([seen, set.size]).to.deep.equal([MANY, 0]);
  });

  it('keeps nothing of what went through it once it is old', async function () {
    this.timeout(120_000);
    expect(await grownBy('TransientSet')).to.be.below(4);
  });

  it('is needed: a plain one keeps all that', async function () {
    this.timeout(120_000);
    // As with the map.
    expect(await grownBy('Set')).to.be.above(40);
  });
});
