import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { at, change, create, define, pointing, read, record } from '../entities/support.ts';
import { committed, createMany, csvOf, DELETE, errorsOf, preview } from './support.ts';

describe('Bulk deletions', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
  });
  after(endWorld);

  it('count a cascade of three levels, and end once it is done', async () => {
    const top = await define(tenant.admin, { key: 'n', type: 'integer' });
    const middle = await define(tenant.admin, pointing('of', top, 'cascade'));
    const bottom = await define(
      tenant.admin,
      pointing('of', middle, 'cascade'),
      pointing('near', middle, 'clear'),
    );
    const tops = await createMany(tenant.admin, top, 60, (n) => ({ n }));
    const middles = await createMany(tenant.admin, middle, 60, (n) => ({ of: tops[n] }));
    await createMany(tenant.admin, bottom, 180, (n) => ({ of: middles[n % 60] }));
    const near = await createMany(tenant.admin, bottom, 60, (n) => ({ near: middles[n] }));
    const made = await preview(tenant.admin, top, DELETE, tops);
    const { cascade_summary: foreseen } = made.preview;
    expect(foreseen?.total).to.equal(300);
    expect(foreseen?.by_entity).to.have.deep.members([
      { entity_name: middle, action: 'delete', count: 60 },
      { entity_name: bottom, action: 'delete', count: 180 },
      { entity_name: bottom, action: 'clear', count: 60 },
    ]);
    const done = await committed(tenant.admin, made.id);
    expect(done.result).to.deep.include({ succeeded: 60, errored: 0, cascade_applied: foreseen });
    const left = (await tenant.admin.api.get(`${at(bottom)}?limit=200`)).as(z.array(record));
    expect(left.map(({ id }) => id)).to.have.members(near);
    for (const { values } of left) expect(values).to.deep.equal({});
    for (const name of [top, middle])
      expect((await tenant.admin.api.get(at(name))).as(z.array(record))).to.deep.equal([]);
  });

  it('cascade, clear and restrict like single deletions, and count them', async () => {
    const parent = await define(tenant.admin, { key: 'title', type: 'text' });
    const child = await define(
      tenant.admin,
      pointing('kept', parent, 'restrict'),
      pointing('owned', parent, 'cascade'),
      pointing('loose', parent, 'clear'),
    );
    const [free, owner, loose, held, pair] = await Promise.all(
      ['free', 'owner', 'loose', 'held', 'pair'].map((title) => create(tenant.admin, parent, { title })),
    );
    if (!free || !owner || !loose || !held || !pair) throw new Error('no records');
    const owned = await create(tenant.admin, child, { owned: owner.id });
    await create(tenant.admin, child, { owned: owner.id });
    const cleared = await create(tenant.admin, child, { loose: loose.id });
    const holder = await create(tenant.admin, child, { kept: held.id });
    const all = [free, owner, loose, held, pair];
    const made = await preview(
      tenant.admin,
      parent,
      DELETE,
      all.map(({ id }) => id),
    );
    const cascade = {
      by_entity: [
        { entity_name: child, action: 'delete', count: 2 },
        { entity_name: child, action: 'clear', count: 1 },
      ],
      total: 3,
    };
    expect(made.preview).to.deep.include({ would_succeed: 4, would_error: 1, cascade_summary: cascade });
    expect(errorsOf(made)).to.deep.equal([`guard_failed ${held.id}`]);
    expect(made.preview.errors[0]?.message).to.contain(holder.id);
    expect(made.preview.sample_affected[0]).to.deep.equal({
      record_id: free.id,
      current_state: '',
      before: { title: 'free' },
      after: null,
    });
    const done = await committed(tenant.admin, made.id);
    expect(done.result).to.deep.include({ succeeded: 4, skipped: 0, errored: 1, cascade_applied: cascade });
    expect((await csvOf(tenant.admin, made.id))[0]).to.contain(holder.id);
    for (const { id } of [free, owner, loose, pair]) {
      expect((await tenant.admin.api.get(`/api/v1/tenant/entities/${parent}/records/${id}`)).status).to.equal(
        404,
      );
    }
    const path = `/api/v1/tenant/entities/${child}/records`;
    expect((await tenant.admin.api.get(`${path}/${owned.id}`)).status).to.equal(404);
    expect((await read(tenant.admin, cleared)).values).to.deep.equal({});
    await read(tenant.admin, held);
  });

  it('delete a record and the record that restricts it, in either order', async () => {
    const own = await define(tenant.admin, { key: 'title', type: 'text' });
    (
      await tenant.admin.api.patch(`/api/v1/tenant/entities/${own}`, {
        fields: [
          { key: 'title', label: 'title', type: 'text', required: false },
          { label: 'up', required: false, ...pointing('up', own, 'restrict') },
          { label: 'with', required: false, ...pointing('with', own, 'cascade') },
        ],
      })
    ).as(z.unknown());
    const chain: string[] = [];
    for (let i = 0; i < 40; i += 1) {
      const up = chain.at(-1);
      chain.push((await create(tenant.admin, own, up === undefined ? {} : { up })).id);
    }
    const along = await create(tenant.admin, own, { with: chain[3] });
    const made = await preview(tenant.admin, own, DELETE, [...chain, along.id]);
    expect(made.preview).to.deep.include({
      would_succeed: 41,
      cascade_summary: { by_entity: [], total: 0 },
    });
    const done = await committed(tenant.admin, made.id);
    expect(done.result).to.deep.include({ succeeded: 41, cascade_applied: { by_entity: [], total: 0 } });

    const [a, b] = await Promise.all([create(tenant.admin, own), create(tenant.admin, own)]);
    (await change(tenant.admin, a, { up: b.id })).as(z.unknown());
    (await change(tenant.admin, b, { up: a.id })).as(z.unknown());
    const circle = await preview(tenant.admin, own, DELETE, [a.id, b.id]);
    expect(circle.preview).to.include({ would_error: 2 });
    expect((await committed(tenant.admin, circle.id)).result).to.include({ errored: 2 });
  });
});
