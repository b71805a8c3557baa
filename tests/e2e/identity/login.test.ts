import { expect } from 'chai';
import { z } from 'zod';
import { ROOT, randomName } from '../../support/server.ts';
import { login, user, validationFailed } from '../../support/shapes.ts';
import { BASE, endWorld, sharedWorld, type TestTenant, USERS, type World } from '../../support/world.ts';

const PASSWORD = 'correct horse battery';

describe('Signing in', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
  });
  after(endWorld);

  const enter = (body: unknown, path = '/auth/login') => world.anybody.post(path, body);

  const account = async (home: TestTenant, email: string, password = PASSWORD) => {
    const body = { email, display_name: 'Somebody', role: 'operator', password };
    return (await home.admin.api.post(USERS, body)).as(user, 201);
  };
  const fresh = (): string => `${randomName('Someone').replace('_', '.')}@People.example`;

  it('returns a valid token and the person, at both paths', async () => {
    const email = fresh();
    const made = await account(tenant, email);
    for (const path of ['/auth/login', '/api/v1/auth/login']) {
      const answer = (await enter({ email, password: PASSWORD }, path)).as(login);
      expect(answer.user).to.deep.equal({
        id: made.id,
        email,
        display_name: 'Somebody',
        role: 'operator',
        tenant_id: tenant.id,
      });
      expect((await world.anybody.with(answer.token).get(BASE)).status).to.equal(200);
      const [, payload = ''] = answer.token.split('.');
      const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
      const parsed = z
        .strictObject({
          sub: z.literal(made.id),
          email: z.literal(email),
          tenant_id: z.literal(tenant.id),
          role: z.literal('operator'),
          iat: z.int(),
          exp: z.int(),
        })
        .parse(claims);
      expect(parsed.exp - parsed.iat).to.equal(86_400);
    }
  });

  it('ignores the case of e-mails, but not of passwords', async () => {
    const email = fresh();
    await account(tenant, email);
    for (const spelled of [email.toUpperCase(), email.toLowerCase()]) {
      (await enter({ email: spelled, password: PASSWORD })).as(login);
    }
    expect((await enter({ email, password: PASSWORD.toUpperCase() })).status).to.equal(401);
    expect((await enter({ email, password: `${PASSWORD} ` })).status).to.equal(401);
  });

  it('answers a wrong e-mail, a wrong password and a passwordless account with the same bytes', async () => {
    const email = fresh();
    await account(tenant, email);
    const passwordless = fresh();
    await tenant.admin.api.post(USERS, { email: passwordless, display_name: 'X', role: 'admin' });
    const texts = new Set<string>();
    for (const body of [
      { email: fresh(), password: PASSWORD },
      { email, password: 'not the password' },
      { email: passwordless, password: PASSWORD },
      { email, password: PASSWORD, tenant: 'nowhere' },
      { email, password: PASSWORD, tenant: 'Not A Slug' },
      { email, password: PASSWORD, tenant: 'platform' },
      { email, password: PASSWORD, tenant: '' },
      { email: ROOT.email, password: ROOT.password },
    ]) {
      const answer = await enter(body);
      expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
      texts.add(answer.text);
    }
    expect(texts.size).to.equal(1);
  });

  it('takes the same time for known and unknown e-mails', async () => {
    const email = fresh();
    await account(tenant, email);
    const time = async (address: string): Promise<number> => {
      const began = performance.now();
      await enter({ email: address, password: 'not the password' });
      return performance.now() - began;
    };
    // Compares the fastest of many alternating measurements: load only adds time, so more rounds help.
    let [known, unknown] = [Infinity, Infinity];
    const alike = () => known / unknown > 0.75 && known / unknown < 1.35;
    for (let i = 0; i < 10 || (i < 60 && !alike()); i += 1) {
      known = Math.min(known, await time(email));
      unknown = Math.min(unknown, await time(fresh()));
    }
    // Each sign-in takes three verifications of a password: skipping one would change the time by a third.
    expect(known / unknown).to.be.within(0.75, 1.35);
  });

  it('asks for the tenant when several match, and accepts the named one', async () => {
    const other = await world.tenant();
    const email = fresh();
    await account(tenant, email);
    const there = await account(other, email.toLowerCase());
    const answer = await enter({ email, password: PASSWORD });
    expect([answer.status, answer.error]).to.deep.equal([409, 'tenant_required']);
    const named = (await enter({ email, password: PASSWORD, tenant: other.id })).as(login);
    expect(named.user).to.include({ id: there.id, tenant_id: other.id });
    expect((await enter({ email, password: 'wrong password', tenant: other.id })).status).to.equal(401);
  });

  it('finds the tenant by the password', async () => {
    const other = await world.tenant();
    const email = fresh();
    await account(tenant, email);
    await account(other, email, 'another password');
    const found = (await enter({ email, password: 'another password' })).as(login);
    expect(found.user.tenant_id).to.equal(other.id);
  });

  it('is 401 for an e-mail of more than three tenants unless the tenant is named', async () => {
    const email = fresh();
    for (let i = 0; i < 4; i += 1) await account(await world.tenant(), email);
    expect((await enter({ email, password: PASSWORD })).status).to.equal(401);
    const home = await world.tenant();
    await account(home, email);
    (await enter({ email, password: PASSWORD, tenant: home.id })).as(login);
  });

  it('is refused for a deactivated person and a suspended tenant, and works again afterwards', async () => {
    const home = await world.tenant();
    const email = fresh();
    const made = await account(home, email);
    await home.admin.api.patch(`${USERS}/${made.id}`, { status: 'deactivated' });
    const gone = await enter({ email, password: PASSWORD });
    expect([gone.status, gone.error]).to.deep.equal([401, 'invalid_credential']);
    await home.admin.api.patch(`${USERS}/${made.id}`, { status: 'active' });
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'suspended' });
    const suspended = await enter({ email, password: PASSWORD });
    expect([suspended.status, suspended.error]).to.deep.equal([403, 'tenant_suspended']);
    // Only a caller with the password learns of the suspension.
    expect((await enter({ email, password: 'wrong password' })).status).to.equal(401);
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'active' });
    (await enter({ email, password: PASSWORD })).as(login);
  });

  it('accepts a changed password at once', async () => {
    const email = fresh();
    const made = await account(tenant, email);
    await tenant.admin.api.patch(`${USERS}/${made.id}`, { password: 'quite another one' });
    expect((await enter({ email, password: PASSWORD })).status).to.equal(401);
    (await enter({ email, password: 'quite another one' })).as(login);
  });

  it('works for a tenant’s first admin', async () => {
    const id = randomName('t');
    const admin = { email: fresh(), password: PASSWORD, display_name: 'First' };
    await world.platform.post('/super/tenants', { id, name: 'X', admin });
    const answer = (await enter({ email: admin.email, password: PASSWORD })).as(login);
    expect(answer.user).to.include({ role: 'admin', tenant_id: id, display_name: 'First' });
  });

  for (const body of [
    {},
    { email: 'a@b.example' },
    { password: 'x' },
    { email: 7, password: 'x' },
    { email: 'a@b.example', password: '' },
    { email: 'a@b.example', password: 'x'.repeat(1001) },
    { email: 'a@b.example', password: 'x', tenant: 7 },
  ]) {
    it(`refuses ${JSON.stringify(body).slice(0, 50)} with 400`, async () => {
      for (const path of 'tenant' in body ? ['/auth/login'] : ['/auth/login', '/super/auth/login']) {
        (await enter(body, path)).as(validationFailed, 400);
      }
    });
  }
});
