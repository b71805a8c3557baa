import { expect } from 'chai';
import fc from 'fast-check';
import { BoundedCache, CacheBudget } from '../../../../application/core/memory/bounded-cache.ts';
import { Generation } from '../../../../application/core/projections/generation.ts';
import type { ReadStore } from '../../../../application/ports/read-store.ts';
import { silentMetrics } from '../../../support/fakes.ts';
import {
  endOf,
  GENERATION,
  poison,
  type ReadModelKit,
  readModelKit,
  tallies,
} from '../../../support/read-model-kit.ts';

const folderIn = async (
  kit: ReadModelKit,
  budget: CacheBudget,
  store: ReadStore = kit.store,
): Promise<Generation> => {
  const { codec, logger, clock } = kit.node;
  const deps = { store, events: kit.events, codec, logger, clock, metrics: silentMetrics, budget };
  const folder = new Generation(tallies(), GENERATION, deps);
  await kit.store.prepare(GENERATION, tallies().collections);
  await folder.begin(await kit.lease());
  return folder;
};

const TENANTS = ['acme', 'beta', 'gamma'];

const documentsOf = async (kit: ReadModelKit) => {
  const lists = ['tallies', 'entries'].map((name) => kit.store.list(GENERATION, name, undefined, 1000));
  return (await Promise.all(lists)).flat();
};

describe('the memory of a generation', () => {
  beforeEach(() => {
    poison.active = false;
  });

  it('gives the same result with any budget, also when another cache fills it', async () => {
    const entries = fc.array(fc.tuple(fc.nat(2), fc.nat(4)), { minLength: 1, maxLength: 25 });
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(entries, sizes, fc.nat(6), async (story, batches, spare) => {
        const found: unknown[] = [];
        for (const maxCount of [1_000_000, spare + 1]) {
          const kit = await readModelKit();
          for (const [nth, [tenant, what]] of story.entries()) {
            await kit.write(TENANTS[tenant] ?? '', what === 0 ? 'CLOSE' : `e${what}`, `${nth}`);
          }
          const shared = new CacheBudget({ maxCount, maxBytes: 1e9 });
          const other = new BoundedCache<number>(shared);
          // While documents are read, another cache fills the budget.
          const store: ReadStore = {
            ...kit.store,
            load: async (generation, keys) => {
              const docs = await kit.store.load(generation, keys);
              for (let n = 0; n < 10; n += 1) other.set(`${n}`, n);
              other.trim();
              return docs;
            },
          };
          const folder = await folderIn(kit, shared, store);
          for (let nth = 0; ; nth += 1) {
            const limit = batches[nth % batches.length] ?? 1;
            const batch = await kit.events.readAll({ from: folder.checkpoint, limit });
            if (batch.length === 0) break;
            await folder.apply(batch, endOf(batch));
          }
          found.push(await documentsOf(kit));
          await kit.store.close();
        }
        expect(found[1]).to.deep.equal(found[0]);
      }),
      { numRuns: 40 },
    );
  }).timeout(120_000);

  it('stays within the shared budget', async () => {
    const bounds = { maxCount: 20, maxBytes: 20_000 };
    const budget = new CacheBudget(bounds);
    const kits = await Promise.all([readModelKit(), readModelKit()]);
    const folders = await Promise.all(kits.map((kit) => folderIn(kit, budget)));
    for (let n = 0; n < 60; n += 1) {
      for (const [nth, kit] of kits.entries()) {
        await kit.write(`tenant${n % 30}`, `e${n}`);
        const folder = folders[nth];
        const batch = await kit.events.readAll({ from: folder?.checkpoint });
        await folder?.apply(batch, endOf(batch));
        expect(budget.bytes).to.be.at.most(bounds.maxBytes);
      }
    }
    for (const kit of kits) expect(await kit.tally('tenant3')).to.deep.equal(['e3', 'e33']);
  }).timeout(30_000);

  it('keeps repeatedly folded documents and does not read them again', async () => {
    const kit = await readModelKit();
    const asked: string[] = [];
    const store: ReadStore = {
      ...kit.store,
      load: (generation, keys) => {
        asked.push(...keys.map(({ collection, id }) => `${collection}/${id}`));
        return kit.store.load(generation, keys);
      },
    };
    const budget = new CacheBudget({ maxCount: 100, maxBytes: 1e6 });
    const folder = await folderIn(kit, budget, store);
    for (const entry of ['e1', 'e2', 'e3', 'e4']) {
      await kit.write('acme', entry);
      const batch = await kit.events.readAll({ from: folder.checkpoint });
      await folder.apply(batch, endOf(batch));
    }
    // The first batch looks for the tally and creates it, the next two load it, the fourth uses the kept one.
    // Entries are never changed again.
    const tallied = asked.filter((key) => key.startsWith('tallies/'));
    expect(tallied).to.deep.equal(['tallies/one', 'tallies/one', 'tallies/one']);
    expect(await kit.tally('acme')).to.deep.equal(['e1', 'e2', 'e3', 'e4']);
    expect(budget.bytes).to.be.within(1, 2000);
  });

  it('does not keep documents that are read once', async () => {
    const kit = await readModelKit();
    const budget = new CacheBudget({ maxCount: 1000, maxBytes: 1e9 });
    const fold = async (folder: Generation) => {
      const batch = await kit.events.readAll({ from: folder.checkpoint });
      await folder.apply(batch, endOf(batch));
    };
    const folder = await folderIn(kit, budget);
    const tenants = Array.from({ length: 20 }, (_, n) => `tenant${n}`);
    for (const tenant of tenants) await kit.write(tenant, 'e1');
    await fold(folder);
    for (const tenant of tenants) await kit.write(tenant, 'e2');
    await fold(folder);
    expect(budget.bytes).to.equal(0);
    await kit.write('tenant0', 'e3');
    await fold(folder);
    expect(budget.bytes).to.be.within(1, 1000);
    expect(await kit.tally('tenant0')).to.deep.equal(['e1', 'e2', 'e3']);
  }).timeout(30_000);
});
