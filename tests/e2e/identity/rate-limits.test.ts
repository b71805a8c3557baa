import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { ROOT, startServer } from '../../support/server.ts';
import { tenantToken } from '../../support/tokens.ts';
import {
  BASE,
  endWorld,
  type Member,
  startWorld,
  type TestTenant,
  USERS,
  type World,
} from '../../support/world.ts';

/** Decisions, section 3, Rate limits. */
describe('Rate limits', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;

  before(async () => {
    // The data is set up without limits, then the server restarts with them.
    world = await startWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    const body = {
      email: 'known@people.example',
      display_name: 'K',
      role: 'operator',
      password: 'the password',
    };
    await tenant.admin.api.post(USERS, body);
    await world.server.stop();
    await world.restart({ RATE_LIMIT_PER_MINUTE: '60', LOGIN_LIMIT_PER_MINUTE: '3' });
  });
  after(endWorld);

  const limited = (answer: Answer): boolean => {
    if (answer.status !== 429) return false;
    expect(answer.error).to.equal('rate_limited');
    expect(answer.header('retry-after')).to.match(/^[1-9]\d*$/);
    return true;
  };

  it('allow a burst of a fifth of the minute’s requests, then answer with the time to wait', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => ada.api.get(BASE)));
    const passed = answers.filter((answer) => answer.status === 200).length;
    // Twelve at once, and one more for each second that the requests take.
    expect(passed).to.be.within(12, 15);
    expect(answers.filter(limited)).to.have.length(40 - passed);
  });

  it('count per caller, across tokens and addresses', async () => {
    const another = world.anybody.with(tenantToken(ada, { more: 1 }));
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const answers = await Promise.all(Array.from({ length: 5 }, () => another.get(BASE, { headers })));
    expect(answers.some(limited)).to.equal(true);
    expect((await tenant.admin.api.get(BASE)).status).to.equal(200);
    expect((await world.platform.get('/super/tenants')).status).to.equal(200);
  });

  it('are checked after authentication: an invalid credential is 401', async () => {
    const bad = world.anybody.with('x');
    const answers = await Promise.all(Array.from({ length: 30 }, () => bad.get(BASE)));
    for (const answer of answers) expect(answer.status).to.equal(401);
  });

  it('ignore health, metrics and the document', async () => {
    for (const path of ['/health/live', '/health/ready', '/openapi.json', '/metrics']) {
      const answers = await Promise.all(Array.from({ length: 15 }, () => world.anybody.get(path)));
      for (const answer of answers) expect(answer.status, path).to.equal(200);
    }
  });

  it('apply to logins from one address, platform logins too, whatever the e-mail', async () => {
    const answers: Answer[] = [];
    for (let i = 0; i < 6; i += 1) {
      const path = i % 2 ? '/auth/login' : '/super/auth/login';
      answers.push(await world.anybody.post(path, { email: `nobody${i}@people.example`, password: 'x' }));
    }
    expect(answers.map(({ status }) => status)).to.deep.equal([401, 401, 401, 429, 429, 429]);
    expect(answers.filter(limited)).to.have.length(3);
    // X-Forwarded-For is read only with TRUST_PROXY.
    const headers = { 'x-forwarded-for': '203.0.113.10' };
    const right = { email: 'known@people.example', password: 'the password' };
    expect(limited(await world.anybody.post('/auth/login', right, { headers }))).to.equal(true);
  });

  describe('on logins with one e-mail', () => {
    // Behind a proxy, so that one machine can use many addresses.
    beforeEach(async () => {
      await world.server.stop();
      await world.restart({ LOGIN_LIMIT_PER_MINUTE: '3', TRUST_PROXY: 'loopback' });
    });

    const login = (from: string, email: string, password: string, path = '/auth/login') =>
      world.anybody.post(path, { email, password }, { headers: { 'x-forwarded-for': from } });
    const EMAIL = 'known@people.example';
    const SPELLINGS = [EMAIL, 'KNOWN@people.example', ' Known@People.example '];

    for (const [what, attacker, neighbour, owner] of [
      ['IPv4 network of 24 bits', '203.0.113.1', '203.0.113.200', '198.51.100.7'],
      ['IPv6 network of 48 bits', '2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:2::1'],
    ] as const) {
      it(`apply to one ${what}, and let the owner in from another network`, async () => {
        for (const email of SPELLINGS) {
          expect((await login(attacker, email, 'not it')).status).to.equal(401);
        }
        expect(limited(await login(neighbour, EMAIL, 'the password'))).to.equal(true);
        expect((await login(owner, EMAIL, 'the password')).status).to.equal(200);
      });
    }

    it('apply to all networks together at ten times the limit', async () => {
      const answers = await Promise.all(
        Array.from({ length: 45 }, (_, i) =>
          login(`203.0.${i}.1`, SPELLINGS[i % 3] ?? EMAIL, 'not it', '/super/auth/login'),
        ),
      );
      const passed = answers.filter(({ status }) => status === 401).length;
      // Thirty at once, and one more for each two seconds that the requests take.
      expect(passed).to.be.within(30, 35);
      expect(answers.filter(limited)).to.have.length(45 - passed);
      expect((await login('198.51.100.7', 'other@people.example', 'x')).status).to.equal(401);
    });

    it('apply to platform admins too: the owner signs in from another network', async () => {
      for (let i = 0; i < 4; i += 1) {
        const answer = await login('203.0.113.1', ROOT.email, 'not it', '/super/auth/login');
        expect(answer.status).to.equal(i < 3 ? 401 : 429);
      }
      const entered = await login('198.51.100.7', ROOT.email, ROOT.password, '/super/auth/login');
      expect(entered.status).to.equal(200);
    });
  });

  it('are 600 and 10 a minute by default', async () => {
    const server = await startServer({
      env: { RATE_LIMIT_PER_MINUTE: undefined, LOGIN_LIMIT_PER_MINUTE: undefined },
    });
    const platform = world.platform.at(server);
    const answers = await Promise.all(Array.from({ length: 160 }, () => platform.get('/super/tenants')));
    expect(answers.filter(({ status }) => status === 200).length).to.be.within(120, 150);
    const logins: number[] = [];
    for (let i = 0; i < 11; i += 1) {
      const body = { email: `n${i}@people.example`, password: 'x' };
      logins.push((await platform.with(undefined).at(server).post('/auth/login', body)).status);
    }
    expect(logins).to.deep.equal([...Array.from({ length: 10 }, () => 401), 429]);
    await server.stop();
  });
});
