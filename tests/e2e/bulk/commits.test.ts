import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { change, define, read, remove } from '../entities/support.ts';
import { defineEntity, move, readJob, startJob } from '../workflow/support.ts';
import { type Crates, crates } from './session-support.ts';
import { committed, createMany, csvOf, edit, errorsOf, preview, transition } from './support.ts';

describe('Bulk commits', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;
  let records: Crates['records'];

  before(async () => {
    world = await sharedWorld();
    ({ tenant, entity, records } = await crates(world));
  });
  after(endWorld);

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

  it('skip rows with equal values, and decide changed rows again', async () => {
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
    expect(rows.map((row) => row.split(',').slice(0, 3))).to.deep.equal([[gone.id, '', 'record_not_found']]);
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

  it('lose neither concurrent changes nor their own', async () => {
    const own = await define(tenant.admin, { key: 'n', type: 'integer' }, { key: 'mark', type: 'text' });
    const ids = await createMany(tenant.admin, own, 60, () => ({ n: 0 }));
    const byId = await preview(tenant.admin, own, edit({ mark: 'by id' }), ids.slice(0, 30));
    const byFilter = await preview(tenant.admin, own, edit({ mark: 'by filter' }), {
      filter: { n: { $gte: 0 }, id: { $in: ids.slice(30) } },
    });
    const others = ids.flatMap((id) =>
      [1, 2].map((n) => change(tenant.admin, { entity_name: own, id }, { n })),
    );
    const both = await Promise.all([committed(tenant.admin, byId.id), committed(tenant.admin, byFilter.id)]);
    for (const answer of await Promise.all(others)) expect(answer.status).to.equal(200);
    for (const { result } of both) expect(result).to.include({ succeeded: 30, skipped: 0, errored: 0 });
    for (const [i, id] of ids.entries()) {
      const { values, version } = await read(tenant.admin, { entity_name: own, id });
      expect(values.mark).to.equal(i < 30 ? 'by id' : 'by filter');
      expect(values.n).to.be.oneOf([1, 2]);
      expect(version).to.equal(4);
    }
  });

  it('report each of the eight error codes', async () => {
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
    expect(moved.preview.errors.find(({ record_id }) => record_id === sent)?.current_state).to.equal('sent');
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
