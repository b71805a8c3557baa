import { expect } from 'chai';
import { type EventStore, StoreUnavailable } from '../../../application/ports/event-store.ts';
import { rejection } from '../../support/eventually.ts';
import { defineNodes, type Entities, flawsIn, request, startEntities, TENANT } from './support.ts';

const create = (node: Entities, values: Record<string, unknown> = {}) =>
  node.records.create(TENANT, 'node', values, request());

/** A node whose creations of records get no answer, and land when `land` is called. */
const late = (healthy: Entities) => {
  let pending: (() => Promise<unknown>) | undefined;
  const hold = (events: EventStore): EventStore => ({
    ...events,
    append: async (stream, expected, appended) => {
      if (appended.every(({ type }) => type !== 'RecordCreated'))
        return events.append(stream, expected, appended);
      pending = () => events.append(stream, expected, appended);
      throw new StoreUnavailable('no answer in time');
    },
  });
  const land = async (): Promise<unknown> => {
    if (pending === undefined) throw new Error('nothing was appended');
    return pending();
  };
  return { node: startEntities(healthy.shared, hold), land };
};

/** docs/decisions/0011-references-are-registered-first.md */
describe('A write of a reference that got no answer', () => {
  it('does not land once its target is deleted', async () => {
    const healthy = startEntities();
    await defineNodes(healthy);
    const target = (await create(healthy)).record.id;
    const { node, land } = late(healthy);
    expect(await rejection(create(node, { cascade: target }))).to.be.instanceOf(StoreUnavailable);
    await healthy.deletions.delete(TENANT, 'node', target, {}, request());
    await rejection(land());
    expect(await flawsIn(healthy)).to.deep.equal([]);
  });

  it('is found by a deletion when it landed before the deletion', async () => {
    const healthy = startEntities();
    await defineNodes(healthy);
    const target = (await create(healthy)).record.id;
    const { node, land } = late(healthy);
    await rejection(create(node, { restrict: target }));
    await land();
    const deleting = healthy.deletions.delete(TENANT, 'node', target, {}, request());
    expect(await rejection(deleting)).to.have.property('code', 'in_use');
    expect(await flawsIn(healthy)).to.deep.equal([]);
  });
});
