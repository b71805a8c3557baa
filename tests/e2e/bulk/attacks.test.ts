import { expect } from 'chai';
import { z } from 'zod';
import { impersonate } from '../../support/impersonate.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, sharedWorld, type TestTenant, USERS, type World } from '../../support/world.ts';
import { change, create, define, ENTITIES, fieldsOf, read } from '../entities/support.ts';
import { type Definition, defineEntity, move, readJob, startJob, WORKFLOWS } from '../workflow/support.ts';
import { Killer } from './kill-support.ts';
import {
  BULK,
  bodyOf,
  commit,
  committed,
  createMany,
  csvOf,
  DELETE,
  edit,
  ended,
  errorsOf,
  preview,
  SESSIONS,
  session,
  transition,
} from './support.ts';

const flow = (guard: string): Definition => ({
  initial: 'a',
  states: [
    { key: 'a', label: 'A' },
    { key: 'b', label: 'B' },
    { key: 'c', label: 'C' },
  ],
  transitions: [
    { event_name: 'go', from: 'a', to: 'b', guard },
    { event_name: 'on', from: 'b', to: 'c' },
  ],
});

describe('Bulk sessions under attack', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    entity = await define(tenant.admin, { key: 'n', type: 'integer' }, { key: 'any', type: 'json' });
  });
  after(endWorld);

  const asked = (raw: string) =>
    tenant.admin.api.post(`${BULK}/preview`, undefined, {
      raw,
      headers: { 'content-type': 'application/json' },
    });

  describe('refuse __proto__ and other unexpected keys', () => {
    const json = (selection: string, params: string): string =>
      `{"entity_name":"${entity}","operation":"edit","selection":${selection},"op_params":${params}}`;
    const edited = (field: string) => `{"kind":"edit","fields":[${field}]}`;
    const good = '{"field_key":"n","new_value":1}';

    it('in a selection, a field or the parameters', async () => {
      for (const raw of [
        json('{"kind":"ids","ids":["x"],"__proto__":{"kind":"filter"}}', edited(good)),
        json('{"kind":"filter","filter_expr":"true","__proto__":1}', edited(good)),
        json('{"kind":"filter","filter_expr":"true","ids":["x"]}', edited(good)),
        json('{"kind":"ids","ids":["x"],"filter_expr":"true"}', edited(good)),
        json('{"kind":"ids","ids":["x"]}', '{"kind":"edit","__proto__":{"fields":[]}}'),
        json('{"kind":"ids","ids":["x"]}', `{"kind":"edit","fields":[${good}],"__proto__":{}}`),
        json('{"kind":"ids","ids":["x"]}', edited('{"field_key":"n","new_value":1,"__proto__":{}}')),
        json('{"kind":"ids","ids":["x"]}', edited('{"field_key":"n","__proto__":{"new_value":1}}')),
      ]) {
        const answer = await asked(raw);
        expect([answer.status, answer.error], raw).to.deep.equal([400, 'validation_failed']);
      }
    });

    it('in a filter, which would select more rows without them', async () => {
      for (const filter of [
        '{"__proto__":{"$eq":1}}',
        '{"n":1,"__proto__":{"$eq":1}}',
        '{"n":{"$gte":0,"__proto__":1}}',
        '{"$and":[{"n":1,"__proto__":2}]}',
        '{"constructor":1}',
        '"__proto__ == 1"',
        '"constructor == null"',
      ]) {
        const answer = await asked(json(`{"kind":"filter","filter_expr":${filter}}`, edited(good)));
        expect([answer.status, answer.error], filter).to.deep.equal([400, 'invalid_filter']);
      }
    });

    it('as the name of a field', async () => {
      const row = await create(tenant.admin, entity, { n: 1 });
      for (const key of ['__proto__', 'constructor', 'toString', 'id', 'version']) {
        const raw = json(
          `{"kind":"ids","ids":["${row.id}"]}`,
          edited(`{"field_key":"${key}","new_value":{"n":2}}`),
        );
        const made = (await asked(raw)).as(session, 201);
        expect(errorsOf(made), key).to.deep.equal([`unknown_field ${row.id}`]);
        expect((await committed(tenant.admin, made.id)).result).to.include({ errored: 1 });
      }
      expect(await read(tenant.admin, row)).to.deep.equal(row);
    });
  });

  describe('limit', () => {
    it('the length, nodes and depth of filters', async () => {
      for (const filter of [
        `n == 1 ${'|| n == 1 '.repeat(500)}`,
        `${'('.repeat(200)}true${')'.repeat(200)}`,
        `n in [${Array.from({ length: 300 }, (_, i) => i).join(',')}]`,
        { n: { $in: Array.from({ length: 2_000 }, (_, i) => i) } },
        JSON.parse(`${'{"$not":'.repeat(20)}{"n":1}${'}'.repeat(20)}`),
      ]) {
        const answer = await tenant.admin.api.post(`${BULK}/preview`, bodyOf(entity, DELETE, { filter }));
        expect([answer.status, answer.error], JSON.stringify(filter).slice(0, 60)).to.deep.equal([
          400,
          'invalid_filter',
        ]);
      }
    });

    it('bodies to 8 MiB', async () => {
      const ids = Array.from({ length: 100_000 }, (_, i) => `${i}`.padStart(76, 'x'));
      const body = JSON.stringify(bodyOf(entity, DELETE, ids));
      expect(body.length).to.be.within(7.5 * 1_048_576, 8 * 1_048_576);
      const made = (await asked(body)).as(session, 201);
      expect(made.preview).to.include({ total_resolved: 100_000, would_error: 100_000 });
      const larger = await asked(body.padEnd(8 * 1_048_576 + 1));
      expect([larger.status, larger.error]).to.deep.equal([413, 'payload_too_large']);
    }).timeout(120_000);

    it('pages and cursors of the list', async () => {
      for (const query of ['limit=x', 'limit=1.5', 'cursor=nonsense', 'cursor=%00']) {
        const answer = await tenant.admin.api.get(`${SESSIONS}?${query}`);
        expect([answer.status, answer.error], query).to.deep.equal([400, 'validation_failed']);
      }
      for (const limit of [0, -1, 100_000]) {
        expect((await tenant.admin.api.get(`${SESSIONS}?limit=${limit}`)).status).to.equal(200);
      }
    });
  });

  describe('decide each row again at the commit', () => {
    it('when the entity was changed since', async () => {
      const own = await define(
        tenant.admin,
        { key: 'a', type: 'text' },
        { key: 'b', type: 'enum', options: ['x', 'y'] },
      );
      const { id } = await create(tenant.admin, own, { a: '1', b: 'x' });
      const cleared = await preview(tenant.admin, own, edit({ a: null }), [id]);
      const option = await preview(tenant.admin, own, edit({ b: 'y' }), [id]);
      for (const made of [cleared, option]) expect(made.preview.would_succeed).to.equal(1);
      const fields = fieldsOf(
        { key: 'a', type: 'text', required: true },
        { key: 'b', type: 'enum', options: ['x', 'z'] },
      );
      (await tenant.admin.api.patch(`${ENTITIES}/${own}`, { fields })).as(z.unknown());
      for (const [made, code] of [
        [cleared, 'missing_required'],
        [option, 'unknown_enum'],
      ] as const) {
        expect((await committed(tenant.admin, made.id)).result).to.include({ succeeded: 0, errored: 1 });
        expect((await csvOf(tenant.admin, made.id))[0]).to.match(new RegExp(`^${id},,${code},`));
      }
      const gone = await preview(tenant.admin, own, edit({ b: 'z' }), [id]);
      const without = fieldsOf({ key: 'a', type: 'text', required: true });
      (await change(tenant.admin, { entity_name: own, id }, { b: null })).as(z.unknown());
      (await tenant.admin.api.patch(`${ENTITIES}/${own}`, { fields: without })).as(z.unknown());
      await committed(tenant.admin, gone.id);
      expect((await csvOf(tenant.admin, gone.id))[0]).to.contain(`${id},,unknown_field,`);
    });

    it('when records were moved, or the workflow published again', async () => {
      const name = 'moved';
      await defineEntity(tenant, name, { definition: flow('record.amount < 10') });
      const ids = await createMany(tenant.admin, name, 3, (amount) => ({ title: 't', amount: amount * 4 }));
      const [still = '', moved = '', dear = ''] = ids;
      const made = await preview(tenant.admin, name, transition('go'), ids);
      expect(made.preview).to.include({ would_succeed: 3 });
      (await move(tenant.admin, moved, 'go')).as(z.unknown());
      const definition = flow('record.amount < 5');
      (await tenant.admin.api.request('PUT', `${WORKFLOWS}/${name}_flow`, definition)).as(z.unknown());
      (await tenant.admin.api.post(`${WORKFLOWS}/${name}_flow/publish`)).as(z.unknown());
      const fresh = await startJob(tenant.admin, name, { title: 't', amount: 8 });
      const again = await preview(tenant.admin, name, transition('go'), [fresh]);
      expect(errorsOf(again)).to.deep.equal([`guard_failed ${fresh}`]);
      const done = await committed(tenant.admin, made.id);
      const rows = (await csvOf(tenant.admin, made.id)).map((row) => row.split(',').slice(0, 3));
      expect(rows[0]).to.deep.equal([moved, 'b', 'invalid_fsm_from_state']);
      // The job's own version of the workflow decides, as it does for a single transition.
      const single = await startJob(tenant.admin, name, { title: 't', amount: 8 });
      expect((await move(tenant.admin, single, 'go')).status).to.equal(422);
      expect(done.result?.errored).to.equal(rows.length);
      expect((await readJob(tenant.admin, still)).state).to.equal('b');
      expect((await readJob(tenant.admin, moved)).state).to.equal('b');
      expect((await readJob(tenant.admin, dear)).state).to.be.oneOf(['a', 'b']);
    });

    it('when rows were being changed during the preview', async () => {
      const own = await define(tenant.admin, { key: 'n', type: 'integer' });
      const ids = await createMany(tenant.admin, own, 80, () => ({ n: 0 }));
      const changes = ids.map((id, i) => change(tenant.admin, { entity_name: own, id }, { n: (i % 2) + 1 }));
      const made = await Promise.all(
        ['n >= 0', 'n == 1', 'n == 0'].map((filter) => preview(tenant.admin, own, edit({ n: 1 }), filter)),
      );
      await Promise.all(changes);
      let done = 0;
      for (const one of made) done += (await committed(tenant.admin, one.id)).result?.succeeded ?? 0;
      expect(done).to.be.at.least(1);
      for (const id of ids) {
        const { values, version } = await read(tenant.admin, { entity_name: own, id });
        expect(values.n).to.equal(1);
        expect(version).to.be.at.most(4);
      }
    });
  });

  describe('continue once committed', () => {
    const ROWS = 1_050;
    let other: TestTenant;
    let own: string;

    before(async () => {
      other = await world.tenant();
      own = await define(other.admin, { key: 'n', type: 'integer' });
      await createMany(other.admin, own, ROWS, () => ({ n: 0 }));
    });

    it('although the admin is deactivated and the tenant suspended', async () => {
      const boss = await other.person('Boss', 'admin');
      const made = await preview(boss, own, edit({ n: 1 }), 'true');
      (await commit(boss, made.id)).as(session, 202);
      (await other.admin.api.patch(`${USERS}/${boss.id}`, { status: 'deactivated' })).as(z.unknown());
      expect((await boss.api.get(`${SESSIONS}/${made.id}`)).status).to.equal(401);
      const suspend = (status: string) => world.platform.patch(`/super/tenants/${other.id}`, { status });
      (await suspend('suspended')).as(z.unknown());
      const refused = await other.admin.api.get(`${SESSIONS}/${made.id}`);
      (await suspend('active')).as(z.unknown());
      expect(refused.error).to.equal('tenant_suspended');
      const done = await ended(other.admin, made.id);
      expect(done.result).to.include({ succeeded: ROWS, skipped: 0, errored: 0 });
      expect(done.committed_by).to.equal(boss.id);
    }).timeout(60_000);

    it('and log the impersonator', async () => {
      const { id } = await create(tenant.admin, entity, { n: 1 });
      const { api } = await impersonate(world, tenant.id, { user_id: tenant.admin.id });
      const made = await preview({ ...tenant.admin, api }, entity, edit({ n: 77 }), [id]);
      expect((await committed({ ...tenant.admin, api }, made.id)).result).to.include({ succeeded: 1 });
      const [last] = await new Killer(world, tenant).withLog((store) =>
        store.readStream(`${tenant.id}.record-${id}`, { direction: 'backward', limit: 1 }),
      );
      const metadata = z.looseObject({ impersonated_by: z.string(), $causationId: z.string() });
      expect(metadata.parse(JSON.parse(last?.metadata ?? '')).$causationId).to.equal(`bulk:${made.id}:${id}`);
    });

    it('in turn by tenant, even when one tenant has many sessions', async () => {
      const flood = await world.tenant();
      const many = await define(flood.admin, { key: 'n', type: 'integer' });
      await createMany(flood.admin, many, 1_000, () => ({ n: 0 }));
      const queued: string[] = [];
      for (let n = 1; n <= 3; n += 1) queued.push((await preview(flood.admin, many, edit({ n }), 'true')).id);
      for (const id of queued) (await commit(flood.admin, id)).as(session, 202);
      const made = await preview(other.admin, own, edit({ n: 2 }), 'true');
      expect((await committed(other.admin, made.id)).result).to.include({ succeeded: ROWS });
      const all = () => Promise.all(queued.map((id) => ended(flood.admin, id, 60_000)));
      for (const { result } of await all()) expect(result).to.include({ succeeded: 1_000, errored: 0 });
      const { values } = await read(flood.admin, {
        entity_name: many,
        id: (await eventually('a row', () => flood.admin.api.get(`${ENTITIES}/${many}/records?limit=1`))).as(
          z.array(z.looseObject({ id: z.string() })),
        )[0]?.id as string,
      });
      expect(values.n).to.equal(3);
    }).timeout(120_000);
  });
});
