import { expect } from 'chai';
import { login, user as userShape, users } from '../../support/shapes.ts';
import { type TestTenant, USERS } from '../../support/world.ts';
import { signIn, tenantAt, withProvider } from './sso-support.ts';

/** The user that a provider's identity belongs to. */
describe('Accounts of single sign-on', () => {
  const scene = withProvider();

  const enter = async (account: Parameters<typeof signIn>[3], at: TestTenant = scene().tenant) =>
    login.parse((await signIn(scene().world, scene().provider, at, account)).json).user;

  const allUsers = async () => (await scene().tenant.admin.api.get(`${USERS}?limit=200`)).as(users);

  it('are linked to the user with the verified e-mail, whose role stays', async () => {
    const { tenant } = scene();
    const admin = await tenant.person('Grace', 'admin');
    const entered = await enter({
      sub: 'grace',
      email: admin.email.toUpperCase(),
      email_verified: true,
      name: 'G',
    });
    expect(entered).to.include({ id: admin.id, role: 'admin', display_name: 'Grace', email: admin.email });
    // The link stays even if the provider later changes the e-mail.
    expect(await enter({ sub: 'grace' })).to.deep.equal(entered);
  });

  it('are not linked by an unverified e-mail, and do not claim it', async () => {
    const { world, provider, tenant } = scene();
    const victim = await tenant.person('Victim', 'admin');
    const leaver = await tenant.person('Leaver');
    await tenant.admin.api.patch(`${USERS}/${leaver.id}`, { status: 'deactivated' });
    const before = await allUsers();
    for (const { email } of [victim, leaver]) {
      for (const verified of [{ email_verified: false }, {}]) {
        const account = {
          sub: `mallory-${Math.random()}`,
          email: email.toUpperCase(),
          name: 'M',
          ...verified,
        };
        const page = await signIn(world, provider, tenant, account);
        expect(page.status).to.equal(401);
        expect(page.json).to.include({ error: 'invalid_credential' });
        expect(page.json).not.to.have.property('token');
      }
    }
    expect(await allUsers()).to.deep.equal(before);
    const rightful = await enter({ sub: 'victim', email: victim.email, email_verified: true });
    expect(rightful.id).to.equal(victim.id);
  });

  it('with an unverified address are not given to the later owner of the address', async () => {
    const { tenant } = scene();
    const email = 'late@owner.example';
    const squatter = await enter({ sub: 'squatter', email, email_verified: false, name: 'S' });
    const owner = await enter({ sub: 'owner', email, email_verified: true, name: 'O' });
    expect(owner.id).not.to.equal(squatter.id);
    const body = { email, display_name: 'Third', role: 'operator' };
    const third = await tenant.admin.api.post(USERS, body);
    expect(third.status, 'the owner holds the address').to.equal(409);
  });

  it('keep a newly verified e-mail: nobody else can be given it', async () => {
    const { tenant } = scene();
    const email = 'keeper@corp.example';
    const entered = await enter({ sub: 'keeper', email, email_verified: true });
    expect(entered.display_name, 'without a name').to.equal('keeper');
    const answer = await tenant.admin.api.post(USERS, { email, display_name: 'X', role: 'operator' });
    expect(answer.error).to.equal('already_exists');
  });

  it('are not created without a usable e-mail', async () => {
    const { world, provider, tenant } = scene();
    const before = await allUsers();
    for (const claims of [
      {},
      { email: '' },
      { email: 'no address' },
      { email: `${'x'.repeat(320)}@a.example` },
    ]) {
      const page = await signIn(world, provider, tenant, {
        sub: `none-${Math.random()}`,
        email_verified: true,
        ...claims,
      });
      expect(page.status, JSON.stringify(claims)).to.equal(401);
    }
    expect(await allUsers()).to.deep.equal(before);
  });

  it('that are deactivated stay refused, linked or not', async () => {
    const { world, provider, tenant } = scene();
    const linked = await enter({ sub: 'leaver', email: 'leaver@corp.example', email_verified: true });
    const other = await tenant.person('Other leaver');
    for (const id of [linked.id, other.id]) {
      (await tenant.admin.api.patch(`${USERS}/${id}`, { status: 'deactivated' })).as(userShape);
    }
    const count = (await allUsers()).length;
    for (const account of [
      { sub: 'leaver', email: 'leaver@corp.example', email_verified: true },
      { sub: 'other-leaver', email: other.email, email_verified: true },
    ]) {
      const page = await signIn(world, provider, tenant, account);
      expect(page.status).to.equal(401);
      expect(page.json).to.include({ error: 'invalid_credential' });
    }
    expect(await allUsers()).to.have.length(count);
    await tenant.admin.api.patch(`${USERS}/${linked.id}`, { status: 'active' });
    expect((await enter({ sub: 'leaver' })).id).to.equal(linked.id);
  });

  it('of a forgotten person are a new person at the next sign-in, without former data', async () => {
    const { tenant } = scene();
    const account = { sub: 'returner', email: 'returner@corp.example', email_verified: true, name: 'Rita' };
    const seen = new Set<string>();
    for (let nth = 0; nth < 3; nth += 1) {
      const entered = await enter(account);
      expect(seen.has(entered.id), 'another one each time').to.equal(false);
      expect(entered).to.deep.include({ role: 'operator', display_name: 'Rita', email: account.email });
      expect((await enter(account)).id, 'the same until forgotten').to.equal(entered.id);
      await tenant.admin.api.patch(`${USERS}/${entered.id}`, { role: 'admin' });
      const forgotten = await tenant.admin.api.post(`${USERS}/${entered.id}/forget`);
      forgotten.as(userShape, 202);
      seen.add(entered.id);
    }
    const unverified = { sub: 'shy', email: 'shy@corp.example', email_verified: false, name: 'Shy' };
    const first = await enter(unverified);
    (await tenant.admin.api.post(`${USERS}/${first.id}/forget`)).as(userShape, 202);
    expect((await enter(unverified)).id).not.to.equal(first.id);
    const gone = (await allUsers()).filter(({ id }) => seen.has(id) || id === first.id);
    expect(gone).to.have.length(4);
    for (const each of gone) expect(each).to.deep.include({ email: '[erased]', status: 'deactivated' });
    // A person whom an admin created, who signed in and was forgotten, is also a new person.
    const grace = await tenant.person('Gone Grace', 'admin');
    const linked = { sub: 'gone-grace', email: grace.email, email_verified: true };
    expect((await enter(linked)).id).to.equal(grace.id);
    (await tenant.admin.api.post(`${USERS}/${grace.id}/forget`)).as(userShape, 202);
    expect(await enter(linked)).to.deep.include({ role: 'operator', email: grace.email });
  });

  it('have the role that the tenant’s admin has set, at each sign-in', async () => {
    const { tenant } = scene();
    const entered = await enter({ sub: 'rising', email: 'rising@corp.example', email_verified: true });
    await tenant.admin.api.patch(`${USERS}/${entered.id}`, { role: 'admin' });
    expect((await enter({ sub: 'rising' })).role).to.equal('admin');
  });

  it('are separate in each tenant, also with one provider', async () => {
    const { world, provider } = scene();
    const person = { sub: 'both', email: 'both@corp.example', email_verified: true };
    const here = await enter(person);
    const there = await enter(person, await tenantAt(world, provider));
    expect(there.id).not.to.equal(here.id);
    expect(there.tenant_id).not.to.equal(here.tenant_id);
  });
});
