import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { at, change, create, define, pointing, read, record, remove } from '../entities/support.ts';
import { defineEntity, move, readJob, startJob } from '../workflow/support.ts';
import {
  BULK,
  bodyOf,
  cancel,
  commit,
  committed,
  createMany,
  csvOf,
  DELETE,
  edit,
  errorsOf,
  preview,
  readSession,
  SESSIONS,
  session,
  sessions,
  transition,
} from './support.ts';

const refusal = z.object({ details: z.object({ state: z.string(), allowed: z.array(z.string()) }) });

describe('Bulk sessions', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    entity = await define(
      tenant.admin,
      { key: 'title', type: 'text', required: true, max_length: 20 },
      { key: 'n', type: 'integer', max: 100 },
      { key: 'colour', type: 'enum', options: ['red', 'blue'] },
    );
  });
  after(endWorld);

  const records = async (...titles: string[]) =>
    Promise.all(titles.map((title) => create(tenant.admin, entity, { title })));

  describe('previews', () => {
    it('show the outcome of each row, and write none', async () => {
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

    it('of a filter freeze its matches, in either form', async () => {
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

  describe('commits', () => {
    it('edit each row like a single edit by the admin', async () => {
      const [one, two] = await records('first', 'second');
      if (!one || !two) throw new Error('no records');
      const made = await preview(tenant.admin, entity, edit({ title: 'second', n: 5 }), [one.id, two.id]);
      const done = await committed(tenant.admin, made.id);
      expect(done).to.include({ status: 'committed', committed_by: tenant.admin.id });
      expect(done.result).to.include({ succeeded: 2, skipped: 0, errored: 0 });
      expect(done.preview).to.deep.equal(made.preview);
      for (const record of [one, two]) {
        const now = await read(tenant.admin, record);
        expect(now.values).to.deep.equal({ title: 'second', n: 5 });
        expect(now.version).to.equal(2);
      }
      expect(await csvOf(tenant.admin, made.id)).to.deep.equal([]);
    });

    it('skip rows with equal values, and decide changed ones again', async () => {
      const [same, changed, gone, late] = await records('same', 'changed', 'gone', 'late');
      if (!same || !changed || !gone || !late) throw new Error('no records');
      const made = await preview(
        tenant.admin,
        entity,
        edit({ title: 'same' }),
        [same, changed, gone, late].map(({ id }) => id),
      );
      expect(made.preview).to.include({ would_succeed: 3, would_skip: 1 });
      (await change(tenant.admin, changed, { n: 3 })).as(z.unknown());
      (await change(tenant.admin, late, { title: 'same' })).as(z.unknown());
      (await remove(tenant.admin, gone)).as(z.unknown(), 204);
      const done = await committed(tenant.admin, made.id);
      expect(done.result).to.include({ succeeded: 1, skipped: 2, errored: 1 });
      expect((await read(tenant.admin, changed)).values).to.deep.equal({ title: 'same', n: 3 });
      const rows = await csvOf(tenant.admin, made.id);
      expect(rows.map((row) => row.split(',').slice(0, 3))).to.deep.equal([
        [gone.id, '', 'record_not_found'],
      ]);
    });

    it('of a filter change only frozen rows that still match', async () => {
      const own = await define(tenant.admin, { key: 'n', type: 'integer' }, { key: 'mark', type: 'text' });
      const ids = await createMany(tenant.admin, own, 5, () => ({ n: 1 }));
      const made = await preview(tenant.admin, own, edit({ mark: 'yes' }), 'n == 1');
      const [drifted = '', gone = ''] = ids;
      const of = (id: string) => ({ entity_name: own, id });
      (await change(tenant.admin, of(drifted), { n: 2 })).as(z.unknown());
      (await remove(tenant.admin, of(gone))).as(z.unknown(), 204);
      const fresh = await createMany(tenant.admin, own, 3, () => ({ n: 1 }));
      const done = await committed(tenant.admin, made.id);
      expect(done).to.include({ count_at_preview: 5, count_at_commit: 6 });
      expect(done.result).to.include({ succeeded: 3, skipped: 0, errored: 2 });
      const rows = (await csvOf(tenant.admin, made.id)).map((row) => row.split(',').slice(0, 3).join(' '));
      expect(rows.toSorted()).to.deep.equal(
        [`${drifted}  selection_drift`, `${gone}  record_not_found`].toSorted(),
      );
      for (const id of ids.slice(2)) expect((await read(tenant.admin, of(id))).values.mark).to.equal('yes');
      for (const id of [drifted, ...fresh]) {
        expect((await read(tenant.admin, of(id))).values).not.to.have.property('mark');
      }
    });

    it('that change the filtered field process all rows', async () => {
      const own = await define(tenant.admin, { key: 'n', type: 'integer' });
      await createMany(tenant.admin, own, 50, () => ({ n: 1 }));
      const made = await preview(tenant.admin, own, edit({ n: 2 }), 'n == 1');
      expect((await committed(tenant.admin, made.id)).result).to.include({ succeeded: 50, errored: 0 });
    });

    it('keep concurrent changes and their own', async () => {
      const own = await define(tenant.admin, { key: 'n', type: 'integer' }, { key: 'mark', type: 'text' });
      const ids = await createMany(tenant.admin, own, 150, () => ({ n: 0 }));
      const byId = await preview(tenant.admin, own, edit({ mark: 'by id' }), ids.slice(0, 75));
      const byFilter = await preview(tenant.admin, own, edit({ mark: 'by filter' }), {
        filter: { n: { $gte: 0 }, id: { $in: ids.slice(75) } },
      });
      const others = ids.flatMap((id) =>
        [1, 2].map((n) => change(tenant.admin, { entity_name: own, id }, { n })),
      );
      const both = await Promise.all([
        committed(tenant.admin, byId.id),
        committed(tenant.admin, byFilter.id),
      ]);
      for (const answer of await Promise.all(others)) expect(answer.status).to.equal(200);
      for (const { result } of both) expect(result).to.include({ succeeded: 75, skipped: 0, errored: 0 });
      for (const [i, id] of ids.entries()) {
        const { values, version } = await read(tenant.admin, { entity_name: own, id });
        expect(values.mark).to.equal(i < 75 ? 'by id' : 'by filter');
        expect(values.n).to.be.oneOf([1, 2]);
        expect(version).to.equal(4);
      }
    });

    it('report each of the eight codes', async () => {
      const flow = `f_${entity}`.slice(0, 40);
      await defineEntity(tenant, flow, {
        definition: {
          initial: 'draft',
          states: [
            { key: 'draft', label: 'Draft' },
            { key: 'sent', label: 'Sent', final: true },
          ],
          transitions: [
            {
              event_name: 'send',
              from: 'draft',
              to: 'sent',
              required_fields: ['title'],
              guard: 'record.amount < 100',
              guard_label: 'cheap, and "small"',
            },
          ],
        },
      });
      const [good, dear, untitled, sent] = await Promise.all([
        startJob(tenant.admin, flow, { title: 'a', amount: 1 }),
        startJob(tenant.admin, flow, { title: 'b', amount: 100 }),
        startJob(tenant.admin, flow, { amount: 1 }),
        startJob(tenant.admin, flow, { title: 'd', amount: 1 }),
      ]);
      (await move(tenant.admin, sent, 'send')).as(z.unknown());
      const missing = randomUUID();
      const moved = await preview(tenant.admin, flow, transition('send'), [
        good,
        dear,
        untitled,
        sent,
        missing,
      ]);
      expect(errorsOf(moved)).to.deep.equal(
        [
          `guard_failed ${dear}`,
          `invalid_fsm_from_state ${sent}`,
          `missing_required ${untitled}`,
          `record_not_found ${missing}`,
        ].sort(),
      );
      expect(moved.preview.errors.find(({ record_id }) => record_id === sent)?.current_state).to.equal(
        'sent',
      );
      expect(moved.preview.sample_affected).to.deep.equal([
        { record_id: good, current_state: 'draft', before: { state: 'draft' }, after: { state: 'sent' } },
      ]);
      expect((await committed(tenant.admin, moved.id)).result).to.include({ succeeded: 1, errored: 4 });
      const job = await readJob(tenant.admin, good);
      expect(job.state).to.equal('sent');
      expect(job.history.at(-1)?.actor).to.deep.equal({ kind: 'user', id: tenant.admin.id });
      const rows = await csvOf(tenant.admin, moved.id);
      expect(rows[0]).to.match(new RegExp(`^${dear},draft,guard_failed,".*cheap, and ""small"""$`));
      expect(rows.map((row) => row.split(',')[2])).to.deep.equal([
        'guard_failed',
        'missing_required',
        'invalid_fsm_from_state',
        'record_not_found',
      ]);

      const [row] = await records('row');
      if (!row) throw new Error('no record');
      const codes: Record<string, unknown> = {};
      for (const [code, values] of Object.entries({
        missing_required: { title: null },
        type_mismatch: { n: 'seven' },
        unknown_enum: { colour: 'green' },
        unknown_field: { nothing: 1 },
        max: { n: 101 },
        max_length: { title: 'x'.repeat(21) },
      })) {
        const made = await preview(tenant.admin, entity, edit(values), [row.id]);
        const done = await committed(tenant.admin, made.id);
        expect(done.result).to.include({ errored: 1 });
        codes[code] = made.preview.errors[0]?.code;
        expect((await csvOf(tenant.admin, made.id))[0]).to.contain(`,${made.preview.errors[0]?.code},`);
      }
      expect(codes).to.deep.equal({
        missing_required: 'missing_required',
        type_mismatch: 'type_mismatch',
        unknown_enum: 'unknown_enum',
        unknown_field: 'unknown_field',
        max: 'type_mismatch',
        max_length: 'type_mismatch',
      });
      expect(await read(tenant.admin, row)).to.deep.equal(row);
    });

    it('refuse a transition of records without a job', async () => {
      const [row] = await records('jobless');
      const made = await preview(tenant.admin, entity, transition('send'), [row?.id ?? '']);
      expect(errorsOf(made)).to.deep.equal([`invalid_fsm_from_state ${row?.id}`]);
    });
  });

  describe('deletions', () => {
    it('count a cascade of three levels, and end after it', async () => {
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
        expect(
          (await tenant.admin.api.get(`/api/v1/tenant/entities/${parent}/records/${id}`)).status,
        ).to.equal(404);
      }
      const path = `/api/v1/tenant/entities/${child}/records`;
      expect((await tenant.admin.api.get(`${path}/${owned.id}`)).status).to.equal(404);
      expect((await read(tenant.admin, cleared)).values).to.deep.equal({});
      await read(tenant.admin, held);
    });

    it('succeed for a record and its restricting one, in either order', async () => {
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

  describe('states', () => {
    const refused = async (id: string, state: string, allowed: string[]) => {
      for (const act of [commit, cancel]) {
        const answer = await act(tenant.admin, id);
        expect([answer.status, answer.error]).to.deep.equal([409, 'invalid_transition']);
        expect(refusal.parse(answer.json).details).to.deep.equal({ state, allowed });
      }
    };

    it('lead from previewed to cancelled or committed only', async () => {
      const [row] = await records('state');
      const ids = [row?.id ?? ''];
      const one = await preview(tenant.admin, entity, edit({ n: 1 }), ids);
      const cancelled = (await cancel(tenant.admin, one.id)).as(session);
      expect(cancelled.status).to.equal('cancelled');
      expect(cancelled).to.have.property('cancelled_at');
      await refused(one.id, 'cancelled', []);
      const two = await preview(tenant.admin, entity, edit({ n: 1 }), ids);
      expect((await commit(tenant.admin, two.id)).as(session).status).to.equal('committed');
      await refused(two.id, 'committed', []);
      expect((await read(tenant.admin, { entity_name: entity, id: row?.id ?? '' })).version).to.equal(2);
    });

    it('let exactly one of a concurrent commit and cancel win', async () => {
      for (let round = 0; round < 8; round += 1) {
        const [row] = await records(`race ${round}`);
        const made = await preview(tenant.admin, entity, edit({ n: round + 1 }), [row?.id ?? '']);
        const answers = await Promise.all([
          commit(tenant.admin, made.id),
          cancel(tenant.admin, made.id),
          commit(tenant.admin, made.id),
          cancel(tenant.admin, made.id),
        ]);
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409]);
        const { status } = await readSession(tenant.admin, made.id);
        const now = await read(tenant.admin, { entity_name: entity, id: row?.id ?? '' });
        expect(now.version).to.equal(status === 'committed' ? 2 : 1);
      }
    });

    it('are listed newest first, in pages', async () => {
      const other = await world.tenant();
      const own = await define(other.admin, { key: 'n', type: 'integer' });
      const made: string[] = [];
      for (let i = 0; i < 5; i += 1) made.unshift((await preview(other.admin, own, DELETE, 'true')).id);
      const first = await other.admin.api.get(`${SESSIONS}?limit=3`);
      const next = /^<([^>]+)>/.exec(first.header('link') ?? '')?.[1] ?? '';
      const second = await other.admin.api.get(next);
      const found = [...first.as(sessions), ...second.as(sessions)].map(({ id }) => id);
      expect(found).to.deep.equal(made);
      expect(second.header('link')).to.equal(undefined);
    });
  });

  describe('callers', () => {
    it('are admins in person; others are refused, and unknown sessions are not found', async () => {
      const [row] = await records('mine');
      const made = await preview(tenant.admin, entity, DELETE, [row?.id ?? '']);
      const operator = await tenant.person('Op');
      const other = await world.tenant();
      const routes: [string, string, unknown?][] = [
        ['POST', `${BULK}/preview`, bodyOf(entity, DELETE, [row?.id ?? ''])],
        ['GET', SESSIONS],
        ['GET', `${SESSIONS}/${made.id}`],
        ['POST', `${SESSIONS}/${made.id}/commit`],
        ['POST', `${SESSIONS}/${made.id}/cancel`],
        ['GET', `${SESSIONS}/${made.id}/errors.csv`],
      ];
      for (const [method, path, body] of routes) {
        const answer = await operator.api.request(method, path, body);
        expect([answer.status, answer.error], path).to.deep.equal([403, 'admin_required']);
        if (path === SESSIONS) continue;
        expect((await other.admin.api.request(method, path, body)).status, path).to.equal(404);
      }
      // Another tenant's record id gives the same row result as an unknown one.
      const theirs = await define(other.admin, { key: 'n', type: 'integer' });
      const unknown = randomUUID();
      for (const operation of [DELETE, edit({ n: 1 }), transition('send')]) {
        const { errors } = (await preview(other.admin, theirs, operation, [row?.id ?? '', unknown])).preview;
        expect(errors.map(({ record_id, ...rest }) => rest)).to.deep.equal([
          { current_state: '', code: 'record_not_found', message: errors[0]?.message },
          { current_state: '', code: 'record_not_found', message: errors[0]?.message },
        ]);
      }
      const filtered = await preview(other.admin, theirs, DELETE, `id == "${row?.id}"`);
      expect(filtered.preview.total_resolved).to.equal(0);
      for (const id of [randomUUID(), 'nonsense']) {
        expect((await tenant.admin.api.get(`${SESSIONS}/${id}`)).status).to.equal(404);
        expect((await commit(tenant.admin, id)).status).to.equal(404);
      }
    });
  });
});
