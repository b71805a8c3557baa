import { expect } from 'chai';
import { randomName } from '../../support/server.ts';
import { errorWithDetails, validationFailed } from '../../support/shapes.ts';
import { bossAndAda, forSuite } from '../../support/suite.ts';
import {
  type Definition,
  ENTITIES,
  EXPENSES,
  FIELDS,
  put,
  WORKFLOWS,
  workflow,
  workflows,
} from './support.ts';

/** Decisions, section 6, Workflow. */
describe('Workflows', () => {
  const here = forSuite(bossAndAda);

  const fresh = (): string => randomName('w');
  const create = async (own: Partial<Definition> = {}): Promise<string> => {
    const name = fresh();
    (await here().boss.api.post(WORKFLOWS, { name, ...EXPENSES, ...own })).as(workflow, 201);
    return name;
  };
  const publish = (name: string) => here().boss.api.post(`${WORKFLOWS}/${name}/publish`);
  const read = async (name: string) => (await here().ada.api.get(`${WORKFLOWS}/${name}`)).as(workflow);
  const [first] = EXPENSES.transitions;
  if (first === undefined) throw new Error('the sample has transitions');

  it('begin as drafts, returned as sent', async () => {
    const { boss } = here();
    const name = fresh();
    const made = (await boss.api.post(WORKFLOWS, { name, ...EXPENSES })).as(workflow, 201);
    expect(made).to.deep.include({
      name,
      status: 'draft',
      version: 0,
      published_at: null,
      ...EXPENSES,
    });
    expect(made.updated_at).to.equal(made.created_at);
    expect(await read(name)).to.deep.equal(made);
  });

  it('have unique names', async () => {
    const { world, boss } = here();
    const name = await create();
    const answer = await boss.api.post(WORKFLOWS, { name, ...EXPENSES });
    expect(answer.as(errorWithDetails, 409)).to.deep.include({
      error: 'already_exists',
      details: { field: 'name' },
    });
    const other = await world.tenant();
    (await other.admin.api.post(WORKFLOWS, { name, ...EXPENSES })).as(workflow, 201);
  });

  it('are published, drafted again, and published again', async () => {
    const { boss } = here();
    const name = await create();
    const one = (await publish(name)).as(workflow);
    expect(one).to.deep.include({ status: 'published', version: 1, ...EXPENSES });
    expect(one.published_at).to.equal(one.updated_at);
    expect(await read(name)).to.deep.equal(one);

    const next = { ...EXPENSES, initial: 'paid' };
    const draft = (await put(boss, `${WORKFLOWS}/${name}`, { name, ...next })).as(workflow);
    expect(draft).to.deep.include({
      status: 'draft',
      version: 1,
      ...next,
      published: { version: 1, ...EXPENSES },
      published_at: one.published_at,
    });
    expect(await read(name)).to.deep.equal(draft);

    const refused = (await publish(name)).as(validationFailed, 400);
    expect(refused.details.field).to.equal('states.0.key');
    const whole = { ...EXPENSES, initial: 'submitted' };
    (await put(boss, `${WORKFLOWS}/${name}`, whole)).as(workflow);
    const two = (await publish(name)).as(workflow);
    expect(two).to.deep.include({ status: 'published', version: 2, ...whole });
    expect(two).not.to.have.property('published');
    expect(await read(name)).to.deep.equal(two);
  });

  it('are not changed by an equal draft, or by publishing it again', async () => {
    const { boss } = here();
    const name = await create();
    const draft = await read(name);
    const turned = Object.fromEntries(Object.entries(EXPENSES).reverse());
    expect((await put(boss, `${WORKFLOWS}/${name}`, turned)).as(workflow)).to.deep.equal(draft);
    const one = (await publish(name)).as(workflow);
    expect((await publish(name)).as(workflow)).to.deep.equal(one);
    expect((await put(boss, `${WORKFLOWS}/${name}`, EXPENSES)).as(workflow)).to.deep.equal(one);
    expect(await read(name)).to.deep.equal(one);
  });

  it('get one version from ten concurrent publications', async () => {
    const name = await create();
    const answers = await Promise.all(Array.from({ length: 10 }, () => publish(name)));
    expect(answers.map((answer) => answer.as(workflow).version)).to.deep.equal(Array(10).fill(1));
    expect((await read(name)).version).to.equal(1);
  });

  it('are read by all users and changed by admins', async () => {
    const { ada } = here();
    const name = await create();
    for (const answer of [
      await ada.api.post(WORKFLOWS, { name: fresh(), ...EXPENSES }),
      await put(ada, `${WORKFLOWS}/${name}`, EXPENSES),
      await ada.api.post(`${WORKFLOWS}/${name}/publish`),
    ]) {
      expect([answer.status, answer.error]).to.deep.equal([403, 'admin_required']);
    }
    expect((await ada.api.get(WORKFLOWS)).status).to.equal(200);
  });

  it('are not found by other names', async () => {
    const { boss } = here();
    for (const name of [fresh(), 'No-Name', 'x'.repeat(64), '%00', 'a.b']) {
      for (const answer of [
        await boss.api.get(`${WORKFLOWS}/${name}`),
        await put(boss, `${WORKFLOWS}/${name}`, EXPENSES),
        await publish(name),
      ]) {
        expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
      }
    }
  });

  it('are listed in pages without gap or duplicate, oldest first', async () => {
    const { world } = here();
    const home = await world.tenant();
    const names = Array.from({ length: 7 }, (_, i) => `flow_${i}`);
    for (const name of names) {
      (await home.admin.api.post(WORKFLOWS, { name, ...EXPENSES })).as(workflow, 201);
    }
    const seen: string[] = [];
    let next: string | undefined = `${WORKFLOWS}?limit=3`;
    while (next !== undefined) {
      const answer = await home.admin.api.get(next);
      seen.push(...answer.as(workflows).map(({ name }) => name));
      next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
    }
    expect(seen).to.deep.equal(names);
  });

  it('cannot be renamed; the own name and tenant may be sent along', async () => {
    const { tenant, boss } = here();
    const name = await create();
    const answer = await put(boss, `${WORKFLOWS}/${name}`, { ...EXPENSES, name: 'another' });
    expect(answer.as(validationFailed, 400).details.field).to.equal('name');
    (await put(boss, `${WORKFLOWS}/${name}`, { ...EXPENSES, name, tenant_id: tenant.id })).as(workflow);
    const foreign = await put(boss, `${WORKFLOWS}/${name}`, { ...EXPENSES, tenant_id: 'other' });
    expect([foreign.status, foreign.error]).to.deep.equal([403, 'tenant_mismatch']);
  });

  const [draftState, ...states] = EXPENSES.states;
  const badShapes: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['a missing name', { name: undefined }, 'name'],
    ['a name with a capital', { name: 'Expenses' }, 'name'],
    ['a name of 64 characters', { name: 'x'.repeat(64) }, 'name'],
    ['a missing initial state', { initial: undefined }, 'initial'],
    ['an unknown key', { colour: 'red' }, 'colour'],
    ['states that are no list', { states: {} }, 'states'],
    [
      'an unknown key of a state',
      { states: [{ ...draftState, colour: 'red' }, ...states] },
      'states.0.colour',
    ],
    ['a state without a label', { states: [{ key: 'draft' }, ...states] }, 'states.0.label'],
    ['a state with a bad key', { states: [{ key: 'In-Draft', label: 'x' }, ...states] }, 'states.0.key'],
    [
      'a final that is no boolean',
      { states: [{ ...draftState, final: 'yes' }, ...states] },
      'states.0.final',
    ],
    ['an unknown key of a transition', { transitions: [{ ...first, effects: [] }] }, 'transitions.0.effects'],
    ['a transition from nowhere', { transitions: [{ ...first, from: [] }] }, 'transitions.0.from'],
    ['an unknown role', { transitions: [{ ...first, roles: ['boss'] }] }, 'transitions.0.roles.0'],
    ['an empty list of roles', { transitions: [{ ...first, roles: [] }] }, 'transitions.0.roles'],
    ['a guard that is no text', { transitions: [{ ...first, guard: true }] }, 'transitions.0.guard'],
    ['a label with NUL', { states: [{ key: 'draft', label: 'a\u0000' }] }, 'states.0.label'],
    [
      '101 states',
      { states: Array.from({ length: 101 }, (_, i) => ({ key: `s${i}`, label: 'S' })) },
      'states',
    ],
    [
      '501 transitions',
      { transitions: Array.from({ length: 501 }, (_, i) => ({ ...first, event_name: `e${i}` })) },
      'transitions',
    ],
    [
      'more text than the limit',
      {
        transitions: Array.from({ length: 50 }, (_, i) => ({
          ...first,
          event_name: `e${i}`,
          guard: `"${'x'.repeat(4000)}" == state`,
        })),
      },
      'transitions',
    ],
  ];
  for (const [what, own, field] of badShapes) {
    it(`refuse ${what} at once`, async () => {
      const { boss } = here();
      const answer = await boss.api.post(WORKFLOWS, { name: fresh(), ...EXPENSES, ...own });
      expect(answer.as(validationFailed, 400).details.field).to.equal(field);
      if ('name' in own) return;
      const name = await create();
      const saved = await put(boss, `${WORKFLOWS}/${name}`, { ...EXPENSES, ...own });
      expect(saved.as(validationFailed, 400).details.field).to.equal(field);
    });
  }

  const more = (own: Record<string, unknown>): Partial<Definition> => ({
    transitions: [...EXPENSES.transitions, { event_name: 'go', from: 'draft', to: 'draft', ...own }],
  });
  const unfit: readonly (readonly [string, Partial<Definition>, readonly string[]])[] = [
    ['an empty list of states', { states: [], transitions: [] }, ['states', 'initial']],
    ['an initial state that does not exist', { initial: 'nowhere' }, ['initial']],
    ['a state twice', { states: [...EXPENSES.states, { key: 'draft', label: 'x' }] }, ['states.4.key']],
    [
      'a state that is never reached',
      { states: [...EXPENSES.states, { key: 'x', label: 'x' }] },
      ['states.4.key'],
    ],
    ['a transition to nowhere', more({ to: 'nowhere' }), ['transitions.4.to']],
    ['a transition from nowhere', more({ from: ['draft', 'nowhere'] }), ['transitions.4.from.1']],
    ['a transition out of a final state', more({ from: 'paid' }), ['transitions.4.from']],
    ['two transitions for one event', more({ event_name: 'submit' }), ['transitions.4.from']],
    ['a guard that cannot be read', more({ guard: 'record.amount >' }), ['transitions.4.guard']],
    [
      'a guard with a regular expression',
      more({ guard: 'record.title.matches("a+")' }),
      ['transitions.4.guard'],
    ],
    ['a guard that is no condition', more({ guard: '1' }), ['transitions.4.guard']],
    ['a guard on an unknown member', more({ guard: 'actor.foo == 1' }), ['transitions.4.guard']],
    ['a guard on what is no value', more({ guard: 'actor == null' }), ['transitions.4.guard']],
    ['a guard on an unknown state', more({ guard: 'state == "zzz"' }), ['transitions.4.guard']],
    ['a guard on an unknown role', more({ guard: 'actor.role == "king"' }), ['transitions.4.guard']],
    [
      'several of these',
      { initial: 'nowhere', ...more({ to: 'there', guard: '(' }) },
      ['initial', 'transitions.4.to', 'transitions.4.guard'],
    ],
  ];
  for (const [what, own, paths] of unfit) {
    it(`are saved as a draft but not published with ${what}`, async () => {
      const name = await create(own);
      const refused = (await publish(name)).as(validationFailed, 400);
      expect(refused.details.issues.map(({ path }) => path)).to.deep.equal(paths);
      expect(await read(name)).to.deep.include({ status: 'draft', version: 0 });
    });
  }

  it('have one effect per Idempotency-Key', async () => {
    const { boss } = here();
    const name = fresh();
    const body = { name, ...EXPENSES };
    const headers = { 'idempotency-key': fresh() };
    const [one, again] = [
      await boss.api.post(WORKFLOWS, body, { headers }),
      await boss.api.post(WORKFLOWS, body, { headers }),
    ];
    expect(again.json).to.deep.equal(one.as(workflow, 201));
    expect(again.header('idempotency-replayed')).to.equal('true');
  });

  describe('that entities run', () => {
    const flow: Partial<Definition> = {
      transitions: [
        ...EXPENSES.transitions,
        { event_name: 'grow', from: 'draft', to: 'draft', guard: 'record.size > 5' },
      ],
    };
    const entity = (name: string, workflow: string, fields: readonly unknown[]) =>
      here().boss.api.post(ENTITIES, { name, label: name, fields, workflow });

    it('are published only when guards and required fields fit each of them', async () => {
      const { boss } = here();
      const name = await create();
      (await publish(name)).as(workflow);
      const made = fresh();
      expect((await entity(made, name, FIELDS)).status).to.equal(201);
      (await put(boss, `${WORKFLOWS}/${name}`, { ...EXPENSES, ...flow })).as(workflow);
      const refused = (await publish(name)).as(validationFailed, 400);
      expect(refused.details.issues.map(({ path }) => path)).to.deep.equal(['transitions.4.guard']);
      expect(refused.details.issues[0]?.message).to.contain(made);
      const size = { key: 'size', label: 'Size', type: 'text', required: false };
      const grown = await boss.api.patch(`${ENTITIES}/${made}`, { fields: [...FIELDS, size] });
      expect(grown.status).to.equal(200);
      (await publish(name)).as(validationFailed, 400);
      const count = { ...size, key: 'count', type: 'integer' };
      await boss.api.patch(`${ENTITIES}/${made}`, { fields: [...FIELDS, size, count] });
      const fitting = { event_name: 'grow', from: 'draft', to: 'draft', guard: 'record.count > 5' };
      const transitions = [...EXPENSES.transitions, fitting];
      (await put(boss, `${WORKFLOWS}/${name}`, { ...EXPENSES, transitions })).as(workflow);
      expect((await publish(name)).as(workflow).version).to.equal(2);
    });

    it('are attached only when they fit and are published', async () => {
      const name = await create(flow);
      expect((await entity(fresh(), name, FIELDS)).error).to.equal('constraint_violated');
      (await publish(name)).as(workflow);
      (await entity(fresh(), name, FIELDS)).as(validationFailed, 400);
      const size = { key: 'size', label: 'Size', type: 'integer', required: false };
      expect((await entity(fresh(), name, [...FIELDS, size])).status).to.equal(201);
    });
  });
});
