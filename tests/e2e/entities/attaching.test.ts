import { expect } from 'chai';
import { untilPasses } from '../../support/eventually.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { publish } from '../workflow/support.ts';
import { at, change, create, define, ENTITIES, entity, type Record, read, records } from './support.ts';

/** Decisions, section 6. */
describe('Attaching a workflow to an existing entity', () => {
  let world: World;
  let tenant: TestTenant;
  let admin: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    admin = tenant.admin;
    await publish(admin, 'flow');
  });
  after(endWorld);

  const FIELDS = [
    { key: 'title', type: 'text' },
    { key: 'amount', type: 'integer' },
  ];
  const attach = (name: string, workflow: string | null) =>
    admin.api.patch(`${ENTITIES}/${name}`, { workflow });
  const withJob = (made: Record) =>
    untilPasses(async () => {
      const found = await read(admin, made);
      expect(found).to.deep.include({ state: 'draft', job_id: made.id });
      return found;
    });

  it('is refused when the workflow is unknown or does not fit the fields', async () => {
    const name = await define(admin, ...FIELDS);
    const missing = await attach(name, 'nothing');
    expect([missing.status, missing.error]).to.deep.equal([422, 'constraint_violated']);
    const wrong = await define(admin, { key: 'amount', type: 'text' });
    expect((await attach(wrong, 'flow')).status).to.equal(400);
    const body = { name: 'other', label: 'L', fields: [], workflow: 'nothing' };
    expect((await admin.api.post(ENTITIES, body)).status).to.equal(422);
    expect((await attach(name, 'flow')).as(entity).workflow).to.equal('flow');
  });

  it('gives each record a job once, also under concurrent creation', async () => {
    const name = await define(admin, ...FIELDS);
    const before = await Promise.all(Array.from({ length: 250 }, () => create(admin, name)));
    const creating = Array.from({ length: 40 }, () => create(admin, name));
    const attaching = attach(name, 'flow');
    const meanwhile = await Promise.all(creating);
    (await attaching).as(entity);
    const after = await create(admin, name);
    expect(after).to.deep.include({ state: 'draft', job_id: after.id, version: 1 });
    for (const made of [...before, ...meanwhile]) {
      expect((await withJob(made)).version).to.equal(made.state === null ? 2 : 1);
    }
    // After the workflow is detached, new records have no job; existing jobs stay.
    (await attach(name, null)).as(entity);
    expect((await create(admin, name)).state).to.equal(null);
    expect((await read(admin, after)).state).to.equal('draft');
    (await attach(name, 'flow')).as(entity);
    const all = (await admin.api.get(`${at(name)}?filter=state == null`)).as(records);
    if (all[0] !== undefined) await withJob(all[0]);
    expect((await read(admin, after)).version).to.equal(1);
  }).timeout(30_000);

  it('is checked again when fields change', async () => {
    const name = await define(admin, ...FIELDS);
    (await attach(name, 'flow')).as(entity);
    const fields = [{ key: 'title', label: 'T', type: 'text', required: false }];
    expect((await admin.api.patch(`${ENTITIES}/${name}`, { fields })).status).to.equal(400);
    const made = await create(admin, name, { title: 'x' });
    expect((await change(admin, made, { title: 'y' })).status).to.equal(200);
  });
});
