import { expect } from 'chai';
import fc from 'fast-check';
import { create, DELETE, memoryLeases, startBulk } from '../application/bulk/support.ts';
import { defineNodes, flawsIn, recordsIn, TENANT } from '../application/entities/support.ts';

/** Records that refer to earlier records by any field, and a selection of them. */
const graphs = fc.integer({ min: 2, max: 9 }).chain((size) =>
  fc.record({
    size: fc.constant(size),
    edges: fc.array(
      fc.record({
        from: fc.nat(size - 1),
        to: fc.nat(size - 1),
        key: fc.constantFrom('cascade', 'clear', 'restrict'),
      }),
      { maxLength: 14 },
    ),
    selected: fc.uniqueArray(fc.nat(size - 1), { minLength: 1 }),
  }),
);

describe('A bulk deletion of any records that refer to each other', () => {
  it('equals its preview in any order, and completes', async () => {
    await fc.assert(
      fc.asyncProperty(graphs, fc.constantFrom(1, 4), async ({ size, edges, selected }, width) => {
        const node = startBulk({}, memoryLeases(), { width });
        await defineNodes(node);
        const ids: string[] = [];
        for (let i = 0; i < size; i += 1) {
          const own = edges.filter(({ from, to }) => from === i && to < i);
          ids.push(await create(node, Object.fromEntries(own.map(({ key, to }) => [key, ids[to]]))));
        }
        const rows = selected.map((i) => ids[i] ?? '');
        const id = await node.begin(rows, DELETE);
        expect(await node.runner.commit(TENANT, id)).to.equal(true);
        await node.deliver();
        const { counts, cascadeSummary, result } = await node.session(id);
        expect(result).to.include({
          succeeded: counts.would_succeed,
          skipped: counts.would_skip,
          errored: counts.would_error,
        });
        expect(result?.cascade_applied).to.deep.equal(cascadeSummary);
        expect(await flawsIn(node)).to.deep.equal([]);
        const found = await recordsIn(node.shared.events, node.codec);
        const gone = ids.filter((each) => found.get(each)?.state.status === 'deleted');
        const beside = gone.filter((each) => !rows.includes(each)).length;
        expect(gone.length - beside).to.equal(counts.would_succeed);
        const counted = cascadeSummary?.by_entity.find(({ action }) => action === 'delete')?.count ?? 0;
        expect(counted).to.equal(beside);
      }),
      { numRuns: 60 },
    );
  }).timeout(120_000);
});
