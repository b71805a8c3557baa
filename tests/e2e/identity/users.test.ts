import { expect } from 'chai';
import { z } from 'zod';
import { randomName } from '../../support/server.ts';
import { errorWithDetails, user, users, validationFailed } from '../../support/shapes.ts';
import { bossAndAda, forSuite } from '../../support/suite.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import { USERS } from '../../support/world.ts';

/** Decisions, section 3, Users. */
describe('Users', () => {
  const here = forSuite(bossAndAda);

  const fresh = (): string => `${randomName('U').replace('_', '.')}@Users.example`;
  const newcomer = (own: Record<string, unknown> = {}) => ({
    email: fresh(),
    display_name: 'Newcomer',
    role: 'operator',
    ...own,
  });

  it('are created by admins, keep the e-mail as written, and are listed oldest first', async () => {
    const { boss, ada } = here();
    const body = newcomer();
    const made = (await boss.api.post(USERS, body)).as(user, 201);
    expect(made).to.deep.include({ ...body, status: 'active' });
    for (const who of [boss, ada]) {
      const list = (await who.api.get(`${USERS}?limit=200`)).as(users);
      expect(list.find(({ id }) => id === made.id)).to.deep.equal(made);
      expect(list.map(({ created_at }) => created_at)).to.deep.equal(
        list.map(({ created_at }) => created_at).sort(),
      );
      expect(JSON.stringify(list)).not.to.contain('password');
    }
  });

  it('are listed in pages without gap or duplicate', async () => {
    const { world } = here();
    const home = await world.tenant();
    await Promise.all(Array.from({ length: 13 }, () => home.admin.api.post(USERS, newcomer())));
    const seen: string[] = [];
    let next: string | undefined = `${USERS}?limit=4`;
    while (next !== undefined) {
      const answer = await home.admin.api.get(next);
      seen.push(...answer.as(users).map(({ id }) => id));
      next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
    }
    expect(seen).to.have.length(14);
    expect(new Set(seen).size).to.equal(14);
  });

  it('have a unique e-mail within the tenant, ignoring case', async () => {
    const { world, boss } = here();
    const body = newcomer();
    (await boss.api.post(USERS, body)).as(user, 201);
    for (const email of [body.email, body.email.toUpperCase()]) {
      const answer = await boss.api.post(USERS, newcomer({ email }));
      expect(answer.as(errorWithDetails, 409)).to.deep.include({ error: 'already_exists' });
      expect(answer.json).to.have.nested.property('details.field', 'email');
    }
    (await (await world.tenant()).admin.api.post(USERS, body)).as(user, 201);
  });

  it('have a unique e-mail under ten concurrent requests', async () => {
    const { boss } = here();
    const email = fresh();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        boss.api.post(USERS, newcomer({ email: i % 2 ? email : email.toUpperCase() })),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
    expect(
      answers.filter(({ status, error }) => status === 409 && error === 'already_exists'),
    ).to.have.length(9);
    const list = (await boss.api.get(`${USERS}?limit=200`)).as(users);
    expect(list.filter((one) => one.email.toLowerCase() === email.toLowerCase())).to.have.length(1);
  });

  it('are changed by admins only', async () => {
    const { boss, ada } = here();
    for (const answer of [
      await ada.api.post(USERS, newcomer()),
      await ada.api.patch(`${USERS}/${boss.id}`, { role: 'operator' }),
      await ada.api.patch(`${USERS}/${ada.id}`, { role: 'admin' }),
      await ada.api.patch(`${USERS}/${ada.id}`, { display_name: 'Countess' }),
    ]) {
      expect([answer.status, answer.error]).to.deep.equal([403, 'admin_required']);
    }
  });

  it('change field by field, and not by equal values; unknown users are 404', async () => {
    const { boss } = here();
    const made = (await boss.api.post(USERS, newcomer())).as(user, 201);
    let wanted = made;
    for (const change of [
      { display_name: 'Renamed' },
      { role: 'admin' as const },
      { status: 'deactivated' as const },
      { status: 'active' as const, role: 'operator' as const },
      {},
      { display_name: 'Renamed' },
      { email: 'ignored@users.example', id: 'x', created_at: 'x' },
    ]) {
      const { display_name, role, status } = { ...wanted, ...change };
      wanted = { ...wanted, display_name, role, status };
      expect((await boss.api.patch(`${USERS}/${made.id}`, change)).as(user)).to.deep.equal(wanted);
    }
    const unknown = await boss.api.patch(`${USERS}/nobody`, { role: 'admin' });
    expect([unknown.status, unknown.error]).to.deep.equal([404, 'not_found']);
  });

  it('cannot lock themselves out', async () => {
    const { boss } = here();
    for (const change of [{ status: 'deactivated' }, { role: 'operator' }]) {
      const answer = await boss.api.patch(`${USERS}/${boss.id}`, change);
      expect([answer.status, answer.error]).to.deep.equal([409, 'conflict']);
    }
    expect((await boss.api.get(USERS)).status).to.equal(200);
  });

  for (const [field, value] of [
    ['email', undefined],
    ['email', 'no address'],
    ['email', `${'x'.repeat(320)}@users.example`],
    ['email', 7],
    ['email', 'a@b.example\u0000'],
    ['display_name', ''],
    ['display_name', '   '],
    ['display_name', 'x'.repeat(201)],
    ['display_name', 'a\u0000b'],
    ['display_name', '\ud800'],
    ['role', 'boss'],
    ['role', undefined],
    ['role', 'Admin'],
    ['password', 'ninechars'],
    ['password', 'x'.repeat(201)],
    ['password', 1234567890],
    ['password', ''],
  ] as const) {
    it(`cannot have the ${field} ${JSON.stringify(value)?.slice(0, 30) ?? 'missing'}`, async () => {
      const { boss, ada } = here();
      const answer = await boss.api.post(USERS, newcomer({ [field]: value }));
      expect(answer.as(validationFailed, 400).details.field).to.equal(field);
      if (value === undefined || field === 'email') return;
      const change = await boss.api.patch(`${USERS}/${ada.id}`, { [field]: value });
      expect(change.as(validationFailed, 400).details.field).to.equal(field);
    });
  }

  it('may have names and passwords of 200 code points', async () => {
    const { boss } = here();
    const made = newcomer({ display_name: '😀'.repeat(200), password: '😀'.repeat(10) });
    expect((await boss.api.post(USERS, made)).as(user, 201).display_name).to.equal(made.display_name);
    (await boss.api.post(USERS, newcomer({ password: '😀'.repeat(200) }))).as(user, 201);
  });

  it('see themselves at /me, with the impersonator', async () => {
    const { world, tenant, ada } = here();
    const shape = user.extend({ tenant_id: z.string(), impersonated_by: z.string().optional() });
    const plain = (await ada.api.get('/api/v1/tenant/me')).as(shape);
    expect(plain).to.deep.include({ id: ada.id, email: ada.email, display_name: 'Ada', role: 'operator' });
    expect(plain).to.include({ tenant_id: tenant.id }).and.not.to.have.property('impersonated_by');
    const token = tenantToken(ada, { impersonated_by: 'root@platform.example', exp: now() + 3600 });
    const seen = (await world.anybody.with(token).get('/api/v1/tenant/me')).as(shape);
    expect(seen).to.deep.equal({ ...plain, impersonated_by: 'root@platform.example' });
  });
});
