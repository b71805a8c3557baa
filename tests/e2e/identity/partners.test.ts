import { expect } from 'chai';
import { PORTAL, partner, partnerToken, session } from '../../support/partners.ts';
import { randomName, type Server } from '../../support/server.ts';
import { errorWithDetails, tenant as tenantShape, validationFailed } from '../../support/shapes.ts';
import { endWorld, sharedPair, type World } from '../../support/world.ts';

/** Decisions, section 3, Platform: partners. */
describe('Partners', () => {
  let world: World;
  let other: Server;

  before(async () => {
    ({ world, other } = await sharedPair());
  });
  after(endWorld);

  const create = (own: Record<string, unknown> = {}) =>
    world.platform.post('/super/partners', { id: randomName('p'), name: 'Größe & Söhne', ...own });
  const unknownReference = (path: string) => (answer: { json: unknown; status: number }) => {
    const { error, details } = errorWithDetails.parse(answer.json);
    expect([answer.status, error]).to.deep.equal([422, 'constraint_violated']);
    expect(details).to.have.nested.property('issues[0].path', path);
    expect(details).to.have.nested.property('issues[0].code', 'unknown_reference');
  };

  it('are read and listed at both paths as created', async () => {
    const home = await world.tenant();
    for (const own of [{}, { home_tenant_id: null }, { home_tenant_id: home.id }]) {
      const made = (await create(own)).as(partner, 201);
      expect(made).to.include({ name: 'Größe & Söhne', home_tenant_id: own.home_tenant_id ?? null });
      for (const prefix of ['', '/api/v1']) {
        const path = `${prefix}/super/partners`;
        expect((await world.platform.get(`${path}/${made.id}`)).as(partner)).to.deep.equal(made);
        const list = (await world.platform.get(`${path}?limit=200`)).as(partner.array());
        expect(list.find(({ id }) => id === made.id)).to.deep.equal(made);
      }
    }
  });

  it('are listed oldest first, in pages', async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.push((await create()).as(partner, 201).id);
    const seen: string[] = [];
    let path: string | undefined = '/super/partners?limit=2';
    while (path !== undefined) {
      const page = await world.platform.get(path);
      seen.push(...page.as(partner.array()).map(({ id }) => id));
      path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
    }
    expect(seen.slice(-5)).to.deep.equal(made);
    expect(new Set(seen).size).to.equal(seen.length);
  });

  it('change only the given members, and append nothing for equal values', async () => {
    const home = await world.tenant();
    const { id, created_at } = (await create()).as(partner, 201);
    const path = `/super/partners/${id}`;
    for (const [change, wanted] of [
      [{ name: 'New' }, { name: 'New', home_tenant_id: null }],
      [{ home_tenant_id: home.id }, { name: 'New', home_tenant_id: home.id }],
      [{}, { name: 'New', home_tenant_id: home.id }],
      [
        { id: 'other', created_at: 'x' },
        { name: 'New', home_tenant_id: home.id },
      ],
      [{ home_tenant_id: null }, { name: 'New', home_tenant_id: null }],
    ] as const) {
      const answer = await world.platform.patch(path, change);
      expect(answer.as(partner)).to.deep.equal({ id, created_at, ...wanted });
      expect((await world.platform.get(path)).as(partner)).to.deep.equal({ id, created_at, ...wanted });
      const again = await world.platform.patch(path, change);
      expect(again.header('x-event-position')).to.equal(answer.header('x-event-position'));
    }
    const token = world.anybody.with(partnerToken(id));
    await world.platform.patch(path, { name: 'Shown' });
    expect((await token.get(`${PORTAL}/me`)).as(session).partner).to.deep.equal({ id, name: 'Shown' });
  });

  it('are created once, also by six concurrent requests at two servers', async () => {
    const id = randomName('p');
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        (i % 2 ? world.platform : world.platform.at(other)).post('/super/partners', { id, name: `No ${i}` }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer.as(errorWithDetails, 409)).to.deep.include({
        error: 'already_exists',
        details: { field: 'id' },
      });
    }
  });

  for (const id of ['', '1a', '_a', 'A', 'a-b', 'a.b', 'ü', 'a b', 'a'.repeat(41), 7, null, undefined]) {
    it(`cannot be called ${JSON.stringify(id) ?? 'nothing'}`, async () => {
      expect((await create({ id })).as(validationFailed, 400).details.field).to.equal('id');
      if (typeof id !== 'string' || id === '') return;
      const path = `/super/partners/${encodeURIComponent(id)}`;
      const unknown = await world.platform.get('/super/partners/nobody');
      for (const answer of [
        await world.platform.get(path),
        await world.platform.patch(path, { name: 'x' }),
      ]) {
        expect([answer.status, answer.text]).to.deep.equal([404, unknown.text]);
      }
    });
  }

  for (const [field, value] of [
    ['name', ''],
    ['name', undefined],
    ['name', 'x'.repeat(201)],
    ['name', 'a\u0000b'],
    ['home_tenant_id', 7],
  ] as const) {
    it(`cannot have the ${field} ${JSON.stringify(value)?.slice(0, 20) ?? 'missing'}`, async () => {
      expect((await create({ [field]: value })).as(validationFailed, 400).details.field).to.equal(field);
    });
  }

  it('need an existing home tenant', async () => {
    const { id } = (await create()).as(partner, 201);
    for (const home_tenant_id of [randomName('t'), 'platform', 'partner_x', 'No Slug', '']) {
      const refused = unknownReference('home_tenant_id');
      const fresh = randomName('p');
      refused(await create({ id: fresh, home_tenant_id }));
      expect((await world.platform.get(`/super/partners/${fresh}`)).status).to.equal(404);
      refused(await world.platform.patch(`/super/partners/${id}`, { name: 'half', home_tenant_id }));
    }
    expect((await world.platform.get(`/super/partners/${id}`)).as(partner).name).to.equal('Größe & Söhne');
    // An unknown and an existing partner id are reported before the home tenant.
    const nowhere = { name: 'x', home_tenant_id: 'nowhere' };
    expect((await world.platform.patch('/super/partners/nobody', nowhere)).status).to.equal(404);
    expect((await create({ id, home_tenant_id: 'nowhere' })).status).to.equal(409);
  });

  it('must exist before a tenant is assigned', async () => {
    const { id } = (await create()).as(partner, 201);
    const refused = unknownReference('partner_id');
    const fresh = randomName('t');
    refused(await world.platform.post('/super/tenants', { id: fresh, name: 'X', partner_id: 'nobody' }));
    expect((await world.platform.get(`/super/tenants/${fresh}`)).status).to.equal(404);
    const mine = { id: fresh, name: 'X', partner_id: id };
    expect((await world.platform.post('/super/tenants', mine)).as(tenantShape, 201).partner_id).to.equal(id);
    const path = `/super/tenants/${fresh}`;
    refused(await world.platform.patch(path, { name: 'half', partner_id: 'nobody' }));
    expect((await world.platform.get(path)).as(tenantShape)).to.include({ name: 'X', partner_id: id });
    expect((await world.platform.patch(path, { partner_id: null })).as(tenantShape).partner_id).to.equal(
      null,
    );
    expect((await world.platform.patch('/super/tenants/nowhere', { partner_id: 'nobody' })).status).to.equal(
      404,
    );
    const taken = await world.platform.post('/super/tenants', { ...mine, partner_id: 'nobody' });
    expect(taken.status).to.equal(409);
  });

  it('are visible at the other server at once, also when it has just refused them as unknown', async () => {
    const there = world.platform.at(other);
    for (let i = 0; i < 10; i += 1) {
      const [id, tenant] = [randomName('p'), randomName('t')];
      const me = world.anybody.at(other).with(partnerToken(id));
      expect((await me.get(`${PORTAL}/me`)).error).to.equal('partner_permission_missing');
      expect((await there.post('/super/tenants', { id: tenant, name: 'X', partner_id: id })).status).to.equal(
        422,
      );
      (await create({ id })).as(partner, 201);
      expect((await me.get(`${PORTAL}/me`)).status).to.equal(200);
      expect((await there.post('/super/tenants', { id: tenant, name: 'X', partner_id: id })).status).to.equal(
        201,
      );
      const home = { id: randomName('p'), name: 'X', home_tenant_id: tenant };
      expect((await world.platform.post('/super/partners', home)).status).to.equal(201);
    }
  });

  it('are managed by platform admins only', async () => {
    const home = await world.tenant();
    const { id } = (await create()).as(partner, 201);
    for (const path of ['/super/partners', '/api/v1/super/partners', `/super/partners/${id}`]) {
      expect((await world.anybody.get(path)).error).to.equal('unauthenticated');
      for (const token of [home.admin.token, partnerToken(id)]) {
        expect((await world.anybody.with(token).get(path)).error).to.equal('invalid_credential');
      }
    }
  });
});
