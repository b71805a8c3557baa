import { expect } from 'chai';
import { at, type Context, workbench } from './support.ts';

/** Lists of whole collections, for checks. */
export function listTests({ store }: Context): void {
  describe('lists for checks', () => {
    it('have the live documents of all tenants once, in pages, with their keys', async () => {
      const bench = await workbench(store(), {
        name: 'docs',
        searchable: true,
        indexes: [
          { name: 'by_n', fields: ['n'] },
          { name: 'by_who', fields: ['who.id', 'n'], multi: 'who.id' },
        ],
      });
      const writes = ['acme', 'acme_2', 'bolt', 'platform'].flatMap((tenant) =>
        Array.from({ length: 5 }, (_, n) => ({
          collection: 'docs',
          tenant,
          id: `d-${n}`,
          value: {
            n,
            who: [{ id: 'ann' }, { id: `p${n}` }],
            keys: { amount: n / 3, big: 1e21, text: 'ü\u0000"\\' },
            state: 'new',
          },
          position: at(n + 1),
        })),
      );
      await bench.commit(writes, 10);
      await bench.commit(
        [{ collection: 'docs', tenant: 'bolt', id: 'd-3', value: null, position: at(11) }],
        11,
      );
      const seen: string[] = [];
      for (let after: { tenant: string; id: string } | undefined; ; ) {
        const page = await store().list(bench.generation, 'docs', after, 3);
        for (const { tenant, id, doc, isIndexed } of page) {
          seen.push(`${tenant}/${id}`);
          expect([isIndexed, doc?.position]).to.deep.equal([true, at(Number(id.slice(2)) + 1)]);
          expect(doc?.value.n).to.equal(Number(id.slice(2)));
        }
        if (page.length < 3) break;
        after = page.at(-1);
      }
      const wanted = writes.map(({ tenant, id }) => `${tenant}/${id}`).filter((each) => each !== 'bolt/d-3');
      expect(seen.toSorted()).to.deep.equal(wanted.toSorted());
    });

    it('are empty for an unknown generation', async () => {
      const { generation } = await workbench(store());
      expect(await store().list({ ...generation, tag: 'v9' }, 'docs', undefined, 10)).to.deep.equal([]);
      expect(await store().list(generation, 'others', undefined, 10)).to.deep.equal([]);
    });
  });
}
