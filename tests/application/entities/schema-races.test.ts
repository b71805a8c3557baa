import { expect } from 'chai';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { gate, refusalCode, rejection, severalTicks } from '../../support/eventually.ts';
import { crashingAt } from './faults.ts';
import { type Entities, request, startEntities, TENANT } from './support.ts';

const field = (more: object = {}) => ({
  key: 'size',
  label: 'Size',
  type: 'integer' as const,
  required: false,
  ...more,
});

/** docs/decisions/0012-schema-changes-are-proposed.md */
describe('A change of a schema', () => {
  /** A node whose writer of a record stops right before its append until released. */
  const held = async () => {
    const { passed, open } = gate();
    const reached = gate();
    const hold = (events: EventStore): EventStore => ({
      ...events,
      append: async (stream, ...rest) => {
        if (stream.includes('.record-')) {
          reached.open();
          await passed;
        }
        return events.append(stream, ...rest);
      },
    });
    const node = startEntities({}, hold);
    await node.schemas.define(TENANT, { name: 'thing', label: 'T', fields: [field()] }, request());
    return { node, reached: reached.passed, open };
  };

  it('waits for writers under the old schema and checks their records', async () => {
    const { node, reached, open } = await held();
    const writing = node.records.create(TENANT, 'thing', { size: 1 }, request());
    await reached;
    let isSettled = false;
    const changing = node.schemas
      .change(TENANT, 'thing', { fields: [field({ min: 5 })] }, request())
      .finally(() => {
        isSettled = true;
      });
    const refused = refusalCode(changing);
    await severalTicks(50);
    expect(isSettled).to.equal(false);
    open();
    await writing;
    expect(await refused).to.equal('in_use');
    // A refused change does not restrict writers.
    await node.records.create(TENANT, 'thing', { size: 2 }, request());
  });

  it('restricts writers that start while it waits', async () => {
    const { node, reached, open } = await held();
    const writing = node.records.create(TENANT, 'thing', { size: 9 }, request());
    await reached;
    const changing = node.schemas.change(TENANT, 'thing', { fields: [field({ min: 5 })] }, request());
    await severalTicks(50);
    const late = refusalCode(node.records.create(TENANT, 'thing', { size: 1 }, request()));
    expect(await late).to.equal('conflict');
    open();
    await writing;
    expect((await changing).entity.fields).to.deep.equal([field({ min: 5 })]);
    expect(await refusalCode(node.records.create(TENANT, 'thing', { size: 1 }, request()))).to.equal(
      'constraint_violated',
    );
  });

  it('that loosens rules waits for no writer', async () => {
    const { node, reached, open } = await held();
    const writing = node.records.create(TENANT, 'thing', { size: 1 }, request());
    await reached;
    const fields = [field({ min: undefined }), { ...field(), key: 'more' }];
    const { entity } = await node.schemas.change(TENANT, 'thing', { fields }, request());
    expect(entity.fields).to.have.length(2);
    open();
    await writing;
  });

  it('is refused while another change of the schema is under way', async () => {
    const { node, reached, open } = await held();
    const writing = node.records.create(TENANT, 'thing', { size: 9 }, request());
    await reached;
    const first = node.schemas.change(TENANT, 'thing', { fields: [field({ min: 5 })] }, request());
    await severalTicks(50);
    const second = node.schemas.change(TENANT, 'thing', { fields: [field({ min: 6 })] }, request());
    expect(await refusalCode(second)).to.equal('conflict');
    open();
    await writing;
    await first;
  });

  describe('of a crashed process', () => {
    const abandoned = async (size: number) => {
      const healthy = startEntities();
      await healthy.schemas.define(TENANT, { name: 'thing', label: 'T', fields: [field()] }, request());
      await healthy.records.create(TENANT, 'thing', { size }, request());
      const dying = startEntities(healthy.shared, crashingAt(2, false).wrap);
      await rejection(dying.schemas.change(TENANT, 'thing', { fields: [field({ min: 5 })] }, request()));
      const heir = startEntities(healthy.shared);
      const changeId = (await heir.schemas.cached(TENANT, 'thing'))?.proposal?.id ?? '';
      const resume = (age: () => number) =>
        heir.schemas.resume(TENANT, 'thing', changeId, age, request().cause);
      return { heir, resume };
    };
    const now = async (node: Entities) => {
      const schema = await node.schemas.cached(TENANT, 'thing');
      return { min: schema?.fields[0]?.min, isOpen: schema?.proposal !== undefined };
    };

    it('is made when no record violates it', async () => {
      const { heir, resume } = await abandoned(7);
      expect(await now(heir)).to.deep.equal({ min: undefined, isOpen: true });
      await resume(() => 10_000);
      expect(await now(heir)).to.deep.equal({ min: 5, isOpen: false });
    });

    it('is refused when a record violates it', async () => {
      const { heir, resume } = await abandoned(1);
      await resume(() => 10_000);
      expect(await now(heir)).to.deep.equal({ min: undefined, isOpen: false });
    });

    it('is settled by another process only once it is five seconds old', async () => {
      const { heir, resume } = await abandoned(7);
      let looked = 0;
      await resume(() => {
        looked += 1;
        return looked * 1000;
      });
      expect(looked).to.equal(5);
      expect((await now(heir)).isOpen).to.equal(false);
    });
  });

  it('is answered with its result when another process has settled it', async () => {
    const base = startEntities();
    await base.schemas.define(TENANT, { name: 'thing', label: 'T', fields: [field()] }, request());
    const { passed, open } = gate();
    let appends = 0;
    const slow = startEntities(base.shared, (events) => ({
      ...events,
      append: async (...args) => {
        const result = await events.append(...args);
        appends += 1;
        if (appends === 1) await passed;
        return result;
      },
    }));
    const changing = slow.schemas.change(TENANT, 'thing', { fields: [field({ min: 5 })] }, request());
    await severalTicks(50);
    const other = startEntities(base.shared);
    const id = (await other.schemas.cached(TENANT, 'thing'))?.proposal?.id ?? '';
    await other.schemas.resume(TENANT, 'thing', id, () => 10_000, request().cause);
    open();
    expect((await changing).entity.fields).to.deep.equal([field({ min: 5 })]);
  });
});
