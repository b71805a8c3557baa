import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { defineNodes, type Entities, request, startEntities, TENANT } from './support.ts';

describe('Reads of concurrent writers', () => {
  let reads: { stream: string; backward: boolean }[];
  let node: Entities;

  const counted = (events: EventStore): EventStore => ({
    ...events,
    readStream: (stream, options = {}) => {
      reads.push({ stream, backward: options.direction === 'backward' });
      return events.readStream(stream, options);
    },
  });
  const ofSchema = (): number => reads.filter(({ stream }) => stream.includes('.schema-')).length;

  beforeEach(async () => {
    reads = [];
    node = startEntities({}, counted);
    await defineNodes(node);
    reads = [];
  });

  it('of one schema are shared, and later callers read again', async () => {
    await Promise.all(Array.from({ length: 50 }, () => node.schemas.requireLatest(TENANT, 'node')));
    expect(ofSchema()).to.equal(1);
    await node.schemas.requireLatest(TENANT, 'node');
    expect(ofSchema()).to.equal(2);
  });

  it('of one schema see another process’s write from just before', async () => {
    const other = startEntities(node.shared);
    const seen: (string | null)[] = [];
    for (let round = 0; round < 5; round += 1) {
      const label = `Label ${round}`;
      await other.schemas.change(TENANT, 'node', { label }, request());
      const asked = await Promise.all([
        node.schemas.requireLatest(TENANT, 'node'),
        node.schemas.requireLatest(TENANT, 'node'),
      ]);
      expect(new Set(asked.map(({ revision }) => revision)).size).to.equal(1);
      seen.push(String(asked[0]?.revision));
    }
    expect(new Set(seen).size).to.equal(5);
  });

  it('search for an earlier try only if the record was written since that try began', async () => {
    const { record } = await node.records.create(TENANT, 'node', { n: 1 }, request());
    const after = await node.shared.events.end();
    if (after === undefined) throw new Error('an empty log');
    const update = { ...request(), priorAttempt: { after } };
    const newId = randomUUID;
    const edit = (n: number) =>
      node.records.update(TENANT, 'node', record.id, { values: { n } }, { ...update, newId });
    reads = [];
    expect((await edit(2)).changed).to.equal(true);
    expect(reads.filter(({ backward }) => backward)).to.have.length(0);
    // After another write, a retry of the edit finds its first effect and has no second one.
    await node.records.update(TENANT, 'node', record.id, { values: { n: 3 } }, request());
    expect((await edit(2)).record.values.n).to.equal(3);
    expect(reads.filter(({ backward }) => backward).length).to.be.greaterThan(0);
  });
});
