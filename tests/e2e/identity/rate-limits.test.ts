import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { ROOT, randomName, startServer } from '../../support/server.ts';
import { tenantToken } from '../../support/tokens.ts';
import {
  BASE,
  endWorld,
  LIMITED,
  LIMITED_LOGINS,
  type Member,
  sharedWorld,
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
    world = await sharedWorld(LIMITED);
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
  });
  after(endWorld);

  const PASSWORD = 'the password';
  /** A person with {@link PASSWORD}. @returns the e-mail */
  const known = async ({ admin }: TestTenant): Promise<string> => {
    const email = `${randomName('known').replace('_', '-')}@people.example`;
    const body = { email, display_name: 'K', role: 'operator', password: PASSWORD };
    expect((await admin.api.post(USERS, body)).status).to.equal(201);
    return email;
  };

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
    const right = { email: await known(tenant), password: PASSWORD };
    expect(limited(await world.anybody.post('/auth/login', right, { headers }))).to.equal(true);
  });

  describe('on logins with one e-mail', () => {
    // Behind a proxy, so that one machine can use many addresses.
    let proxied: World;
    let email: string;
    before(async () => {
      proxied = await sharedWorld(LIMITED_LOGINS);
    });
    beforeEach(async () => {
      email = await known(await proxied.tenant());
    });

    const login = (from: string, address: string, password: string, path = '/auth/login') =>
      proxied.anybody.post(path, { email: address, password }, { headers: { 'x-forwarded-for': from } });
    const spellings = () => [
      email,
      email.replace('known', 'KNOWN'),
      ` ${email.replace('people', 'People')} `,
    ];

    for (const [what, attacker, neighbour, owner] of [
      ['IPv4 network of 24 bits', '203.0.113.1', '203.0.113.200', '198.51.100.7'],
      ['IPv6 network of 48 bits', '2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:2::1'],
    ] as const) {
      it(`apply to one ${what}, and let the owner in from another network`, async () => {
        for (const spelling of spellings()) {
          expect((await login(attacker, spelling, 'not it')).status).to.equal(401);
        }
        expect(limited(await login(neighbour, email, PASSWORD))).to.equal(true);
        expect((await login(owner, email, PASSWORD)).status).to.equal(200);
      });
    }

    it('apply to all networks together at ten times the limit', async () => {
      const answers = await Promise.all(
        Array.from({ length: 45 }, (_, i) =>
          login(`203.0.${i}.1`, spellings()[i % 3] ?? email, 'not it', '/super/auth/login'),
        ),
      );
      const passed = answers.filter(({ status }) => status === 401).length;
      // Thirty at once, and one more for each two seconds that the requests take.
      expect(passed).to.be.within(30, 35);
      expect(answers.filter(limited)).to.have.length(45 - passed);
      expect((await login('198.51.100.8', 'other@people.example', 'x')).status).to.equal(401);
    });

    it('apply to platform admins too: the owner signs in from another network', async () => {
      for (let i = 0; i < 4; i += 1) {
        const answer = await login('192.0.2.1', ROOT.email, 'not it', '/super/auth/login');
        expect(answer.status).to.equal(i < 3 ? 401 : 429);
      }
      const entered = await login('198.51.100.9', ROOT.email, ROOT.password, '/super/auth/login');
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
