import { expect } from 'chai';
import { type DocWrite, leaseNameOf } from '../../../application/ports/read-store.ts';
import { at, type Context, DOCS, isFenced, put, rejectsWith, workbench } from './support.ts';

export function redeliveryTests({ store, harness }: Context): void {
  describe('redelivery', () => {
    it('of the same batch changes nothing', async () => {
      const { commit, value, ids, generation } = await workbench(store());
      const batch = [put('a', 1, { n: 1 }), put('b', 2, { n: 2 })];
      await commit(batch, 2);
      await commit(batch, 2);
      expect(await ids()).to.deep.equal(['a', 'b']);
      expect(await value('a')).to.deep.equal({ n: 1 });
      expect((await store().state(generation)).checkpoint).to.equal(at(2));
    });

    it('of an older batch is refused and changes nothing', async () => {
      const { commit, value, ids, generation } = await workbench(store());
      const older = [put('a', 1, { n: 1 }), put('b', 1, { n: 1 }), put('new', 1, { n: 1 })];
      await commit(older.slice(0, 2), 1);
      await commit([put('a', 2, { n: 2 }), put('b', 3, null)], 3);
      await isFenced(commit(older, 1));
      expect(await value('a')).to.deep.equal({ n: 2 });
      expect(await ids()).to.deep.equal(['a']);
      expect((await store().state(generation)).checkpoint).to.equal(at(3));
    });

    it('without a checkpoint (retry of a parked tenant) neither reverts nor restores documents', async () => {
      const { commit, value, ids } = await workbench(store());
      const first = [put('a', 1, { n: 1 }), put('b', 1, { n: 1 })];
      const second = [put('a', 2, { n: 2 }), put('b', 2, null)];
      for (const batch of [first, second, first, second, first]) await commit(batch);
      expect(await value('a')).to.deep.equal({ n: 2 });
      expect(await value('b')).to.equal(undefined);
      expect(await ids()).to.deep.equal(['a']);
    });

    it('of [create, update, delete] in one batch ends deleted', async () => {
      const { commit, value, ids } = await workbench(store());
      const batch = [put('a', 1, { n: 1 }), put('a', 2, { n: 2 }), put('a', 3, null)];
      await commit(batch, 3);
      await commit(batch, 3);
      await commit(batch.slice(0, 1));
      expect(await value('a')).to.equal(undefined);
      expect(await ids()).to.deep.equal([]);
    });

    it('of a later event restores a deleted document', async () => {
      const { commit, value, ids } = await workbench(store());
      await commit([put('a', 1, { n: 1 })], 1);
      await commit([put('a', 2, null)], 2);
      await commit([put('a', 3, { n: 3 })], 3);
      expect(await value('a')).to.deep.equal({ n: 3 });
      expect(await ids()).to.deep.equal(['a']);
    });

    it('of [create, delete, create] in one batch ends created', async () => {
      const { commit, value } = await workbench(store());
      await commit([put('a', 1, { n: 1 }), put('a', 2, null), put('a', 3, { n: 3 })], 3);
      expect(await value('a')).to.deep.equal({ n: 3 });
    });

    it('of many documents writes only the newer ones', async () => {
      const { commit, value, ids } = await workbench(store());
      const all = Array.from({ length: 60 }, (_, n) => put(`d${n}`, 1, { n }));
      await commit(
        all.filter((_, n) => n % 2 === 0),
        1,
      );
      await commit([put('d0', 5, { n: 100 }), put('d2', 5, null)]);
      await commit(all, 1);
      expect(await ids()).to.have.length(59);
      expect(await value('d0')).to.deep.equal({ n: 100 });
      expect(await value('d1')).to.deep.equal({ n: 1 });
      expect(await value('d2')).to.equal(undefined);
    });

    it('keeps the entries of an array index', async () => {
      const index = { name: 'by_tag', fields: ['tags', 'n'], multi: 'tags' };
      const { generation, commit } = await workbench(store(), { ...DOCS, indexes: [index] });
      const found = async (tag: string): Promise<string[]> => {
        const query = { collection: 'docs', tenant: 'acme', index: 'by_tag', equals: [tag], limit: 10 };
        return (await store().find(generation, query)).docs.map((doc) => doc.id);
      };
      const first = [put('a', 1, { tags: ['x', 'y', 'x'], n: 1 })];
      await commit(first);
      expect([await found('x'), await found('y'), await found('z')]).to.deep.equal([['a'], ['a'], []]);
      await commit([put('a', 2, { tags: ['y', 'z'], n: 1 })]);
      await commit(first);
      expect([await found('x'), await found('y'), await found('z')]).to.deep.equal([[], ['a'], ['a']]);
      await commit([put('a', 3, { tags: [], n: 1 })]);
      expect([await found('x'), await found('y'), await found('z')]).to.deep.equal([[], [], []]);
      await commit([put('a', 4, { tags: ['x'], n: 2 })]);
      await commit([put('a', 5, null)]);
      expect(await found('x')).to.deep.equal([]);
    });

    it('after a crash between documents and checkpoint gives the same result', async function () {
      const crashing = await harness().openInterrupted?.(async () => {
        throw new Error('crash');
      });
      if (crashing === undefined) return this.skip();
      const { generation, fence, commit, ids, value } = await workbench(store());
      await commit([put('old', 1, { n: 0 }), put('b', 1, { n: 1 })], 1);
      const before = [await ids(), await value('b')];
      const crash = async (writes: DocWrite[], checkpoint: number): Promise<void> => {
        await rejectsWith(crashing.commit({ generation, fence, writes, checkpoint: at(checkpoint) }), Error);
        expect((await store().state(generation)).checkpoint).to.equal(at(1));
        if (harness().isAtomic) expect([await ids(), await value('b')]).to.deep.equal(before);
      };
      const batch = [put('a', 2, { n: 2 }), put('c', 2, { n: 2 }), put('c', 3, null), put('b', 4, null)];
      await crash(batch, 4);
      // The same events again, in smaller batches.
      await crash(batch.slice(0, 2), 2);
      await commit(batch.slice(0, 2), 2);
      await commit(batch.slice(2), 4);
      expect(await ids()).to.deep.equal(['old', 'a']);
      expect([await value('b'), await value('c')]).to.deep.equal([undefined, undefined]);
      expect((await store().state(generation)).checkpoint).to.equal(at(4));
      await crashing.close();
    });

    it('shows a batch as a whole or not at all, where the store has transactions', async function () {
      if (!harness().isAtomic) return this.skip();
      const { generation, fence, commit, ids, value } = await workbench(store());
      const seen = async () => {
        const { checkpoint } = await store().state(generation);
        return [await ids(), await value('b'), await value('c'), checkpoint];
      };
      await commit([put('b', 1, { n: 1 }), put('c', 1, { n: 1 })], 1);
      const before = await seen();
      const within: unknown[] = [];
      const watched = await harness().openInterrupted?.(async () => {
        within.push(await seen());
      });
      if (watched === undefined) return this.skip();
      const writes = [put('a', 2, { n: 0 }), put('b', 3, { n: 3 }), put('c', 2, null)];
      await watched.commit({ generation, fence, writes, checkpoint: at(3) });
      expect(within).to.deep.equal([before]);
      expect(await seen()).to.deep.equal([['a', 'b'], { n: 3 }, undefined, at(3)]);
      await watched.close();
    });

    it('by a holder that loses its lease within a commit does not move the checkpoint', async function () {
      const { generation, fence, commit, value } = await workbench(store());
      const lease = { name: leaseNameOf(generation), owner: 'tester', fence };
      const overtaken = await harness().openInterrupted?.(async () => {
        await store().releaseLease(lease);
        expect((await store().acquireLease(lease.name, 'other', 60_000))?.fence).to.equal(fence + 1);
      });
      if (overtaken === undefined) return this.skip();
      await commit([put('a', 1, { n: 1 })], 1);
      const batch = { generation, fence, writes: [put('a', 2, { n: 2 })], checkpoint: at(2) };
      await isFenced(overtaken.commit(batch));
      expect((await store().state(generation)).checkpoint).to.equal(at(1));
      if (harness().isAtomic) expect(await value('a')).to.deep.equal({ n: 1 });
      // The new holder folds the same event and continues.
      await commit([put('a', 2, { n: 2 })], 2, fence + 1);
      expect((await store().state(generation)).checkpoint).to.equal(at(2));
      await overtaken.close();
    });
  });
}
