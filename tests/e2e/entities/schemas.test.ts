import { expect } from 'chai';
import { randomName } from '../../support/server.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  change,
  create,
  define,
  ENTITIES,
  entities,
  entity,
  type FieldInput,
  fieldsOf,
  issuesOf,
  pointing,
  read,
  remove,
} from './support.ts';

/** Decisions, section 6, Schema. */
describe('Schemas', () => {
  let world: World;
  let tenant: TestTenant;
  let admin: Member;
  let operator: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    admin = tenant.admin;
    operator = await tenant.person('Op');
  });
  after(endWorld);

  const post = (fields: readonly unknown[], more: object = {}) =>
    admin.api.post(ENTITIES, { name: randomName('e'), label: 'L', fields, ...more });
  const patch = (name: string, body: unknown) => admin.api.patch(`${ENTITIES}/${name}`, body);
  const fieldsNow = async (name: string) =>
    (await admin.api.get(`${ENTITIES}/${name}`)).as(entity).fields.map(({ key }) => key);

  it('are returned, read and listed as defined', async () => {
    const name = randomName('e');
    const fields = [
      { key: 'a', label: 'A', type: 'text', required: true, max_length: 10, default: 'x' },
      { key: 'b', label: 'B', type: 'enum', required: false, options: ['one', 'two'], default: 'two' },
      { key: 'c', label: 'C', type: 'decimal', required: false, min: '0', max: '10.5', default: '1.50' },
      { key: 'd', label: 'D', type: 'integer', required: false, min: -1, max: 5 },
      { key: 'e', label: 'E', type: 'json', required: false, default: { deep: [1] } },
      pointing('f', name, 'clear', { label: 'F', required: false }),
    ];
    const made = (await admin.api.post(ENTITIES, { name, label: 'Ünïcode', fields })).as(entity, 201);
    expect(made).to.deep.include({ name, label: 'Ünïcode', fields, workflow: null });
    expect((await operator.api.get(`${ENTITIES}/${name}`)).as(entity)).to.deep.equal(made);
    expect((await operator.api.get(`${ENTITIES}?limit=200`)).as(entities)).to.deep.include(made);
  });

  it('are listed in pages', async () => {
    const own = await world.tenant();
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.push(await define(own.admin, { key: 'a', type: 'text' }));
    const seen: { readonly name: string; readonly created_at: string }[] = [];
    let path: string | undefined = `${ENTITIES}?limit=2`;
    while (path !== undefined) {
      const page = await own.admin.api.get(path);
      seen.push(...page.as(entities));
      path = /<([^>]+)>/.exec(page.header('link') ?? '')?.[1];
    }
    expect(seen.map(({ name }) => name)).to.have.members(made);
    // Entities of the same millisecond come in any order.
    const times = seen.map(({ created_at }) => created_at);
    expect(times).to.deep.equal(times.toSorted());
  });

  it('are created and changed by admins only', async () => {
    const name = await define(admin, { key: 'a', type: 'text' });
    const body = { name: randomName('e'), label: 'L', fields: [] };
    expect((await operator.api.post(ENTITIES, body)).error).to.equal('admin_required');
    expect((await operator.api.patch(`${ENTITIES}/${name}`, { label: 'X' })).error).to.equal(
      'admin_required',
    );
  });

  it('have unique names', async () => {
    const name = await define(admin);
    const again = await admin.api.post(ENTITIES, { name, label: 'L', fields: [] });
    expect([again.status, again.error]).to.deep.equal([409, 'already_exists']);
    expect(again.json).to.have.nested.property('details.field', 'name');
    expect((await patch('not_there', { label: 'x' })).status).to.equal(404);
    expect((await admin.api.get(`${ENTITIES}/not_there`)).status).to.equal(404);
    expect((await admin.api.get(`${ENTITIES}/Not-There`)).status).to.equal(404);
  });

  const REFUSED: readonly [what: string, fields: readonly unknown[]][] = [
    ['a key that is no name', [{ key: 'A', label: 'A', type: 'text', required: false }]],
    ['a key of 64 characters', fieldsOf({ key: 'k'.repeat(64), type: 'text' })],
    ['the same key twice', fieldsOf({ key: 'a', type: 'text' }, { key: 'a', type: 'text' })],
    ['an unknown type', fieldsOf({ key: 'a', type: 'money' })],
    ['an unknown key', fieldsOf({ key: 'a', type: 'text', unique: true })],
    ['no label', [{ key: 'a', type: 'text', required: false }]],
    ['an enum without options', fieldsOf({ key: 'a', type: 'enum' })],
    ['an enum with no option', fieldsOf({ key: 'a', type: 'enum', options: [] })],
    ['an enum with an option twice', fieldsOf({ key: 'a', type: 'enum', options: ['x', 'x'] })],
    ['an option that is no text', fieldsOf({ key: 'a', type: 'enum', options: [1] })],
    ['options of a text', fieldsOf({ key: 'a', type: 'text', options: ['x'] })],
    ['a reference without a target', fieldsOf({ key: 'a', type: 'reference' })],
    ['a reference of a text', fieldsOf({ ...pointing('a', 'b', 'clear'), type: 'text' })],
    ['an unknown on_delete', fieldsOf(pointing('a', 'b', 'ignore'))],
    ['a required reference with on_delete clear', fieldsOf(pointing('a', 'b', 'clear', { required: true }))],
    ['min above max', fieldsOf({ key: 'a', type: 'integer', min: 2, max: 1 })],
    ['min of a text', fieldsOf({ key: 'a', type: 'text', min: 1 })],
    ['max_length of an integer', fieldsOf({ key: 'a', type: 'integer', max_length: 1 })],
    ['a bound that is no decimal', fieldsOf({ key: 'a', type: 'decimal', min: '1e3' })],
    ['a default of another type', fieldsOf({ key: 'a', type: 'integer', default: 'x' })],
    ['a default that is no option', fieldsOf({ key: 'a', type: 'enum', options: ['x'], default: 'y' })],
    ['a default above max', fieldsOf({ key: 'a', type: 'integer', max: 1, default: 2 })],
    ['a default that is nested too deeply', fieldsOf({ key: 'a', type: 'json', default: nested(40) })],
    ['201 fields', fieldsOf(...Array.from({ length: 201 }, (_, i) => ({ key: `f${i}`, type: 'text' })))],
  ];
  for (const [what, fields] of REFUSED) {
    it(`refuse ${what}`, async () => {
      const answer = await post(fields);
      expect([answer.status, answer.error], answer.text).to.deep.equal([400, 'validation_failed']);
    });
  }

  for (const key of [
    'tenant_id',
    'id',
    'state',
    'version',
    'created_at',
    'updated_at',
    'created_by',
    'job_id',
  ]) {
    it(`refuse a field called ${key}`, async () => {
      expect((await post(fieldsOf({ key, type: 'text' }))).status).to.equal(400);
    });
  }
  for (const key of ['__proto__', 'constructor', 'prototype', 'toString', 'in', 'null']) {
    it(`refuse a field called ${key}`, async () => {
      expect((await post(fieldsOf({ key, type: 'text' }))).status).to.equal(400);
    });
  }

  it('refuse an invalid name and unknown keys', async () => {
    for (const name of ['A', '1a', 'a-b', '', 'a'.repeat(64), 7]) {
      expect((await post([], { name })).status, String(name)).to.equal(400);
    }
    expect((await post([], { icon: 'x' })).status).to.equal(400);
    const keyed = { headers: { 'idempotency-key': randomName('k') } };
    const answer = await admin.api.post(ENTITIES, { name: '../x', label: 'L', fields: [] }, keyed);
    expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
  });

  it('report all references to unknown entities at once', async () => {
    const answer = await post(fieldsOf(pointing('a', 'nothing', 'clear'), pointing('b', 'nowhere', 'clear')));
    expect([answer.status, answer.error]).to.deep.equal([422, 'constraint_violated']);
    expect(issuesOf(answer.json)).to.deep.equal([
      'fields.0.reference.entity_name reference_not_found',
      'fields.1.reference.entity_name reference_not_found',
    ]);
  });

  describe('changes', () => {
    const START: readonly FieldInput[] = [
      { key: 'title', type: 'text' },
      { key: 'kind', type: 'enum', options: ['a', 'b', 'c'] },
      { key: 'size', type: 'integer' },
      { key: 'price', type: 'decimal' },
    ];
    const without = (key: string) => fieldsOf(...START.filter((each) => each.key !== key));
    const withField = (key: string, more: object) =>
      fieldsOf(...START.map((each) => (each.key === key ? { ...each, ...more } : each)));

    it('add fields and options freely, and change labels', async () => {
      const name = await define(admin, ...START);
      const kept = await create(operator, name, { title: 'x', kind: 'a' });
      const fields = [
        ...withField('kind', { options: ['a', 'b', 'c', 'd'] }),
        ...fieldsOf(
          { key: 'extra', type: 'date' },
          { key: 'must', type: 'text', required: true, default: 'y' },
        ),
      ];
      const changed = (await patch(name, { label: 'New', fields })).as(entity);
      expect(changed).to.deep.include({ label: 'New', fields });
      expect(await read(operator, kept)).to.deep.equal(kept);
      expect((await create(operator, name, { kind: 'd' })).values).to.deep.equal({ kind: 'd', must: 'y' });
    });

    const HELD = { title: 'four', kind: 'a', size: 7, price: '3.5' };
    const BREAKING: readonly [what: string, fields: () => readonly unknown[]][] = [
      ['remove a field', () => without('title')],
      ['change the type of a field', () => withField('size', { type: 'decimal' })],
      ['change text to long_text', () => withField('title', { type: 'long_text' })],
      ['remove an option', () => withField('kind', { options: ['b', 'c'] })],
      ['raise min above a value', () => withField('size', { min: 8 })],
      ['lower max below a decimal', () => withField('price', { max: '3.49' })],
      ['shorten a text', () => withField('title', { max_length: 3 })],
      [
        'add a required field',
        () => [...fieldsOf(...START), ...fieldsOf({ key: 'x', type: 'text', required: true })],
      ],
    ];
    for (const [what, fields] of BREAKING) {
      it(`refuse to ${what} while a record prevents it`, async () => {
        const name = await define(admin, ...START);
        await create(operator, name, HELD);
        const answer = await patch(name, { fields: fields() });
        expect([answer.status, answer.error], answer.text).to.deep.equal([409, 'in_use']);
        expect(await fieldsNow(name)).to.deep.equal(START.map(({ key }) => key));
      });

      it(`${what} when no record prevents it`, async () => {
        const name = await define(admin, ...START);
        const gone = await create(operator, name, HELD);
        expect((await remove(operator, gone)).status).to.equal(204);
        const changed = (await patch(name, { fields: fields() })).as(entity);
        expect(changed.fields).to.have.length(fields().length);
      });
    }

    it('require a field only when all records have it', async () => {
      const name = await define(admin, ...START);
      const bare = await create(operator, name, { size: 1 });
      const fields = withField('title', { required: true });
      expect((await patch(name, { fields })).error).to.equal('in_use');
      expect((await change(operator, bare, { title: 'now' })).status).to.equal(200);
      expect((await patch(name, { fields })).status).to.equal(200);
      expect((await change(operator, bare, { title: null })).status).to.equal(400);
    });

    it('tighten rules only when every value fits', async () => {
      const name = await define(admin, ...START);
      await create(operator, name, HELD);
      const fields = withField('size', { min: 7, max: 7 });
      expect((await patch(name, { fields })).status).to.equal(200);
      expect(
        (await operator.api.post(`${ENTITIES}/${name}/records`, { values: { size: 8 } })).status,
      ).to.equal(422);
    });

    it('run one at a time, and may be repeated', async () => {
      const name = await define(admin, ...START);
      const fields = withField('size', { min: 7, max: 7 });
      const both = await Promise.all([patch(name, { fields }), patch(name, { fields })]);
      const statuses = both.map(({ status }) => status).sort();
      expect(statuses[0]).to.equal(200);
      expect([200, 409]).to.include(statuses[1]);
      const before = (await admin.api.get(`${ENTITIES}/${name}`)).as(entity);
      expect((await patch(name, { fields })).as(entity)).to.deep.equal(before);
    });

    it('have one effect per Idempotency-Key', async () => {
      const name = await define(admin, ...START);
      const headers = { 'idempotency-key': 'tighten' };
      const body = { fields: withField('size', { min: 0 }) };
      const first = await admin.api.patch(`${ENTITIES}/${name}`, body, { headers });
      const second = await admin.api.patch(`${ENTITIES}/${name}`, body, { headers });
      expect(second.as(entity)).to.deep.equal(first.as(entity));
    });

    it('release their Idempotency-Key when refused', async () => {
      const name = await define(admin, ...START);
      const held = await create(operator, name, HELD);
      const headers = { 'idempotency-key': 'again' };
      const body = { fields: withField('size', { min: 8 }) };
      const send = () => admin.api.patch(`${ENTITIES}/${name}`, body, { headers });
      for (let times = 0; times < 2; times += 1) expect((await send()).error).to.equal('in_use');
      expect((await change(operator, held, { size: 8 })).status).to.equal(200);
      const done = (await send()).as(entity);
      expect(done.fields).to.deep.equal(body.fields);
      expect((await send()).as(entity)).to.deep.equal(done);
    });

    it('leave no record that breaks them under concurrent writes', async () => {
      for (let round = 0; round < 6; round += 1) {
        const name = await define(admin, ...START);
        const writing = Array.from({ length: 24 }, (_, i) =>
          operator.api.post(`${ENTITIES}/${name}/records`, { values: { size: i % 2 === 0 ? 1 : 100 } }),
        );
        const changing = patch(name, { fields: withField('size', { min: 50 }) });
        const [changed, ...answers] = await Promise.all([changing, ...writing]);
        for (const { status } of answers) expect([201, 409, 422]).to.include(status);
        const { json } = await operator.api.get(`${ENTITIES}/${name}/records?limit=200&filter=size < 50`);
        if (changed.status === 200) expect(json).to.deep.equal([]);
        else expect([changed.status, changed.error]).to.deep.equal([409, 'in_use']);
        expect(answers.filter(({ status }) => status === 201)).not.to.have.length(0);
      }
    }).timeout(20_000);
  });
});

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}
