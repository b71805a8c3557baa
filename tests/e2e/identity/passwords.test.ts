import { expect } from 'chai';
import { z } from 'zod';
import { findIn } from '../../support/files.ts';
import { impersonate } from '../../support/impersonate.ts';
import { eventually } from '../../support/server.ts';
import { login } from '../../support/shapes.ts';
import { listen } from '../../support/socket.ts';
import { forSuite } from '../../support/suite.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import { type Member, sharedWorld, USERS } from '../../support/world.ts';

const OWN = '/api/v1/tenant/me/password';
const RESET = '/auth/password-reset';
const ME = '/api/v1/tenant/me';
const FIRST = 'the-first-password';

/** Decision 47. */
describe('A password', () => {
  const here = forSuite(async () => {
    const world = await sharedWorld();
    return { world, tenant: await world.tenant() };
  });

  /** A person with the password {@link FIRST} and a session that began a minute ago. */
  const person = async (name: string): Promise<Member> => {
    const { tenant, world } = here();
    const made = await tenant.person(name);
    await tenant.admin.api.patch(`${USERS}/${made.id}`, { password: FIRST });
    const token = tenantToken(made, { iat: now() - 60 });
    return { ...made, token, api: world.anybody.with(token) };
  };
  const signIn = async ({ email }: Member, password: string) =>
    here().world.anybody.post('/auth/login', { email, password, tenant: here().tenant.id });
  const offer = async ({ id }: Member): Promise<string> => {
    const answer = await here().tenant.admin.api.post(`${USERS}/${id}/password-reset`);
    const { url } = answer.as(z.strictObject({ url: z.url(), expires_at: z.iso.datetime() }), 201);
    expect(url.startsWith(`${here().world.server.base}${RESET}#`)).to.equal(true);
    return url.split('#')[1] ?? '';
  };
  const use = (link: string, next: string) => here().world.anybody.post(RESET, { link, new_password: next });

  it('is changed by its owner; all sessions and sockets end, and the answer holds a new token', async () => {
    const { world } = here();
    const ann = await person('Ann');
    const socket = await listen(world.server, ann.token);
    const answer = await ann.api.post(OWN, { current_password: FIRST, new_password: 'a-second-password' });
    const { token } = answer.as(login);
    expect((await world.anybody.with(token).get(ME)).status).to.equal(200);
    expect((await socket.closed).code).to.equal(4403);
    const old = await ann.api.get(ME);
    expect([old.status, old.error]).to.deep.equal([401, 'invalid_credential']);
    expect((await signIn(ann, FIRST)).status).to.equal(401);
    expect((await signIn(ann, 'a-second-password')).status).to.equal(200);
  });

  it('is not changed with a wrong current password, with a short new one, or under impersonation', async () => {
    const { world, tenant } = here();
    const bob = await person('Bob');
    const wrong = await bob.api.post(OWN, { current_password: 'wrong', new_password: 'a-second-password' });
    expect([wrong.status, wrong.error]).to.deep.equal([422, 'constraint_violated']);
    for (const body of [{}, { current_password: FIRST, new_password: 'short' }, { current_password: 7 }]) {
      expect((await bob.api.post(OWN, body)).status).to.equal(400);
    }
    const { token } = await impersonate(world, tenant.id, { user_id: bob.id });
    const acting = await world.anybody
      .with(token)
      .post(OWN, { current_password: FIRST, new_password: 'long-enough' });
    expect([acting.status, acting.error]).to.deep.equal([403, 'forbidden']);
    expect((await signIn(bob, FIRST)).status).to.equal(200);
    expect((await bob.api.get(ME)).status).to.equal(200);
  });

  it('is reset with a link that counts once, also for concurrent uses', async () => {
    const cid = await person('Cid');
    const link = await offer(cid);
    expect((await signIn(cid, FIRST)).status, 'until it is used').to.equal(200);
    const answers = await Promise.all(['one', 'two', 'three'].map((each) => use(link, `password-${each}`)));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([204, 401, 401]);
    const winner = ['one', 'two', 'three'][answers.findIndex(({ status }) => status === 204)];
    expect((await signIn(cid, `password-${winner}`)).status).to.equal(200);
    expect((await cid.api.get(ME)).status).to.equal(401);
    expect((await use(link, 'another-password')).status).to.equal(401);
  });

  it('is not reset by a replaced, foreign or forged link, with one answer for all', async () => {
    const { tenant } = here();
    const dan = await person('Dan');
    const eve = await person('Eve');
    const replaced = await offer(dan);
    const link = await offer(dan);
    const [whose = '', secret = ''] = link.split('.');
    const [evesPart = ''] = (await offer(eve)).split('.');
    const other = Buffer.from(`nowhere/${dan.id}`).toString('base64url');
    const texts = new Set<string>();
    for (const forged of [
      replaced,
      `${evesPart}.${secret}`,
      `${other}.${secret}`,
      `${whose}.${'a'.repeat(43)}`,
      `${Buffer.from(`${tenant.id}/__proto__`).toString('base64url')}.${secret}`,
      `${whose}.`,
      secret,
      'x',
      '\u0000.\u0000',
    ]) {
      const answer = await use(forged, 'another-password');
      expect([answer.status, answer.error], forged).to.deep.equal([401, 'invalid_credential']);
      texts.add(answer.text);
    }
    expect(texts.size).to.equal(1);
    expect((await use(link, 'short')).status).to.equal(400);
    await tenant.admin.api.patch(`${USERS}/${dan.id}`, { status: 'deactivated' });
    expect((await use(link, 'another-password')).status).to.equal(401);
    const offered = await tenant.admin.api.post(`${USERS}/${dan.id}/password-reset`);
    expect([offered.status, offered.error]).to.deep.equal([409, 'invalid_transition']);
  });

  it('is in no file or log, nor is a reset link’s secret; a replayed answer omits the link', async () => {
    const { world, tenant } = here();
    const fay = await person('Fay');
    const headers = { headers: { 'idempotency-key': 'one link' } };
    const path = `${USERS}/${fay.id}/password-reset`;
    const first = (await tenant.admin.api.post(path, undefined, headers)).as(
      z.looseObject({ url: z.string() }),
      201,
    );
    const again = await tenant.admin.api.post(path, undefined, headers);
    expect(again.json).to.have.all.keys('expires_at');
    const link = first.url.split('#')[1] ?? '';
    const secret = link.split('.')[1] ?? '';
    expect((await use(link, 'the-secret-new-password')).status).to.equal(204);
    await eventually(
      'the sign-in',
      async () => (await signIn(fay, 'the-secret-new-password')).status === 200,
    );
    expect(await findIn(world.server.dataDir, { secret, next: 'the-secret-new-password' })).to.deep.equal([]);
    expect(world.server.output()).not.to.contain(secret);
    const events = (await tenant.admin.api.get('/api/v1/tenant/audit/events?category=user&limit=200')).text;
    expect(events).to.contain('PasswordResetOffered').and.not.to.contain(secret);
  });

  it('is set on a page that sends the secret in a body, and loads nothing', async () => {
    const page = await fetch(`${here().world.server.base}${RESET}?utm_source=x`);
    expect([page.status, page.headers.get('referrer-policy')]).to.deep.equal([200, 'no-referrer']);
    expect(page.headers.get('content-security-policy')).to.match(
      /script-src 'sha256-[^']+'; connect-src 'self'/,
    );
    expect(await page.text()).to.contain('history.replaceState');
  });
});
