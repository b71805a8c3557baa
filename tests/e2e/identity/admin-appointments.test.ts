import { expect } from 'chai';
import { keyed } from '../../support/client.ts';
import { randomName } from '../../support/server.ts';
import { changedTenant, login, user, users, validationFailed } from '../../support/shapes.ts';
import { adaAndTwoServers, forSuite } from '../../support/suite.ts';
import { type TestTenant, USERS } from '../../support/world.ts';

describe('An appointed admin', () => {
  const here = forSuite(adaAndTwoServers);

  const password = 'the password of the appointed';
  const newEmail = () => `${randomName('p').replace('_', '-')}@people.example`;
  const patch = (tenant: TestTenant, body: object, key?: string) =>
    here().world.platform.request(
      'PATCH',
      `/super/tenants/${tenant.id}`,
      body,
      key === undefined ? undefined : keyed(key),
    );
  const appoint = async (tenant: TestTenant, admin: object) => {
    const made = (await patch(tenant, { admin })).as(changedTenant).admin;
    if (made === undefined) throw new Error('the answer does not say what was done');
    return made;
  };
  const signIn = async (tenant: TestTenant, email: string) => {
    const answer = await here().world.anybody.post('/auth/login', { email, password, tenant: tenant.id });
    return here().world.anybody.with(answer.as(login).token);
  };

  it('is a new user for a new e-mail, who signs in at once and reads earlier writes', async () => {
    const tenant = await here().world.tenant();
    const email = newEmail();
    const { changes, ...made } = await appoint(tenant, { email, password, display_name: 'Cy' });
    expect(changes).to.deep.equal(['created']);
    expect(made).to.include({ email, display_name: 'Cy', role: 'admin', status: 'active' });
    const api = await signIn(tenant, email);
    expect((await api.get(USERS)).as(users)).to.deep.include(made);
  });

  it('is the user with the e-mail: promoted, reactivated, with the given name and password', async () => {
    const tenant = await here().world.tenant();
    const ben = await tenant.person('Ben');
    await tenant.admin.api.patch(`${USERS}/${ben.id}`, { status: 'deactivated' });
    const given = { email: ben.email.toUpperCase(), password, display_name: 'Benjamin' };
    const { changes, ...made } = await appoint(tenant, given);
    expect(changes).to.have.members(['promoted', 'reactivated', 'renamed', 'password_set']);
    expect(made).to.include({ id: ben.id, email: ben.email, display_name: 'Benjamin', role: 'admin' });
    const api = await signIn(tenant, ben.email);
    expect((await api.patch(`${USERS}/${tenant.admin.id}`, { role: 'operator' })).as(user).role).to.equal(
      'operator',
    );
  });

  it('who is an admin already gets only the password', async () => {
    const tenant = await here().world.tenant();
    const ben = await tenant.person('Ben', 'admin');
    const { changes } = await appoint(tenant, { email: ben.email, password, display_name: 'Ben' });
    expect(changes).to.deep.equal(['password_set']);
  });

  it('is appointed once by a repeated request, on either node', async () => {
    const { world, other } = here();
    const tenant = await world.tenant();
    const admin = { email: newEmail(), password, display_name: 'Cy' };
    const first = await patch(tenant, { admin }, 'appoint');
    const again = await world.platform
      .at(other)
      .request('PATCH', `/super/tenants/${tenant.id}`, { admin }, keyed('appoint'));
    expect(again.as(changedTenant)).to.deep.equal(first.as(changedTenant));
    expect((await tenant.admin.api.get(USERS)).as(users)).to.have.length(2);
  });

  it('is one user when two nodes appoint at the same instant', async () => {
    const { world, other } = here();
    const tenant = await world.tenant();
    const admin = { email: newEmail(), password, display_name: 'Cy' };
    const path = `/super/tenants/${tenant.id}`;
    const answers = await Promise.all([
      world.platform.patch(path, { admin }),
      world.platform.at(other).patch(path, { admin }),
    ]);
    for (const answer of answers) expect(answer.status).to.be.oneOf([200, 409]);
    const appointed = (await appoint(tenant, admin)).id;
    const all = (await tenant.admin.api.get(USERS)).as(users);
    expect(all.filter(({ email }) => email === admin.email).map(({ id }) => id)).to.deep.equal([appointed]);
  });

  it('is appointed with other changes of the tenant, or not at all when these are refused', async () => {
    const tenant = await here().world.tenant();
    const admin = { email: newEmail(), password, display_name: 'Cy' };
    const refused = await patch(tenant, { partner_id: 'nobody', admin });
    expect([refused.status, refused.error]).to.deep.equal([422, 'constraint_violated']);
    expect((await tenant.admin.api.get(USERS)).as(users)).to.have.length(1);
    const both = (await patch(tenant, { name: 'New name', admin })).as(changedTenant);
    expect(both).to.include({ name: 'New name' });
    expect(both.admin?.changes).to.deep.equal(['created']);
    expect((await patch(tenant, { name: 'Other' })).as(changedTenant)).not.to.have.property('admin');
  });

  it('needs an e-mail, a name, a password and an existing tenant', async () => {
    const tenant = await here().world.tenant();
    const whole = { email: newEmail(), password, display_name: 'Cy' };
    for (const [own, field] of [
      [{ password: 'short' }, 'admin.password'],
      [{ password: undefined }, 'admin.password'],
      [{ email: 'nobody' }, 'admin.email'],
      [{ display_name: ' ' }, 'admin.display_name'],
    ] as const) {
      const answer = (await patch(tenant, { admin: { ...whole, ...own } })).as(validationFailed, 400);
      expect(answer.details.field).to.equal(field);
    }
    const nowhere = await here().world.platform.patch('/super/tenants/nowhere', { admin: whole });
    expect([nowhere.status, nowhere.error]).to.deep.equal([404, 'not_found']);
  });

  it('cannot be appointed by people of the tenant', async () => {
    const { tenant, ada } = here();
    const admin = { email: newEmail(), password, display_name: 'Cy' };
    expect((await ada.api.patch(`/super/tenants/${tenant.id}`, { admin })).status).to.equal(401);
  });
});
