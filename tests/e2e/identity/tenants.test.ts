import { expect } from 'chai';
import { z } from 'zod';
import { eventually, randomName } from '../../support/server.ts';
import { errorWithDetails, login, tenant as shape, users, validationFailed } from '../../support/shapes.ts';
import { allMessages } from '../../support/unread-model.ts';
import { endWorld, say, startWorld, talk, USERS, type World } from '../../support/world.ts';

/** Decisions, section 3, Platform. */
describe('Tenants', () => {
  let world: World;

  before(async () => {
    world = await startWorld();
  });
  after(endWorld);

  const create = (own: Record<string, unknown> = {}) =>
    world.platform.post('/super/tenants', { id: randomName('t'), name: 'X', ...own });

  it('have defaults, and are read and listed at both paths as created', async () => {
    const made = (await create()).as(shape, 201);
    expect(made).to.deep.include({
      plan: 'free',
      partner_id: null,
      entitlements: { ledger: false, assistant: false },
      currency: 'EUR',
      timezone: 'UTC',
      status: 'active',
    });
    for (const prefix of ['', '/api/v1']) {
      expect((await world.platform.get(`${prefix}/super/tenants/${made.id}`)).as(shape)).to.deep.equal(made);
      const list = (await world.platform.get(`${prefix}/super/tenants?limit=200`)).as(shape.array());
      expect(list.find(({ id }) => id === made.id)).to.deep.equal(made);
    }
  });

  it('accept every setting, and a PATCH merges entitlements', async () => {
    const north = await world.platform.post('/super/partners', { id: 'north', name: 'North' });
    expect(north.status).to.equal(201);
    const settings = {
      name: 'Größe',
      plan: 'enterprise',
      partner_id: 'north',
      entitlements: { ledger: true },
      currency: 'JPY',
      timezone: 'Asia/Tokyo',
    };
    const made = (await create(settings)).as(shape, 201);
    expect(made).to.deep.include({ ...settings, entitlements: { ledger: true, assistant: false } });
    const path = `/super/tenants/${made.id}`;
    for (const [change, wanted] of [
      [{ entitlements: { assistant: true } }, { entitlements: { ledger: true, assistant: true } }],
      [{ entitlements: { ledger: false } }, { entitlements: { ledger: false, assistant: true } }],
      [{ entitlements: {} }, { entitlements: { ledger: false, assistant: true } }],
      [
        { plan: 'hobby', name: 'Y' },
        { plan: 'hobby', name: 'Y' },
      ],
      [{ partner_id: null }, { partner_id: null }],
      [{ status: 'suspended' }, { status: 'suspended' }],
      [{ status: 'active' }, { status: 'active' }],
      [{}, {}],
      [{ id: 'other', created_at: 'x' }, { id: made.id }],
    ] as const) {
      const changed = (await world.platform.patch(path, change)).as(shape);
      expect(changed).to.deep.include(wanted);
      expect((await world.platform.get(path)).as(shape)).to.deep.equal(changed);
    }
  });

  for (const id of [
    'platform',
    'partner_x',
    'partner_',
    '',
    '1a',
    '_a',
    'A',
    'a-b',
    'a.b',
    'ü',
    'a b',
    'a'.repeat(41),
    7,
    null,
    undefined,
  ]) {
    it(`cannot be called ${JSON.stringify(id) ?? 'nothing'}`, async () => {
      expect((await create({ id })).as(validationFailed, 400).details.field).to.equal('id');
      if (typeof id !== 'string' || id === '') return;
      expect((await world.platform.get(`/super/tenants/${encodeURIComponent(id)}`)).error).to.equal(
        'not_found',
      );
      expect((await world.platform.patch(`/super/tenants/${encodeURIComponent(id)}`, {})).error).to.equal(
        'not_found',
      );
    });
  }

  it('may have ids such as partner and platform_x, and of 1 to 40 characters', async () => {
    for (const id of ['partner', 'partners', 'platform_x', 'a', `z${'9'.repeat(39)}`])
      (await create({ id })).as(shape, 201);
  });

  it('show their first admin at once', async () => {
    for (let i = 0; i < 5; i += 1) {
      const admin = { email: 'first@people.example', password: 'the password', display_name: 'First' };
      const { id } = (await create({ admin })).as(shape, 201);
      const credentials = { email: admin.email, password: admin.password, tenant: id };
      const { token } = (await world.anybody.post('/auth/login', credentials)).as(login);
      const list = (await world.anybody.with(token).get(USERS)).as(users);
      expect(list.map(({ display_name }) => display_name)).to.deep.equal(['First']);
    }
  });

  it('are created once by concurrent requests with the same id', async () => {
    const id = randomName('t');
    const answers = await Promise.all(Array.from({ length: 5 }, () => create({ id })));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer.as(errorWithDetails, 409)).to.deep.include({
        error: 'already_exists',
        details: { field: 'id' },
      });
    }
  });

  for (const [field, value] of [
    ['name', ''],
    ['name', undefined],
    ['plan', 'gold'],
    ['currency', 'eur'],
    ['currency', 'EURO'],
    ['currency', 'ZZZ'],
    ['timezone', 'Mars/Olympus'],
    ['partner_id', 'No Slug'],
    ['entitlements', { ledger: 'yes' }],
    ['admin', { email: 'x@y.example' }],
    ['admin', { email: 'x', password: 'long enough 1', display_name: 'X' }],
  ] as const) {
    it(`cannot have the ${field} ${JSON.stringify(value) ?? 'missing'}`, async () => {
      const { details } = (await create({ [field]: value })).as(validationFailed, 400);
      expect(details.field.split('.')[0]).to.equal(field);
    });
  }

  const projection = z.array(
    z.object({
      name: z.string(),
      generation: z.string(),
      state: z.enum(['active', 'building']),
      parked: z.array(z.unknown()),
    }),
  );

  it('are not affected by a rebuild of their read models', async () => {
    const home = await world.tenant();
    const [ada, ben] = [await home.person('Ada'), await home.person('Ben')];
    const id = await talk(ada, ben);
    for (let i = 0; i < 20; i += 1) await say(ada, id, `m ${i}`);
    const before = await allMessages(ben, id);
    const states = async () => (await world.platform.get('/super/projections')).as(projection);
    for (const { name, parked } of await states()) {
      expect(parked).to.deep.equal([]);
      const answer = await world.platform.post(`/super/projections/${name}/rebuild`);
      expect(answer.status).to.equal(202);
    }
    await eventually(
      'the new generations',
      async () => {
        // Reads work during the rebuild.
        expect(await allMessages(ben, id)).to.deep.equal(before);
        return (await states()).every(
          ({ generation, state }) => generation.endsWith('.1') && state === 'active',
        );
      },
      15_000,
    );
    const sent = await say(ada, id, 'afterwards');
    expect((await allMessages(ben, id)).map((one) => one.id)).to.deep.equal([
      ...before.map((one) => one.id),
      sent.id,
    ]);
    expect((await world.platform.post('/super/projections/nothing/rebuild')).error).to.equal('not_found');
    expect(
      (await world.platform.post('/super/projections/nothing/retry', { tenant: home.id })).error,
    ).to.equal('not_found');
    expect(
      (await world.platform.post('/super/projections/users/retry', { tenant: home.id })).status,
    ).to.equal(202);
    (await world.platform.post('/super/projections/users/retry', {})).as(validationFailed, 400);
  });
});
