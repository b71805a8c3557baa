import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { expect } from 'chai';
import { TimeSlices } from '../../application/core/concurrency/time-slices.ts';
import { nodeTimers, useTimers } from '../../application/core/runtime/timers.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import type { DocWrite, ReadStore } from '../../application/ports/read-store.ts';
import { SearchGivenUp } from '../../application/ports/searches.ts';
import { parseFilter } from '../../domain/expressions/filter.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import { type SlotLimits, searchSlots } from '../../infrastructure/read-store/sqlite/search-slots.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { documentOf } from '../support/filters.ts';
import { put, rejectsWith, type Workbench, workbench } from './read-store/support.ts';

/** Time that one search may hold the thread, measured in rows and bytes, which do not depend on load. */
describe('SQLite read store: costly searches', () => {
  const SMALL = 600;
  const LARGE = 300;
  const fields: FieldSpecs = { t: { type: 'long_text' } };
  const base = { collection: 'docs', tenant: 'acme', index: 'by_entity', equals: ['order'], now: 0 };
  const filter = parseFilter(
    Array.from({ length: 20 }, (_, n) => `t.contains("needle${n}")`).join(' || '),
    fields,
  );
  let folder: string;
  let store: ReadStore;
  let bench: Workbench;
  let slices: { rows: number; bytes: number }[] = [];
  let ticksAtSlice: number[] = [];
  let ticks = 0;
  /** Documents that are written after the next slice, before the documents of the page are read. */
  let meanwhile: DocWrite[] = [];
  let checkpoint = 10_000;

  const open = (limits: Partial<SlotLimits> & { sliceMs?: number } = {}) =>
    openSqliteReadStore({
      path: join(folder, 'read.db'),
      limits: {
        ...limits,
        onSlice: (slice) => {
          slices.push(slice);
          ticksAtSlice.push(ticks);
          if (meanwhile.length === 0) return;
          checkpoint += 1;
          // A commit to SQLite is over when the call returns.
          void bench.commit(meanwhile.splice(0), checkpoint);
        },
      },
    });

  before(async function () {
    this.timeout(60_000);
    folder = await mkdtemp(join(tmpdir(), 'costly-'));
    store = await open();
    const indexes = [{ name: 'by_entity', fields: ['entity_name', 'created_at'] }];
    bench = await workbench(store, { name: 'docs', indexes, searchable: true });
    const large = 'x'.repeat(200_000);
    const writes = Array.from({ length: SMALL + LARGE }, (_, n) => {
      const at = new Date(n * 1000).toISOString();
      const values = { t: n < SMALL ? 'x' : large };
      const record = {
        id: `r${String(n).padStart(3, '0')}`,
        state: null,
        created_at: at,
        updated_at: at,
        values,
      };
      return put(record.id, 1, documentOf(record, fields));
    });
    for (let from = 0; from < writes.length; from += 50) {
      await bench.commit(writes.slice(from, from + 50), from + 1);
    }
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => {
    slices = [];
    ticksAtSlice = [];
    ticks = 0;
  });

  /** Counts ticks of other work while `work` runs. */
  async function counting<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const tick = (): void => {
      ticks += 1;
      if (!over) setImmediate(tick);
    };
    setImmediate(tick);
    try {
      return await work;
    } finally {
      over = true;
    }
  }

  it('scan few rows and few bytes per slice, with a tick between slices', async () => {
    const other = await open({ deadlineMs: 60_000 });
    const found = await counting(
      other.search(bench.generation, { ...base, filter, order: 'desc', limit: 5 }),
    );
    await other.close();
    expect(found).to.deep.equal({ docs: [] });
    expect(slices.reduce((sum, { rows }) => sum + rows, 0)).to.equal(SMALL + LARGE);
    expect(slices[0]?.rows, 'rows of 200 KB in the first slice').to.equal(1);
    // 16 such rows cannot be scanned 60 times within 8 ms.
    expect(Math.max(...slices.map(({ bytes }) => bytes))).to.be.below(16 * 201_000);
    expect(new Set(ticksAtSlice).size, 'slices with a tick of others in between').to.equal(slices.length);
  }).timeout(60_000);

  it('scan fewer rows per slice when the rows are large', async () => {
    // This limit allows slices of any duration.
    const other = await open({ sliceMs: 1e9, deadlineMs: 60_000 });
    await other.count(bench.generation, { ...base, filter: parseFilter('t.contains("needle")', fields) });
    await other.close();
    expect(slices[0]?.rows).to.equal(8);
    const largest = Math.max(...slices.map(({ rows }) => rows));
    expect(largest, 'small rows in a slice').to.be.within(100, SMALL);
    for (const [nth, { rows, bytes }] of slices.entries()) {
      const allowed = Math.max(64 * 1024, 2 * (slices[nth - 1]?.bytes ?? 128 * 1024));
      expect(rows === 1 || bytes <= allowed, `slice ${nth}: ${rows} rows, ${bytes} bytes`).to.equal(true);
    }
  }).timeout(60_000);

  it('scan one row per slice while slices take too long', async () => {
    const other = await open({ sliceMs: -1, deadlineMs: 60_000 });
    await other.count(bench.generation, { ...base, filter: parseFilter('t == "x"', fields) });
    await other.close();
    expect(slices.slice(0, 5).map(({ rows }) => rows)).to.deep.equal([8, 1, 1, 1, 1]);
    expect(slices.slice(5).every(({ rows }) => rows <= 1)).to.equal(true);
  }).timeout(60_000);

  it('end at their deadline, and do not delay a plain page', async () => {
    const other = await open({ deadlineMs: 200, waiting: 1 });
    const long = () => other.count(bench.generation, { ...base, filter });
    const results = Promise.allSettled([long(), long(), long()]);
    const page = await other.search(bench.generation, { ...base, limit: 2 });
    expect(page.docs.map(({ id }) => id)).to.deep.equal(['r000', 'r001']);
    for (const result of await results) {
      expect(result.status).to.equal('rejected');
      if (result.status === 'rejected') expect(result.reason).to.be.instanceOf(SearchGivenUp);
    }
    await other.close();
  });

  it('do not delay any of many searches that an index answers', async () => {
    const scoped = await workbench(store, {
      name: 'docs',
      indexes: [{ name: 'by_entity', fields: ['entity_name', 'created_at'] }],
      searchable: true,
      scopedBy: 'entity_name',
    });
    const writes = Array.from({ length: SMALL }, (_, n) => {
      const at = new Date(n * 1000).toISOString();
      const record = { id: `r${n}`, state: null, created_at: at, updated_at: at, values: { t: `x${n}` } };
      return put(record.id, 1, documentOf(record, fields));
    });
    await scoped.commit(writes, 1);
    const other = await open({ deadlineMs: 60_000, atOnce: 1, waiting: 1 });
    const long = other.count(scoped.generation, { ...base, filter: parseFilter('t.endsWith("7")', fields) });
    const found = await Promise.all(
      Array.from({ length: 128 }, (_, n) =>
        other.ids(scoped.generation, { ...base, filter: parseFilter(`t == "x${n}"`, fields), limit: 5 }),
      ),
    );
    expect(found.flatMap(({ ids }) => ids)).to.deep.equal(Array.from({ length: 128 }, (_, n) => `r${n}`));
    expect(await long).to.equal(60);
    await other.close();
  });

  it('return the documents as they are when the page is read, and none that no longer match', async () => {
    const at = new Date(2000).toISOString();
    const changed = (id: string, state: string | null, t: string) =>
      put(id, 2, documentOf({ id, state, created_at: at, updated_at: at, values: { t } }, fields));
    meanwhile = [put('r001', 2, null), changed('r002', null, 'y'), changed('r003', 'new', 'x')];
    const query = { ...base, filter: parseFilter('t == "x"', fields) };
    const { docs, next } = await store.search(bench.generation, { ...query, limit: 4 });
    expect(docs.map(({ id, value }) => [id, value.state])).to.deep.equal([
      ['r000', null],
      ['r003', 'new'],
    ]);
    expect(next?.id).to.equal('r003');
    meanwhile = [put('r000', 2, null)];
    const first = await store.search(bench.generation, { ...query, limit: 1 });
    expect(
      first.docs.map(({ id }) => id),
      'no empty page that others follow',
    ).to.deep.equal(['r003']);
  });
});

describe('Search slots', () => {
  let restore = (): void => undefined;
  afterEach(() => restore());

  const LIMITS: SlotLimits = { atOnce: 2, waiting: 4, waitingOfTenant: 2, deadlineMs: 60_000 };

  /** Searches that end on request. */
  function bench(limits: Partial<SlotLimits> = {}) {
    const slots = searchSlots({ ...LIMITS, ...limits });
    const running = new Map<string, () => void>();
    const begin = (name: string): Promise<string> =>
      slots(name.slice(0, 1), async () => {
        await new Promise<void>((resolve) => running.set(name, resolve));
        running.delete(name);
        return name;
      });
    const end = async (name: string): Promise<void> => {
      running.get(name)?.();
      for (let tick = 0; tick < 3; tick += 1) await nextTick();
    };
    return { begin, end, names: () => [...running.keys()].join(' ') };
  }

  it('admit two searches at a time, one per tenant, in order of arrival', async () => {
    const { begin, end, names } = bench();
    const all = Promise.all(['a1', 'a2', 'b1', 'c1', 'b2'].map(begin));
    await nextTick();
    expect(names()).to.equal('a1 b1');
    await end('b1');
    expect(names(), 'another tenant goes before the second of one that runs').to.equal('a1 c1');
    await end('a1');
    expect(names()).to.equal('c1 a2');
    await end('c1');
    expect(names()).to.equal('a2 b2');
    await end('a2');
    await end('b2');
    expect(await all).to.deep.equal(['a1', 'a2', 'b1', 'c1', 'b2']);
  });

  it('share ticks evenly: a short search ends while long ones of other tenants run', async () => {
    const slots = searchSlots({ ...LIMITS, atOnce: 32 });
    let clock = 0;
    restore = useTimers({ ...nodeTimers, monotonic: () => clock });
    const timeSlices = new TimeSlices();
    const granted: string[] = [];
    const scan = (tenant: string, slices: number) =>
      slots(tenant, async () => {
        for (let nth = 0; nth < slices; nth += 1) {
          await timeSlices.of(tenant, 'search').next();
          granted.push(tenant);
          // Each search uses the whole time of its tick.
          clock += 5;
        }
      });
    const long = [scan('a', 50), scan('b', 50)];
    for (let tick = 0; tick < 10; tick += 1) await nextTick();
    const before = granted.length;
    expect(before, 'at most one slice per tick').to.be.within(1, 11);
    await scan('c', 3);
    expect(granted.length - before, 'slices granted until its end').to.be.within(3, 12);
    await Promise.all(long);
    expect(granted).to.have.length(103);
  });

  it('refuse searches when too many wait, of one tenant or in total', async () => {
    const { begin, end } = bench();
    const held = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(begin);
    await rejectsWith(begin('a4'), SearchGivenUp);
    await rejectsWith(begin('d1'), StoreUnavailable);
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3', 'c1', 'a3', 'c1']) await end(name);
    expect(await Promise.all(held)).to.have.length(6);
  });

  it('are released by a failed search', async () => {
    const slots = searchSlots({ ...LIMITS, atOnce: 1 });
    const failing = slots('a', () => Promise.reject(new TypeError('broken')));
    const next = slots('b', async () => 'next');
    await rejectsWith(failing, TypeError);
    expect(await next).to.equal('next');
  });

  it('count the wait towards the deadline', async () => {
    const { begin, end } = bench({ deadlineMs: 20 });
    const held = [begin('a1'), begin('b1')];
    await rejectsWith(begin('c1'), SearchGivenUp);
    await end('a1');
    await end('b1');
    await Promise.all(held);
    const slots = searchSlots(LIMITS);
    const before = performance.now();
    const deadline = await slots('a', async (given) => given);
    expect(deadline - LIMITS.deadlineMs).to.be.within(before, performance.now());
  });
});
