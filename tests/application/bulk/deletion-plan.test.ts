import { expect } from 'chai';
import { DeletionPlan } from '../../../application/bulk/deletion-plan.ts';
import { type RecordState, recordStream } from '../../../domain/entities/record.ts';

const CHILDREN = 30_000;

const recordOf = (id: string): RecordState =>
  recordStream.evolve(
    recordStream.initial,
    {
      type: 'RecordCreated',
      data: {
        record_id: id,
        entity_name: 'node',
        values: id === 'parent' ? {} : { parent: 'parent' },
        types: id === 'parent' ? {} : { parent: 'reference' },
        schema_revision: 0,
        created_by: 'ann',
      },
    },
    { at: 0, revision: 0 },
  );

describe('A deletion plan', () => {
  it('plans a parent before its 30,000 restricting children in linear time', async () => {
    const children = Array.from({ length: CHILDREN }, (_, nth) => `child-${nth}`);
    const plan = new DeletionPlan({
      state: async (id) => recordOf(id),
      referrers: async function* (id) {
        if (id === 'parent') for (const child of children) yield { id: child };
      },
      onDelete: async () => 'restrict',
    });
    const began = performance.now();
    await plan.add('parent', 'node');
    expect(plan.blockerOf('parent')).to.include({ referrerId: 'child-0', fieldKey: 'parent' });
    for (const child of children) await plan.add(child, 'node');
    expect(plan.blockerOf('parent')).to.equal(undefined);
    expect(plan.summary(new Set(['parent', ...children]))).to.deep.equal({ by_entity: [], total: 0 });
    // Time in proportion to the square of the children would be 50 s.
    expect(performance.now() - began).to.be.below(10_000);
  }).timeout(60_000);
});
