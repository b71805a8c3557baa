import { connect } from 'node:net';
import { expect } from 'chai';
import { API_TOKENS, mintToken } from '../../support/delegation.ts';
import { eventually } from '../../support/server.ts';
import { listen } from '../../support/socket.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import {
  endWorld,
  LIMITED,
  type Member,
  say,
  sharedWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';

/** The interim answer to `Expect: 100-continue`: the server has read the request's headers. */
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** Rights are checked again when a slow request's body has arrived. */
describe('Rights withdrawn during a request', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
  });
  after(endWorld);

  /**
   * Sends the headers, waits until the server asks for the body and its check of the credential is old enough to be
   * repeated, runs `meanwhile`, sends the body, and returns the answer.
   */
  const slowly = async (
    token: string,
    path: string,
    body: unknown,
    meanwhile: () => Promise<unknown>,
  ): Promise<{ status: number; text: string }> => {
    const text = JSON.stringify(body);
    const { port } = world.server;
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nExpect: 100-continue\r\n\r\n`,
    );
    await eventually('the server to ask for the body', () => received === CONTINUE);
    const admitted = Date.now();
    await eventually('the check to be old', () => Date.now() - admitted > 100);
    await meanwhile();
    socket.write(text);
    await closed;
    const answer = received.slice(CONTINUE.length);
    return { status: Number(answer.slice(9, 12)), text: answer };
  };

  const change = (person: Member, values: Record<string, unknown>) => async () => {
    expect((await tenant.admin.api.patch(`${USERS}/${person.id}`, values)).status).to.equal(200);
  };
  const newUser = () => ({
    email: `late-${Math.random().toString(36).slice(2)}@people.example`,
    display_name: 'Late',
    role: 'admin',
    password: 'a-back-door-1',
  });

  it('of an account: 401, without an effect', async () => {
    const evil = await tenant.person('Evil', 'admin');
    const wanted = newUser();
    const answer = await slowly(evil.token, USERS, wanted, change(evil, { status: 'deactivated' }));
    expect(answer.status, answer.text).to.equal(401);
    const login = { email: wanted.email, password: wanted.password };
    expect((await world.anybody.post('/auth/login', login)).status).to.equal(401);
  });

  it('of a role: 403', async () => {
    const evil = await tenant.person('Evil', 'admin');
    const wanted = { name: 'x', scopes: ['admin:*'], expires_in: 'never' };
    const answer = await slowly(evil.token, API_TOKENS, wanted, change(evil, { role: 'operator' }));
    expect(answer.status, answer.text).to.equal(403);
    expect(answer.text).not.to.contain('svc_pat_');
  });

  it('of an API token: 401', async () => {
    const minted = await mintToken(tenant.admin.api, { scopes: ['admin:*'] });
    const wanted = { name: 'late', label: 'Late', fields: [] };
    const answer = await slowly(minted.token, '/api/v1/tenant/entities', wanted, async () => {
      expect((await tenant.admin.api.delete(`${API_TOKENS}/${minted.id}`)).status).to.equal(200);
    });
    expect(answer.status, answer.text).to.equal(401);
    expect((await tenant.admin.api.get('/api/v1/tenant/entities/late')).status).to.equal(404);
  });

  it('of nobody: a slow request succeeds', async () => {
    const admin = await tenant.person('Slow', 'admin');
    const answer = await slowly(admin.token, USERS, newUser(), async () => undefined);
    expect(answer.status, answer.text).to.equal(201);
  });

  it('of an account while its sockets open: all of them are closed', async () => {
    const evil = await tenant.person('Evil', 'operator');
    const impersonated = tenantToken(evil, { impersonated_by: 'root@platform.example', exp: now() + 3600 });
    const room = await talk(tenant.admin, evil);
    const opened: Awaited<ReturnType<typeof listen>>[] = [];
    const tries: Promise<unknown>[] = [];
    for (let n = 0; n < 40; n += 1) {
      const token = n % 2 === 0 ? impersonated : evil.token;
      tries.push(
        listen(world.server, token).then(
          (socket) => opened.push(socket),
          () => undefined,
        ),
      );
      if (n === 20) tries.push(change(evil, { status: 'deactivated' })());
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(tries);
    await Promise.all(opened.map((socket) => socket.closed));
    await say(tenant.admin, room, 'after the withdrawal');
    for (const socket of opened) {
      expect(JSON.stringify(socket.seen)).not.to.contain('after the withdrawal');
    }
  });
});

describe('An impersonation', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
  });
  after(endWorld);

  const impersonating = (person: Member) =>
    world.anybody.with(tenantToken(person, { impersonated_by: 'root@platform.example', exp: now() + 3600 }));

  it('creates nothing that outlives it: no password, no admin', async () => {
    const ben = await tenant.person('Ben');
    const api = impersonating(tenant.admin);
    const person = { email: 'new@people.example', display_name: 'New', role: 'operator' };
    for (const [method, path, body] of [
      ['POST', USERS, { ...person, password: 'a-password-of-ten' }],
      ['POST', USERS, { ...person, role: 'admin' }],
      ['PATCH', `${USERS}/${ben.id}`, { password: 'a-password-of-ten' }],
      ['PATCH', `${USERS}/${ben.id}`, { role: 'admin' }],
    ] as const) {
      const answer = await api.request(method, path, body);
      expect([answer.status, answer.error], `${method} ${JSON.stringify(body)}`).to.deep.equal([
        403,
        'forbidden',
      ]);
    }
    expect((await api.post(USERS, person)).status).to.equal(201);
    expect((await api.patch(`${USERS}/${ben.id}`, { display_name: 'Benjamin' })).status).to.equal(200);
  });

  it('shares no idempotency keys with the person', async () => {
    const body = { email: 'keyed@people.example', display_name: 'Keyed', role: 'operator' };
    const headers = { 'idempotency-key': 'shared' };
    expect((await tenant.admin.api.post(USERS, body, { headers })).status).to.equal(201);
    const other = await impersonating(tenant.admin).post(USERS, body, { headers });
    expect([other.status, other.error]).to.deep.equal([409, 'already_exists']);
  });
});

describe('Refused requests', () => {
  after(endWorld);

  it('count for the rate limit of their caller', async () => {
    const world = await sharedWorld(LIMITED);
    const tenant = await world.tenant();
    const ben = await tenant.person('Ben');
    const statuses = async (count: number, ask: () => Promise<{ status: number }>): Promise<number[]> => {
      const answers: number[] = [];
      for (let n = 0; n < count; n += 1) answers.push((await ask()).status);
      return answers;
    };
    const refused = await statuses(30, () => ben.api.get(API_TOKENS));
    expect(new Set(refused)).to.deep.equal(new Set([403, 429]));
    expect(refused.filter((status) => status === 403)).to.have.length.at.most(14);
  });
});
