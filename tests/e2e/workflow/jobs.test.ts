import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { randomName } from '../../support/server.ts';
import { errorWithDetails, validationFailed } from '../../support/shapes.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  type Definition,
  defineEntity,
  EXPENSES,
  JOBS,
  job,
  jobs,
  move,
  publish,
  readJob,
  readRecord,
  startJob,
} from './support.ts';

/** Decisions, section 6, Job. */
describe('Jobs', () => {
  let world: World;
  let tenant: TestTenant;
  let boss: Member;
  let ada: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    boss = tenant.admin;
    ada = await tenant.person('Ada');
    await defineEntity(tenant, 'expense');
  });
  after(endWorld);

  const begin = (values?: Record<string, unknown>) => startJob(ada, 'expense', values);
  const submitted = async (values?: Record<string, unknown>): Promise<string> => {
    const id = await begin(values);
    (await move(ada, id, 'submit')).as(job);
    return id;
  };
  const override = (who: Member, id: string, to_state: unknown, reason: unknown = 'By mistake.') =>
    who.api.post(`${JOBS}/${id}/override`, { to_state, reason });

  it('start with their records, in the initial state', async () => {
    const id = await begin();
    const found = await readJob(ada, id);
    expect(found).to.deep.include({
      id,
      entity_name: 'expense',
      entity_id: id,
      workflow: 'expense_flow',
      workflow_version: 1,
      state: 'draft',
      final: false,
      version: 1,
      history: [],
      allowed_events: ['submit'],
    });
    expect(found.updated_at).to.equal(found.created_at);
    expect(await readRecord(ada, 'expense', id)).to.include({ state: 'draft', job_id: id });
  });

  it('move, and their record gets the new state and the next version', async () => {
    const id = await begin();
    const before = await readRecord(ada, 'expense', id);
    const moved = (await move(ada, id, 'submit', { expected_state: 'draft' })).as(job);
    expect(moved).to.include({ id, state: 'submitted', final: false, version: 2 });
    const after = await readRecord(ada, 'expense', id);
    expect(after).to.include({ state: 'submitted', version: before.version + 1 });
    const { history, allowed_events, ...view } = await readJob(ada, id);
    expect(view).to.deep.equal(moved);
    expect(history).to.deep.equal([
      {
        at: moved.updated_at,
        from_state: 'draft',
        to_state: 'submitted',
        event_name: 'submit',
        actor: { kind: 'user', id: ada.id },
      },
    ]);
    expect(allowed_events).to.deep.equal(['send_back']);
    expect((await readJob(boss, id)).allowed_events).to.deep.equal(['approve', 'send_back']);
  });

  it('run to a final state', async () => {
    const id = await submitted();
    (await move(boss, id, 'approve')).as(job);
    const end = (await move(ada, id, 'pay', { payload: { receipt: 'R-1' } })).as(job);
    expect(end).to.include({ state: 'paid', final: true, version: 4 });
    const found = await readJob(boss, id);
    expect(found.allowed_events).to.deep.equal([]);
    expect(found.history.map(({ event_name }) => event_name)).to.deep.equal(['submit', 'approve', 'pay']);
    const refused = (await move(boss, id, 'send_back')).as(errorWithDetails, 409);
    expect(refused).to.deep.include({
      error: 'invalid_transition',
      details: { state: 'paid', allowed: [] },
    });
  });

  it('refuse an event without a transition, and name the allowed events', async () => {
    const id = await begin();
    for (const event of ['approve', 'pay', 'nothing', '__proto__', 'constructor']) {
      const refused = (await move(boss, id, event)).as(errorWithDetails, 409);
      expect(refused).to.deep.include({
        error: 'invalid_transition',
        details: { state: 'draft', allowed: ['submit'] },
      });
    }
    expect((await readJob(ada, id)).version).to.equal(1);
  });

  it('are moved only by the roles of the transition', async () => {
    const id = await submitted();
    const refused = await move(ada, id, 'approve');
    expect([refused.status, refused.error]).to.deep.equal([403, 'forbidden']);
    (await move(boss, id, 'approve')).as(job);
  });

  it('do not move from another state than the expected one', async () => {
    const id = await submitted();
    for (const event of ['send_back', 'submit']) {
      const refused = await move(ada, id, event, { expected_state: 'draft' });
      expect([refused.status, refused.error]).to.deep.equal([409, 'conflict']);
    }
    expect((await readJob(ada, id)).state).to.equal('submitted');
  });

  it('need the required fields of a transition', async () => {
    for (const values of [{}, { title: '   ' }, { amount: 5 }]) {
      const id = await begin(values);
      const refused = (await move(ada, id, 'submit')).as(errorWithDetails, 422);
      expect(refused.error).to.equal('constraint_violated');
      expect(refused).to.have.nested.property('details.issues[0].path', 'values.title');
      expect((await readJob(ada, id)).version).to.equal(1);
    }
  });

  it('need the guard of a transition to hold, and name a failed guard', async () => {
    const id = await submitted({ title: 'Car', amount: 1000 });
    expect((await move(boss, id, 'approve')).as(errorWithDetails, 422)).to.deep.include({
      error: 'guard_rejected',
      details: { from: 'submitted', to: 'approved', guard: 'Small enough' },
    });
    // The record's present values apply.
    await ada.api.patch(`/api/v1/tenant/entities/expense/records/${id}`, { values: { amount: 999 } });
    (await move(boss, id, 'approve')).as(job);
    for (const own of [{}, { payload: {} }, { payload: { receipt: null } }]) {
      expect((await move(boss, id, 'pay', own)).as(errorWithDetails, 422)).to.deep.include({
        error: 'guard_rejected',
        details: { from: 'approved', to: 'paid', guard: 'payload.receipt != null' },
      });
    }
    expect((await readJob(ada, id)).state).to.equal('approved');
  });

  it('treat a guard that cannot be evaluated as false', async () => {
    const id = await submitted({ title: 'No amount' });
    const refused = await move(boss, id, 'approve');
    expect([refused.status, refused.error]).to.deep.equal([422, 'guard_rejected']);
    expect((await readJob(boss, id)).allowed_events).to.deep.equal(['send_back']);
  });

  it('stay on the version of the workflow that they began with', async () => {
    await defineEntity(tenant, 'trip');
    const old = await startJob(ada, 'trip');
    const straight: Definition = {
      initial: 'planned',
      states: [
        { key: 'planned', label: 'Planned' },
        { key: 'done', label: 'Done', final: true },
      ],
      transitions: [{ event_name: 'finish', from: 'planned', to: 'done' }],
    };
    await publish(boss, 'trip_flow', straight);
    const fresh = await startJob(ada, 'trip');
    expect(await readJob(ada, old)).to.include({ workflow_version: 1, state: 'draft' });
    expect(await readJob(ada, fresh)).to.include({ workflow_version: 2, state: 'planned' });
    expect((await move(ada, old, 'submit')).as(job)).to.include({ state: 'submitted' });
    expect((await move(ada, old, 'finish')).status).to.equal(409);
    expect((await override(boss, old, 'done')).status).to.equal(409);
    expect((await move(ada, fresh, 'submit')).status).to.equal(409);
    expect((await move(ada, fresh, 'finish')).as(job)).to.include({ state: 'done', final: true });
  });

  it('are overridden by admins to any other state, also from a final one, with a reason', async () => {
    const id = await begin({});
    (await override(boss, id, 'paid', 'Paid in cash.')).as(job);
    const back = (await override(boss, id, 'approved', 'It was not.')).as(job);
    expect(back).to.include({ state: 'approved', final: false, version: 3 });
    expect((await readRecord(ada, 'expense', id)).state).to.equal('approved');
    const { history } = await readJob(ada, id);
    expect(history.map(({ at: _at, ...each }) => each)).to.deep.equal([
      {
        from_state: 'draft',
        to_state: 'paid',
        event_name: 'admin_override',
        actor: { kind: 'user', id: boss.id },
        override: true,
        reason: 'Paid in cash.',
      },
      {
        from_state: 'paid',
        to_state: 'approved',
        event_name: 'admin_override',
        actor: { kind: 'user', id: boss.id },
        override: true,
        reason: 'It was not.',
      },
    ]);
  });

  it('are not overridden to the present or an unknown state, without a reason, or by operators', async () => {
    const id = await begin();
    for (const to of ['draft', 'nowhere']) {
      expect((await override(boss, id, to)).as(errorWithDetails, 409)).to.deep.include({
        error: 'invalid_transition',
        details: { state: 'draft', allowed: ['submitted', 'approved', 'paid'] },
      });
    }
    for (const [to, reason, field] of [
      ['paid', '', 'reason'],
      ['paid', '  ', 'reason'],
      ['paid', 'x'.repeat(1001), 'reason'],
      ['paid', null, 'reason'],
      [undefined, 'x', 'to_state'],
    ]) {
      const refused = (await override(boss, id, to, reason)).as(validationFailed, 400);
      expect(refused.details.field).to.equal(field);
    }
    const refused = await override(ada, id, 'paid');
    expect([refused.status, refused.error]).to.deep.equal([403, 'admin_required']);
    expect((await readJob(ada, id)).version).to.equal(1);
    (await override(boss, id, 'paid', '😀'.repeat(1000))).as(job);
  });

  for (const [what, body, field] of [
    ['no event', {}, 'event_name'],
    ['an empty event', { event_name: '' }, 'event_name'],
    ['a payload that is no object', { event_name: 'submit', payload: [1] }, 'payload'],
    ['a payload with NUL', { event_name: 'submit', payload: { a: '\u0000' } }, 'payload'],
    ['a payload that is too large', { event_name: 'submit', payload: { a: 'x'.repeat(70_000) } }, 'payload'],
    ['an expected state that is no text', { event_name: 'submit', expected_state: 1 }, 'expected_state'],
  ] as const) {
    it(`refuse a transition with ${what}`, async () => {
      const id = await begin();
      const answer = await ada.api.post(`${JOBS}/${id}/transitions`, body);
      expect(answer.as(validationFailed, 400).details.field).to.equal(field);
    });
  }

  it('are not found under other ids, or after their record’s deletion', async () => {
    const id = await submitted();
    expect((await ada.api.delete(`/api/v1/tenant/entities/expense/records/${id}`)).status).to.equal(204);
    for (const wrong of [id, randomUUID(), 'nothing', randomUUID().toUpperCase()]) {
      for (const answer of [
        await ada.api.get(`${JOBS}/${wrong}`),
        await move(ada, wrong, 'send_back'),
        await override(boss, wrong, 'draft'),
      ]) {
        expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
      }
    }
    const listed = (await ada.api.get(`${JOBS}?limit=200`)).as(jobs);
    expect(listed.map((each) => each.id)).not.to.include(id);
  });

  it('are listed newest first, by entity, state and workflow', async () => {
    const home = await world.tenant();
    const who = home.admin;
    await defineEntity(home, 'one');
    await defineEntity(home, 'other', { workflow: 'one_flow' });
    const all: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      const id = await startJob(who, i % 2 === 0 ? 'one' : 'other');
      if (i >= 4) (await move(who, id, 'submit')).as(job);
      all.unshift(id);
    }
    const list = async (query: string) => (await who.api.get(`${JOBS}?${query}`)).as(jobs);
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);
    const odd = (_id: string, i: number) => i % 2 === 0;
    expect(await ids('')).to.deep.equal(all);
    expect(await ids('entity_name=other')).to.deep.equal(all.filter(odd));
    expect(await ids('state=submitted')).to.deep.equal(all.slice(0, 4));
    expect(await ids('state=draft&entity_name=other')).to.deep.equal(all.slice(4).filter(odd));
    expect(await ids('workflow=one_flow')).to.deep.equal(all);
    expect(await ids('workflow=one_flow&state=submitted&entity_name=one')).to.have.length(2);
    for (const none of [
      'state=paid',
      'entity_name=nothing',
      'workflow=other_flow',
      'state=',
      'state=a%2Fb',
    ]) {
      expect(await ids(none), none).to.deep.equal([]);
    }
    for (const each of await list('')) {
      const { history: _history, allowed_events: _allowed, ...view } = await readJob(who, each.id);
      expect(each).to.deep.equal(view);
    }
    const seen: string[] = [];
    let next: string | undefined = `${JOBS}?limit=3&workflow=one_flow`;
    while (next !== undefined) {
      const answer = await who.api.get(next);
      if (next.includes('cursor=')) {
        const ofAll = await who.api.get(next.replace('workflow=one_flow', ''));
        expect([ofAll.status, ofAll.error], 'a cursor of another list').to.deep.equal([
          400,
          'validation_failed',
        ]);
      }
      seen.push(...answer.as(jobs).map(({ id }) => id));
      next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
    }
    expect(seen).to.deep.equal(all);
  });

  it('have one effect per Idempotency-Key', async () => {
    const id = await begin();
    const headers = { 'idempotency-key': randomName('k') };
    const path = `${JOBS}/${id}/transitions`;
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => ada.api.post(path, { event_name: 'submit' }, { headers })),
    );
    expect(new Set(answers.map(({ text, status }) => `${status} ${text}`)).size).to.equal(1);
    expect((await readJob(ada, id)).history).to.have.length(1);
  });

  it('let exactly one of two concurrent transitions win, in every round', async () => {
    await defineEntity(tenant, 'raced', {
      definition: {
        ...EXPENSES,
        transitions: [
          { event_name: 'left', from: 'draft', to: 'submitted' },
          { event_name: 'right', from: 'draft', to: 'approved' },
          { event_name: 'back', from: ['submitted', 'approved'], to: 'draft' },
          { event_name: 'end', from: 'draft', to: 'paid' },
        ],
      },
    });
    for (let round = 0; round < 15; round += 1) {
      const id = await startJob(ada, 'raced');
      const answers = await Promise.all([move(ada, id, 'left'), move(boss, id, 'right')]);
      expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 409]);
      const won = answers.find(({ status }) => status === 200)?.as(job);
      const found = await readJob(ada, id);
      expect(found.state).to.equal(won?.state);
      expect(found.history).to.have.length(1);
    }
  });

  it('refuse a transition from a state that a concurrent transition has left', async () => {
    const loop: Definition = {
      initial: 'a',
      states: [
        { key: 'a', label: 'A' },
        { key: 'b', label: 'B' },
      ],
      transitions: [
        { event_name: 'flip', from: 'a', to: 'b' },
        { event_name: 'flip', from: 'b', to: 'a' },
      ],
    };
    await defineEntity(tenant, 'looped', { definition: loop });
    let conflicts = 0;
    for (let round = 0; round < 8; round += 1) {
      const id = await startJob(ada, 'looped');
      const answers = await Promise.all(Array.from({ length: 8 }, () => move(ada, id, 'flip')));
      const moved = answers.filter(({ status }) => status === 200).length;
      for (const { status, error } of answers) {
        if (status !== 200) expect([status, error]).to.deep.equal([409, 'conflict']);
      }
      conflicts += answers.length - moved;
      expect(await readJob(ada, id)).to.include({ version: moved + 1, state: moved % 2 === 0 ? 'a' : 'b' });
    }
    expect(conflicts).to.be.greaterThan(0);
  });
});
