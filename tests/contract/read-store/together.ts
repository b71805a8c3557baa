import { expect } from 'chai';
import type { DocWrite } from '../../../application/ports/read-store.ts';
import { type Context, DOCS, newGeneration, put, type Workbench, workbench } from './support.ts';

/** Ranges read in one call. */
export function togetherTests({ store, harness }: Context): void {
  describe('Ranges that are read together', function () {
    this.timeout(60_000);
    const query = { collection: 'docs', tenant: 'acme', index: 'by_n' };
    let bench: Workbench;
    const writes = (generation: number): DocWrite[] =>
      Array.from({ length: 2500 }, (_, n) => put(`d${n}`, generation, { n, generation }));

    before(async () => {
      bench = await workbench(store());
      // Commits in parts, since on a busy machine one commit of all could exceed the store's time limit.
      for (let from = 0; from < 2500; from += 250) await bench.commit(writes(1).slice(from, from + 250), 1);
    });

    it('are complete and in order', async () => {
      const [all, some, backward, none] = await store().findAll(bench.generation, [
        query,
        { ...query, range: { gte: 10, lt: 13 } },
        { ...query, range: { lt: 3 }, order: 'desc' },
        { ...query, tenant: 'other' },
      ]);
      expect(all?.map(({ n }) => n)).to.deep.equal(Array.from({ length: 2500 }, (_, n) => n));
      expect(some?.map(({ n }) => n)).to.deep.equal([10, 11, 12]);
      expect(backward?.map(({ n }) => n)).to.deep.equal([2, 1, 0]);
      expect(none).to.deep.equal([]);
    });

    it('equal the pages that are read one by one', async () => {
      const page = async () => {
        const { docs } = await store().find(bench.generation, { ...query, limit: 5 });
        return docs.map(({ value }) => value.n);
      };
      const before = await page();
      const [all] = await store().findAll(bench.generation, [query]);
      expect(before).to.deep.equal(all?.slice(0, 5).map(({ n }) => n));
      expect(await page()).to.deep.equal(before);
    });

    it('are complete beyond the bytes of a page', async () => {
      const { generation, commit } = await workbench(store());
      const text = 'x'.repeat(300_000);
      await commit(
        Array.from({ length: 8 }, (_, n) => put(`d${n}`, 1, { n, text })),
        1,
      );
      const [all] = await store().findAll(generation, [query]);
      expect(all?.map(({ n }) => n)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7]);
    });

    it('are of one snapshot while another process commits, where the store has transactions', async function () {
      if (!harness().isAtomic) this.skip();
      const other = await harness().open();
      try {
        const few = (n: number) => [
          put('d0', n, { n: 0, generation: n }),
          put('d2499', n, { n: 2499, generation: n }),
        ];
        let isOver = false;
        const writing = (async () => {
          for (let n = 2; !isOver && n < 400; n += 1) {
            const { generation, fence } = bench;
            await other.commit({ generation, fence, writes: few(n), checkpoint: few(n)[0]?.position });
            await new Promise((resolve) => setTimeout(resolve, 2));
          }
        })();
        for (let nth = 0; nth < 15; nth += 1) {
          const [first, last] = await store().findAll(bench.generation, [
            { ...query, range: { lte: 0 } },
            { ...query, range: { gte: 2499 } },
          ]);
          expect(first?.[0]?.generation).to.equal(last?.[0]?.generation);
          await new Promise((resolve) => setTimeout(resolve, 3));
        }
        isOver = true;
        await writing;
      } finally {
        await other.close();
      }
    });

    it('are empty for an unknown generation', async () => {
      expect(await store().findAll(newGeneration(), [{ ...query, collection: DOCS.name }])).to.deep.equal([
        [],
      ]);
    });
  });
}
