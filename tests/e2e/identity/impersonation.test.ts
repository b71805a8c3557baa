import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { logPage, wholeLog } from '../../support/event-log.ts';
import { claimsOf, impersonate, impersonationClaims, impersonationToken } from '../../support/impersonate.ts';
import { randomName } from '../../support/server.ts';
import { tenant as shape, user } from '../../support/shapes.ts';
import { platformClaims, platformToken, tenantToken } from '../../support/tokens.ts';
import {
  endWorld,
  type Member,
  sharedWorld,
  type TestTenant,
  USERS,
  type World,
} from '../../support/world.ts';

const ADMIN = z.object({ email: z.string() }).parse(platformClaims()).email;

/** Specification, Authentication 3; decisions, section 3. */
describe('Impersonation', () => {
  let world: World;
  let home: TestTenant;
  let operator: Member;

  before(async () => {
    world = await sharedWorld();
    home = await world.tenant();
    operator = await home.person('Olga');
  });
  after(endWorld);

  const mint = (tenantId: string, body: object = {}) =>
    world.platform.post(`/super/impersonate/${tenantId}`, body);

  it('gives a token of the oldest active admin, with exactly the documented claims, for an hour', async () => {
    for (const prefix of ['', '/api/v1']) {
      const answer = await world.platform.post(`${prefix}/super/impersonate/${home.id}`);
      const { token } = answer.as(impersonationToken);
      const claims = impersonationClaims.parse(claimsOf(token));
      expect(claims).to.deep.include({
        sub: home.admin.id,
        email: home.admin.email,
        tenant_id: home.id,
        role: 'admin',
        impersonated_by: ADMIN,
      });
      expect(claims.exp - claims.iat).to.equal(3600);
      expect(answer.header('x-event-position')).to.be.a('string');
      const me = await world.anybody.with(token).get('/api/v1/tenant/me');
      expect(me.json).to.deep.include({ id: home.admin.id, tenant_id: home.id, impersonated_by: ADMIN });
    }
  });

  it('acts as the given user, with that user’s role only', async () => {
    const { token, api } = await impersonate(world, home.id, { user_id: operator.id, reason: 'ticket 7' });
    expect(impersonationClaims.parse(claimsOf(token))).to.deep.include({
      sub: operator.id,
      email: operator.email,
      role: 'operator',
    });
    expect((await api.get('/api/v1/tenant/me')).json).to.deep.include({ id: operator.id });
    expect((await api.patch(`${USERS}/${operator.id}`, { role: 'admin' })).error).to.equal('admin_required');
  });

  it('takes the next admin after a demotion or deactivation, and is refused without an admin', async () => {
    const tenant = await world.tenant();
    const second = await tenant.person('Second', 'admin');
    const third = await tenant.person('Third', 'admin');
    const acting = async () =>
      impersonationClaims.parse(claimsOf((await impersonate(world, tenant.id)).token)).sub;
    expect(await acting()).to.equal(tenant.admin.id);
    (await second.api.patch(`${USERS}/${tenant.admin.id}`, { role: 'operator' })).as(user);
    expect(await acting()).to.equal(second.id);
    (await third.api.patch(`${USERS}/${second.id}`, { status: 'deactivated' })).as(user);
    expect(await acting()).to.equal(third.id);
    const empty = (await world.platform.post('/super/tenants', { id: randomName('t'), name: 'X' })).as(
      shape,
      201,
    );
    expect(await mint(empty.id)).to.deep.include({ status: 409, error: 'conflict' });
  });

  it('is refused for unknown, inactive and foreign tenants and users', async () => {
    const other = await world.tenant();
    const gone = await home.person('Gone');
    await home.admin.api.patch(`${USERS}/${gone.id}`, { status: 'deactivated' });
    const unknown = await mint('nowhere');
    expect(unknown).to.deep.include({ status: 404, error: 'not_found' });
    for (const id of ['No-Slug', 'platform', encodeURIComponent('a b')]) {
      expect((await mint(id)).text, id).to.equal(unknown.text);
    }
    for (const user_id of [randomUUID(), other.admin.id, gone.id, '', ' ', 'a b', '../x', 'x'.repeat(200)]) {
      expect((await mint(home.id, { user_id })).text, user_id).to.equal(unknown.text);
    }
    expect((await mint(home.id, { user_id: 7 })).error).to.equal('validation_failed');
    expect((await mint(home.id, { reason: '' })).error).to.equal('validation_failed');
    expect((await mint(home.id, { reason: 'x'.repeat(501) })).error).to.equal('validation_failed');
  });

  it('is refused for a suspended tenant, and ends with its suspension', async () => {
    const tenant = await world.tenant();
    const { api } = await impersonate(world, tenant.id);
    await world.platform.patch(`/super/tenants/${tenant.id}`, { status: 'suspended' });
    expect(await mint(tenant.id)).to.deep.include({ status: 403, error: 'tenant_suspended' });
    expect((await api.get('/api/v1/tenant/me')).error).to.equal('tenant_suspended');
  });

  it('needs a platform admin: tokens of tenants and of impersonations are refused', async () => {
    const { api, token } = await impersonate(world, home.id);
    for (const caller of [home.admin.api, operator.api, api]) {
      for (const path of ['/super/impersonate', '/api/v1/super/impersonate']) {
        const answer = await caller.post(`${path}/${home.id}`);
        expect(answer).to.deep.include({ status: 401, error: 'invalid_credential' });
      }
    }
    expect((await world.anybody.post(`/super/impersonate/${home.id}`)).error).to.equal('unauthenticated');
    // A token that only claims the role is signed with the wrong key.
    const forged = tenantToken(home.admin, { role: 'super_admin', impersonated_by: undefined });
    expect((await world.anybody.with(forged).post(`/super/impersonate/${home.id}`)).status).to.equal(401);
    expect((await world.anybody.with(token).get('/super/tenants')).status).to.equal(401);
  });

  it('is logged in the tenant’s log before the token is returned', async () => {
    const tenant = await world.tenant();
    const headers = { 'x-request-id': 'the-mint' };
    const answer = await world.platform.post(
      `/super/impersonate/${tenant.id}`,
      { reason: 'a look' },
      { headers },
    );
    const { lines } = await logPage(tenant.admin.api);
    expect(lines[0]).to.deep.include({
      actor: { kind: 'platform_admin', id: 'operations-tool', email: ADMIN },
      impersonated_by: ADMIN,
      action: 'impersonation_started',
      subject: { kind: 'user', id: tenant.admin.id },
      position: answer.header('x-event-position'),
      request_id: 'the-mint',
    });
  });

  it('shows the present e-mail of a known platform admin', async () => {
    const tenant = await world.tenant();
    const login = await world.anybody.post('/super/auth/login', {
      email: 'root@platform.example',
      password: 'the-root-password-1',
    });
    const { token } = z.object({ token: z.string() }).parse(login.json);
    (await world.anybody.with(token).post(`/super/impersonate/${tenant.id}`)).as(impersonationToken);
    const [line] = (await logPage(tenant.admin.api)).lines;
    expect(line?.actor.email).to.equal('Root@Platform.example');
    expect(line?.impersonated_by).to.equal('Root@Platform.example');
  });

  it('with an Idempotency-Key begins once, and shows its token once', async () => {
    const tenant = await world.tenant();
    const headers = { 'idempotency-key': 'k-1' };
    const ask = () => world.platform.post(`/super/impersonate/${tenant.id}`, {}, { headers });
    const first = await ask();
    first.as(impersonationToken);
    const again = await ask();
    expect(again.header('idempotency-replayed')).to.equal('true');
    expect(again.json).to.deep.equal({ token_type: 'Bearer', expires_in: 3600 });
    expect((await wholeLog(tenant.admin.api, '&action=impersonation_started')).length).to.equal(1);
  });

  it('with a token minted elsewhere registers an unknown person, and logs the impersonator', async () => {
    const tenant = await world.tenant();
    const person = {
      tenantId: tenant.id,
      id: randomUUID(),
      email: 'new@people.example',
      role: 'operator',
    } as const;
    const minted = tenantToken(person, {
      impersonated_by: 'tool@platform.example',
      exp: Math.floor(Date.now() / 1000) + 3600,
    });
    expect((await world.anybody.with(minted).get('/api/v1/tenant/me')).status).to.equal(200);
    const lines = await wholeLog(tenant.admin.api);
    const registered = lines.find(
      ({ action, subject }) => action === 'user_registered' && subject.id === person.id,
    );
    expect(registered?.impersonated_by).to.equal('tool@platform.example');
  });

  it('names the platform admin of the presented token', async () => {
    const tenant = await world.tenant();
    const other = world.anybody.with(platformToken({ email: 'second@platform.example' }));
    const { token } = (await other.post(`/super/impersonate/${tenant.id}`)).as(impersonationToken);
    await world.anybody.with(token).get(USERS);
    const [line] = (await logPage(tenant.admin.api)).lines;
    expect(line).to.deep.include({ action: 'list_users', impersonated_by: 'second@platform.example' });
  });
});
