import { expect } from 'chai';
import { DeletionPlan } from '../../../application/bulk/deletion-plan.ts';
import { type RecordState, recordStream } from '../../../domain/entities/record.ts';

const CHILDREN = 30_000;
const CHAIN = 1000;

/** A record that refers to other records, by field. */
const recordOf = (id: string, values: Readonly<Record<string, string>> = {}): RecordState =>
  recordStream.evolve(
    recordStream.initial,
    {
      type: 'RecordCreated',
      data: {
        record_id: id,
        entity_name: 'node',
        values,
        types: Object.fromEntries(Object.keys(values).map((key) => [key, 'reference'] as const)),
        schema_revision: 0,
        created_by: 'ann',
      },
    },
    { at: 0, revision: 0 },
  );

/** A parent with children that refer to it by a field with the given rule. */
const family = (size: number, rule: 'restrict' | 'cascade', pause: () => Promise<void> | undefined) => {
  const children = Array.from({ length: size }, (_, nth) => `child-${nth}`);
  const plan = new DeletionPlan({
    state: async (id) => recordOf(id, id === 'parent' ? {} : { parent: 'parent' }),
    referrers: async function* (id) {
      if (id === 'parent') for (const child of children) yield { id: child };
    },
    onDelete: async () => rule,
    pause,
  });
  return { children, plan };
};

describe('A deletion plan', () => {
  it('plans a parent before its 30,000 restricting children in linear time', async () => {
    const { children, plan } = family(CHILDREN, 'restrict', () => undefined);
    const began = performance.now();
    await plan.add('parent', 'node');
    expect(plan.blockerOf('parent')).to.include({ referrerId: 'child-0', fieldKey: 'parent' });
    for (const child of children) await plan.add(child, 'node');
    expect(plan.blockerOf('parent')).to.equal(undefined);
    expect(plan.summary(new Set(['parent', ...children]))).to.deep.equal({ by_entity: [], total: 0 });
    // Time in proportion to the square of the children would be 50 s.
    expect(performance.now() - began).to.be.below(10_000);
  }).timeout(60_000);

  for (const order of ['oldest', 'newest']) {
    it(`reads each record of a blocked chain of cascades once, ${order} first`, async () => {
      const last = `node-${CHAIN - 1}`;
      let reads = 0;
      const plan = new DeletionPlan({
        state: async (id) => {
          reads += 1;
          if (id === 'guard') return recordOf(id, { guarded: last });
          return recordOf(id, { before: `node-${Number(id.slice('node-'.length)) - 1}` });
        },
        referrers: async function* (id) {
          if (id === last) yield { id: 'guard' };
          else if (id !== 'guard') yield { id: `node-${Number(id.slice('node-'.length)) + 1}` };
        },
        onDelete: async (_name, key) => (key === 'guarded' ? 'restrict' : 'cascade'),
        pause: () => undefined,
      });
      const chain = Array.from({ length: CHAIN }, (_, nth) => `node-${nth}`);
      for (const id of order === 'oldest' ? chain : chain.toReversed()) await plan.add(id, 'node');
      for (const id of chain) expect(plan.blockerOf(id)).to.include({ targetId: last, referrerId: 'guard' });
      expect(reads).to.equal(CHAIN);
      await plan.add('guard', 'node');
      for (const id of chain) expect(plan.blockerOf(id)).to.equal(undefined);
      expect(plan.summary(new Set([...chain, 'guard']))).to.deep.equal({ by_entity: [], total: 0 });
    }).timeout(60_000);
  }

  it('lets other work run between the records that a deletion takes along', async () => {
    let pauses = 0;
    const { plan } = family(CHAIN, 'cascade', () => {
      pauses += 1;
      return undefined;
    });
    await plan.add('parent', 'node');
    expect(pauses).to.be.at.least(CHAIN);
    expect(plan.summary(new Set(['parent'])).total).to.equal(CHAIN);
  });
});
