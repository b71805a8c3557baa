import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { define, read } from '../entities/support.ts';
import { type Crates, crates } from './session-support.ts';
import { BULK, bodyOf, committed, createMany, csvOf, DELETE, edit, preview, readSession } from './support.ts';

describe('Bulk previews', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;
  let records: Crates['records'];

  before(async () => {
    world = await sharedWorld();
    ({ tenant, entity, records } = await crates(world));
  });
  after(endWorld);

  it('show the outcome of each row, and write nothing', async () => {
    const [one, two, three] = await records('one', 'two', 'three');
    if (!one || !two || !three) throw new Error('no records');
    const made = await preview(tenant.admin, entity, edit({ title: 'two', n: null }), [
      one.id,
      two.id,
      'nonsense',
      three.id,
      one.id,
    ]);
    expect(made).to.deep.include({ entity_name: entity, operation: 'edit', status: 'previewed' });
    expect(made.created_by).to.equal(tenant.admin.id);
    expect(made.selection).to.deep.equal({ kind: 'ids', ids: [one.id, two.id, 'nonsense', three.id] });
    expect(made.preview).to.deep.include({
      total_resolved: 4,
      would_succeed: 2,
      would_skip: 1,
      would_error: 1,
    });
    expect(
      made.preview.errors.map(({ record_id, current_state, code }) => [record_id, current_state, code]),
    ).to.deep.equal([['nonsense', '', 'record_not_found']]);
    expect(made.preview.sample_affected).to.deep.equal([
      { record_id: one.id, current_state: '', before: { title: 'one' }, after: { title: 'two' } },
      { record_id: three.id, current_state: '', before: { title: 'three' }, after: { title: 'two' } },
    ]);
    expect(await readSession(tenant.admin, made.id)).to.deep.equal(made);
    for (const record of [one, two, three]) expect(await read(tenant.admin, record)).to.deep.equal(record);
  });

  it('show the first 1,000 errors and 20 samples, and count all', async () => {
    const unknown = Array.from({ length: 1200 }, () => randomUUID());
    const some = await records(...Array.from({ length: 25 }, (_, i) => `many ${i}`));
    const ids = some.map(({ id }) => id);
    const made = await preview(tenant.admin, entity, edit({ n: 1 }), [...unknown, ...ids]);
    expect(made.preview).to.include({ total_resolved: 1225, would_succeed: 25, would_error: 1200 });
    expect(made.preview.errors.map(({ record_id }) => record_id)).to.deep.equal(unknown.slice(0, 1000));
    expect(made.preview.sample_affected.map(({ record_id }) => record_id)).to.deep.equal(ids.slice(0, 20));
    const rows = await csvOf(tenant.admin, made.id);
    expect(rows.map((row) => row.split(',')[0])).to.deep.equal(unknown);
  });

  it('of a filter freeze the matching rows, in either form of the filter', async () => {
    const own = await define(tenant.admin, { key: 'n', type: 'integer' });
    const ids = await createMany(tenant.admin, own, 30, (n) => ({ n }));
    const text = await preview(tenant.admin, own, edit({ n: 0 }), 'n >= 10');
    const object = await preview(tenant.admin, own, edit({ n: 0 }), {
      filter: { n: { $gte: 10 } },
      count: 7,
    });
    for (const made of [text, object])
      expect(made.preview).to.include({ total_resolved: 20, would_succeed: 20 });
    expect(text.count_at_preview).to.equal(20);
    expect(object.count_at_preview).to.equal(7);
    expect(object.selection).to.deep.equal({
      kind: 'filter',
      filter_expr: { n: { $gte: 10 } },
      count_at_preview: 7,
    });
    const none = await preview(tenant.admin, own, DELETE, 'n > 1000');
    expect(none.preview.total_resolved).to.equal(0);
    expect((await committed(tenant.admin, none.id)).result).to.include({ succeeded: 0 });
    expect((await preview(tenant.admin, own, DELETE, 'true')).preview.total_resolved).to.equal(ids.length);
  });

  it('accept up to 100,000 rows', async () => {
    const ids = Array.from({ length: 100_000 }, (_, i) => `=no record, "${i}"`);
    const made = await preview(tenant.admin, entity, edit({ n: 1 }), ids);
    expect(made.preview).to.include({ total_resolved: 100_000, would_error: 100_000 });
    const done = await committed(tenant.admin, made.id);
    expect(done.result).to.include({ succeeded: 0, skipped: 0, errored: 100_000 });
    const rows = await csvOf(tenant.admin, made.id);
    expect(rows).to.have.length(100_000);
    // A cell that looks like a formula begins with an apostrophe.
    for (const i of [0, 999, 54_321, 99_999]) {
      expect(rows[i]).to.match(new RegExp(`^"'=no record, ""${i}""",,record_not_found,`));
    }
  }).timeout(60_000);

  it('refuse malformed requests', async () => {
    const ids = [randomUUID()];
    const good = bodyOf(entity, edit({ n: 1 }), ids);
    const field = { field_key: 'n', new_value: 1 };
    const bad: Record<string, unknown>[] = [
      { ...good, entity_name: undefined },
      { ...good, operation: 'copy' },
      { ...good, operation: 'delete' },
      { ...good, selection: { kind: 'ids', ids: [] } },
      { ...good, selection: { kind: 'ids' } },
      { ...good, selection: { kind: 'ids', ids, more: 1 } },
      { ...good, selection: { kind: 'ids', ids: [7] } },
      { ...good, selection: { kind: 'all' } },
      { ...good, selection: { kind: 'filter' } },
      { ...good, op_params: { kind: 'edit', fields: [] } },
      { ...good, op_params: { kind: 'edit', fields: [field, field] } },
      { ...good, op_params: { kind: 'edit', fields: [{ field_key: 'n' }] } },
      { ...good, op_params: { kind: 'edit', fields: [{ ...field, more: 1 }] } },
      { ...good, op_params: { kind: 'edit', fields: [field], more: 1 } },
      { ...good, operation: 'delete', op_params: { kind: 'delete', more: 1 } },
      { ...good, operation: 'transition', op_params: { kind: 'transition' } },
      { ...good, selection: { kind: 'ids', ids: Array.from({ length: 100_001 }, (_, i) => `x${i}`) } },
    ];
    for (const body of bad) {
      const answer = await tenant.admin.api.post(`${BULK}/preview`, body);
      expect([answer.status, answer.error], JSON.stringify(body).slice(0, 200)).to.deep.equal([
        400,
        'validation_failed',
      ]);
    }
    for (const filter of ['', 'nothing == 1', 'colour == "green"', 'n == "1"', {}]) {
      const answer = await tenant.admin.api.post(`${BULK}/preview`, bodyOf(entity, DELETE, { filter }));
      expect([answer.status, answer.error], JSON.stringify(filter)).to.deep.equal([400, 'invalid_filter']);
    }
    const unknown = await tenant.admin.api.post(`${BULK}/preview`, { ...good, entity_name: 'nowhere' });
    expect(unknown.status).to.equal(404);
  });
});
