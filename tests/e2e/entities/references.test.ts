import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { untilPasses } from '../../support/eventually.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  at,
  change,
  create,
  define,
  pointing,
  type Record,
  read,
  record,
  records,
  remove,
} from './support.ts';

/** Decisions, section 6: references, and their effects on deletion. */
describe('References', () => {
  let world: World;
  let tenant: TestTenant;
  let admin: Member;
  let ada: Member;
  let customer: string;
  let order: string;
  let line: string;
  let invoice: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    admin = tenant.admin;
    ada = await tenant.person('Ada');
    customer = await define(admin, { key: 'name', type: 'text' });
    order = await define(
      admin,
      pointing('customer', customer, 'cascade'),
      pointing('billed_to', customer, 'clear'),
      pointing('keeper', customer, 'restrict'),
      { key: 'title', type: 'text' },
    );
    line = await define(admin, pointing('order', order, 'cascade', { required: true }), {
      key: 'n',
      type: 'integer',
    });
    invoice = await define(admin, pointing('line', line, 'restrict'));
  });
  after(endWorld);

  const gone = async (...all: readonly Record[]) => {
    for (const each of all) {
      expect((await ada.api.get(at(each.entity_name, each.id))).status, each.entity_name).to.equal(404);
    }
  };
  const count = async (name: string) => (await ada.api.get(`${at(name)}?limit=200`)).as(records).length;

  it('prevent the deletion of a record that they restrict', async () => {
    const target = await create(ada, customer);
    const referrer = await create(ada, order, { keeper: target.id });
    const refused = await remove(ada, target);
    expect([refused.status, refused.error]).to.deep.equal([409, 'in_use']);
    expect(z.object({ message: z.string() }).parse(refused.json).message).to.include(referrer.id);
    expect(refused.json).to.have.nested.property('details.field', 'keeper');
    // The refused deletion changed nothing.
    expect(await read(ada, target)).to.deep.equal(target);
    expect((await change(ada, target, { name: 'x' })).as(record).version).to.equal(2);
    await create(ada, order, { keeper: target.id });
    expect((await change(ada, referrer, { keeper: null })).status).to.equal(200);
    expect((await remove(ada, target)).status, 'another one keeps it').to.equal(409);
  });

  it('are released when the referrer is deleted or changed', async () => {
    const target = await create(ada, customer);
    const one = await create(ada, order, { keeper: target.id });
    const two = await create(ada, order, { keeper: target.id });
    expect((await remove(ada, one)).status).to.equal(204);
    const other = await create(ada, customer);
    expect((await change(ada, two, { keeper: other.id })).status).to.equal(200);
    expect((await remove(ada, target)).status).to.equal(204);
    await gone(target);
    expect((await remove(ada, target)).status).to.equal(404);
  });

  it('are cleared when their record is deleted, which changes the referrer', async () => {
    const target = await create(ada, customer);
    const referrer = await create(ada, order, { billed_to: target.id, title: 'kept' });
    expect((await remove(ada, target)).status).to.equal(204);
    const cleared = await read(ada, referrer);
    expect(cleared.values).to.deep.equal({ title: 'kept' });
    expect(cleared.version).to.equal(2);
  });

  it('cascade over several entities', async () => {
    const target = await create(ada, customer);
    const orders = await Promise.all([1, 2, 3].map(() => create(ada, order, { customer: target.id })));
    const lines = await Promise.all(
      orders.flatMap(({ id }) => [1, 2].map((n) => create(ada, line, { order: id, n }))),
    );
    expect((await remove(ada, target)).status).to.equal(204);
    await gone(target, ...orders, ...lines);
    expect(await count(line)).to.equal(0);
  });

  it('prevent a whole cascade when the end of the chain is restricted', async () => {
    const target = await create(ada, customer);
    const owned = await create(ada, order, { customer: target.id });
    const [one, two] = [
      await create(ada, line, { order: owned.id }),
      await create(ada, line, { order: owned.id }),
    ];
    const keeper = await create(ada, invoice, { line: two.id });
    expect((await remove(ada, target)).error).to.equal('in_use');
    for (const each of [target, owned, one, two, keeper]) expect(await read(ada, each)).to.deep.equal(each);
    expect((await ada.api.get(`${at(line)}?limit=200`)).as(records)).to.have.length(2);
    expect((await change(ada, one, { n: 5 })).status).to.equal(200);
    expect((await remove(ada, keeper)).status).to.equal(204);
    expect((await remove(ada, target)).status).to.equal(204);
    await gone(target, owned, one, two);
  });

  it('of a record in the cascade restrict nothing', async () => {
    const target = await create(ada, customer);
    const both = await create(ada, order, { customer: target.id, keeper: target.id });
    expect((await remove(ada, target)).status).to.equal(204);
    await gone(target, both);
  });

  it('may be circular, or to the record itself', async () => {
    const node = await define(admin, { key: 'n', type: 'integer' });
    const fields = [
      { key: 'n', label: 'n', type: 'integer', required: false },
      { label: 'next', required: false, ...pointing('next', node, 'cascade') },
      { label: 'self', required: false, ...pointing('self', node, 'restrict') },
    ];
    expect((await admin.api.patch(`/api/v1/tenant/entities/${node}`, { fields })).status).to.equal(200);
    const ring: Record[] = [];
    for (let n = 0; n < 5; n += 1) {
      const next = ring.at(-1)?.id;
      ring.push(await create(ada, node, { n, ...(next === undefined ? {} : { next }) }));
    }
    const [first, , third, , last] = ring;
    if (first === undefined || third === undefined || last === undefined) throw new Error('no ring');
    expect((await change(ada, first, { next: last.id, self: first.id })).status).to.equal(200);
    expect((await remove(ada, third)).status).to.equal(204);
    await gone(...ring);
    const alone = await create(ada, node);
    expect((await change(ada, alone, { self: alone.id, next: alone.id })).status).to.equal(200);
    expect((await remove(ada, alone)).status).to.equal(204);
    await gone(alone);
  });

  it('to a deleted record are refused', async () => {
    const target = await create(ada, customer);
    const referrer = await create(ada, order, {});
    await remove(ada, target);
    const answers = [
      await ada.api.post(at(order), { values: { billed_to: target.id } }),
      await change(ada, referrer, { billed_to: target.id }),
    ];
    for (const { error } of answers) expect(error).to.equal('constraint_violated');
  });

  it('to another tenant’s record are refused like references to an unknown record', async () => {
    const stranger = (await world.tenant()).admin;
    const definition = { name: customer, label: 'Customers', fields: [] };
    expect((await stranger.api.post('/api/v1/tenant/entities', definition)).status).to.equal(201);
    const theirs = await create(stranger, customer);
    const answer = await ada.api.post(at(order), { values: { customer: theirs.id } });
    const unknown = await ada.api.post(at(order), { values: { customer: randomUUID() } });
    expect([answer.status, answer.text]).to.deep.equal([422, unknown.text]);
    expect((await remove(stranger, theirs)).status).to.equal(204);
  });

  // More than a survey of referrers reads at once, and more than a record's state lists.
  it('cascade to hundreds of records, and clear hundreds', async () => {
    const target = await create(ada, customer);
    const all = Array.from({ length: 300 }, (_, i) => i);
    for (let from = 0; from < all.length; from += 100) {
      await Promise.all(
        all
          .slice(from, from + 100)
          .flatMap((i) => [
            create(ada, order, { customer: target.id, title: `goes ${i}` }),
            create(ada, order, { billed_to: target.id, title: `stays ${i}` }),
          ]),
      );
    }
    expect((await remove(ada, target)).status).to.equal(204);
    const filter = encodeURIComponent(`customer == "${target.id}" || billed_to == "${target.id}"`);
    await untilPasses(async () => {
      expect((await ada.api.get(`${at(order)}?filter=${filter}`)).as(records)).to.have.length(0);
    });
    const stays = encodeURIComponent('title.startsWith("stays ")');
    const page = (await ada.api.get(`${at(order)}?limit=200&filter=${stays}`)).as(records);
    expect(page).to.have.length(200);
    expect(new Set(page.map(({ version }) => version))).to.deep.equal(new Set([2]));
    const goes = encodeURIComponent('title.startsWith("goes ")');
    expect((await ada.api.get(`${at(order)}?filter=${goes}`)).as(records)).to.have.length(0);
  }).timeout(90_000);

  it('never dangle when created during a deletion', async () => {
    for (let round = 0; round < 6; round += 1) {
      const target = await create(ada, customer);
      const seats = await Promise.all([1, 2, 3, 4].map(() => create(ada, order, {})));
      const fields = ['customer', 'billed_to', 'keeper'];
      const writing = [
        ...fields.map((field) => ada.api.post(at(order), { values: { [field]: target.id, title: 'new' } })),
        ...seats.map((seat, i) => change(ada, seat, { [fields[i % 3] ?? '']: target.id })),
      ];
      const deleting = remove(ada, target);
      const [deleted, ...answers] = await Promise.all([deleting, ...writing]);
      for (const { status } of answers) expect([200, 201, 422]).to.include(status);
      expect([204, 409]).to.include(deleted.status);
      const pointsTo = fields.map((field) => `${field} == "${target.id}"`).join(' || ');
      const found = () => ada.api.get(`${at(order)}?filter=${encodeURIComponent(pointsTo)}`);
      if (deleted.status === 204) {
        await gone(target);
        await untilPasses(async () => expect((await found()).as(records)).to.deep.equal([]));
      } else {
        const written = answers.filter(({ status }) => status !== 422).length;
        expect((await found()).as(records)).to.have.length(written);
        expect(await read(ada, target)).to.deep.equal(target);
      }
    }
  }).timeout(30_000);

  it('allow concurrent deletions of a ring', async () => {
    const node = await define(admin, { key: 'n', type: 'integer' });
    const next = { label: 'next', required: false, ...pointing('next', node, 'cascade') };
    await admin.api.patch(`/api/v1/tenant/entities/${node}`, { fields: [next] });
    for (let round = 0; round < 2; round += 1) {
      const ring: Record[] = [];
      for (let n = 0; n < 6; n += 1) {
        ring.push(await create(ada, node, ring.length === 0 ? {} : { next: ring.at(-1)?.id }));
      }
      const [first] = ring;
      if (first !== undefined) await change(ada, first, { next: ring.at(-1)?.id });
      const answers = await Promise.all(ring.map((each) => remove(ada, each)));
      expect(answers.map(({ status }) => status)).to.include(204);
      for (const { status } of answers) expect([204, 404]).to.include(status);
      await untilPasses(() => gone(...ring));
    }
  }).timeout(30_000);
});
