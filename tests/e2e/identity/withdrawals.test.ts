import { request } from 'node:http';
import { expect } from 'chai';
import { z } from 'zod';
import {
  ACCEPTED,
  API_TOKENS,
  activeExtension,
  claimsOf,
  EXTENSIONS,
  extensionToken,
  loadExtension,
  mintToken,
  outcome,
  REFUSED,
  TEST_TOKEN,
} from '../../support/delegation.ts';
import { atPresentPace } from '../../support/pace.ts';
import { eventually, type Server } from '../../support/server.ts';
import { listen, refusal } from '../../support/socket.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import {
  BASE,
  endWorld,
  type Member,
  say,
  sharedPair,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';

/** Withdrawn rights are refused on the next request, on open sockets, and on other nodes. */
describe('Withdrawals', () => {
  let world: World;
  let other: Server;
  let tenant: TestTenant;
  let root: Member;

  before(async () => {
    ({ world, other } = await sharedPair());
    tenant = await world.tenant();
    root = tenant.admin;
    await activeExtension(root.api, 'crm');
  });
  after(endWorld);

  const as = (token: string) => world.anybody.with(token);
  const change = (person: Member, values: Record<string, unknown>) =>
    root.api.patch(`${USERS}/${person.id}`, values);
  const jwts = (person: Member): string[] => [
    person.token,
    tenantToken(person, { token_use: 'api_test', exp: now() + 3600 }),
    tenantToken(person, { impersonated_by: 'root@platform.example', exp: now() + 3600 }),
    extensionToken(person, 'crm'),
  ];

  it('of an account end all its tokens at once, and no others', async () => {
    const ada = await tenant.person('Ada', 'admin');
    const tokens = [...jwts(ada), await loadExtension(ada.api, 'crm')];
    for (const token of tokens) expect((await outcome(as(token)))[0]).to.be.oneOf([200, 403]);
    await change(ada, { status: 'deactivated' });
    for (const token of tokens) expect(await outcome(as(token))).to.deep.equal(REFUSED);
    expect((await outcome(root.api))[0]).to.equal(200);
    await change(ada, { status: 'active' });
    for (const token of tokens) expect((await outcome(as(token)))[0]).to.be.oneOf([200, 403]);
  });

  it('of the admin’s role end admin sessions, and extension tokens that claim the role', async () => {
    const ada = await tenant.person('Ada', 'admin');
    const loaded = await loadExtension(ada.api, 'crm');
    const asOperator = extensionToken(ada, 'crm', { role: 'operator' });
    expect(await outcome(as(loaded))).to.deep.equal(ACCEPTED);
    await change(ada, { role: 'operator' });
    for (const token of [loaded, extensionToken(ada, 'crm')]) {
      expect(await outcome(as(token))).to.deep.equal(REFUSED);
    }
    expect(await outcome(as(asOperator))).to.deep.equal(ACCEPTED);
    for (const [method, path] of [
      ['GET', API_TOKENS],
      ['POST', TEST_TOKEN],
      ['POST', `${EXTENSIONS}/crm/deactivate`],
    ] as const) {
      expect((await ada.api.request(method, path)).error, path).to.equal('admin_required');
    }
    const newly = await loadExtension(ada.api, 'crm');
    expect(claimsOf(newly)).to.include({ role: 'operator' });
    expect(await outcome(as(newly))).to.deep.equal(ACCEPTED);
    expect((await ada.api.get(BASE)).status).to.equal(200);
  });

  it('of a tenant refuse all its people with tenant_suspended', async () => {
    const home = await world.tenant();
    await activeExtension(home.admin.api, 'crm');
    const minted = await mintToken(home.admin.api);
    const tokens = [...jwts(home.admin), minted.token];
    for (const token of tokens) expect((await outcome(as(token)))[0]).to.be.oneOf([200, 403]);
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'suspended' });
    for (const token of tokens) expect(await outcome(as(token))).to.deep.equal([403, 'tenant_suspended']);
    expect((await outcome(root.api))[0]).to.equal(200);
  });

  describe('of an extension end its tokens', () => {
    const act = (extId: string, action: 'activate' | 'deactivate') =>
      root.api.post(`${EXTENSIONS}/${extId}/${action}`);
    const remove = (extId: string) => root.api.delete(`${EXTENSIONS}/${extId}`);

    for (const end of ['deactivated', 'uninstalled'] as const) {
      it(`when ${end}, for good, even if it is restored at once`, async () => {
        const extId = `brief-${end}`;
        await activeExtension(root.api, extId);
        const dead: string[] = [];
        for (let i = 0; i < 5; i += 1) {
          const token = await loadExtension(root.api, extId);
          expect(await outcome(as(token))).to.deep.equal(ACCEPTED);
          dead.push(token);
          expect(
            (await (end === 'deactivated' ? act(extId, 'deactivate') : remove(extId))).status,
          ).to.be.oneOf([200, 204]);
          for (const one of dead) expect(await outcome(as(one))).to.deep.equal(REFUSED);
          if (end === 'deactivated') await act(extId, 'activate');
          else await activeExtension(root.api, extId);
          for (const one of dead) expect(await outcome(as(one))).to.deep.equal(REFUSED);
        }
        expect(await outcome(as(await loadExtension(root.api, extId)))).to.deep.equal(ACCEPTED);
      });
    }

    it('at another node within a second', async () => {
      await activeExtension(root.api, 'far');
      const there = as(await loadExtension(root.api, 'far')).at(other);
      expect(await outcome(there)).to.deep.equal(ACCEPTED);
      await act('far', 'deactivate');
      const began = performance.now();
      await eventually('the refusal', async () => (await outcome(there))[0] === 401);
      expect(performance.now() - began).to.be.lessThan(await atPresentPace(1000));
    });
  });

  describe('close open sockets with 4403', () => {
    it('of a person with a lowered role, who may reconnect, and of nobody else', async () => {
      const [ada, ben] = [await tenant.person('Ada', 'admin'), await tenant.person('Ben')];
      const room = await talk(ada, ben);
      const sockets = [await listen(world.server, ada.token), await listen(other, ada.token)];
      const stays = await listen(world.server, ben.token);
      await change(ada, { role: 'operator' });
      for (const socket of sockets) expect((await socket.closed).code).to.equal(4403);
      const back = await listen(world.server, ada.token);
      const sent = await say(ada, room, 'still here');
      for (const socket of [stays, back]) {
        expect((await socket.messages(1))[0]?.message.id).to.equal(sent.id);
        socket.close();
      }
    });

    it('but not of a person with a raised role or another name', async () => {
      const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
      const room = await talk(ada, ben);
      const socket = await listen(world.server, ada.token);
      await change(ada, { role: 'admin', display_name: 'Ada the Admin' });
      const sent = await say(ben, room, 'congratulations');
      expect((await socket.messages(1))[0]?.message.id).to.equal(sent.id);
      socket.close();
    });

    it('of a deactivated person and of a suspended tenant, at the other node too', async () => {
      const ada = await tenant.person('Ada');
      const home = await world.tenant();
      const sockets = [
        await listen(world.server, ada.token),
        await listen(other, ada.token),
        await listen(world.server, home.admin.token),
        await listen(other, home.admin.token),
      ];
      await change(ada, { status: 'deactivated' });
      await world.platform.patch(`/super/tenants/${home.id}`, { status: 'suspended' });
      for (const socket of sockets) expect((await socket.closed).code).to.equal(4403);
      await eventually('401', async () => (await refusal(other, ada.token)).status === 401);
    });
  });

  describe('the WebSocket refuses more than one credential', () => {
    /** Sends an upgrade with these headers; returns status and error. */
    const upgrade = (query: string, ...authorization: string[]): Promise<[number, string | undefined]> =>
      new Promise((resolve, reject) => {
        const headers = [
          ...['Host', new URL(world.server.base).host, 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
          ...['Sec-WebSocket-Version', '13', 'Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
          ...authorization.flatMap((value) => ['Authorization', value]),
        ];
        const asked = request(`${world.server.base}/api/v1/ws${query}`, { headers });
        asked.on('upgrade', (answer, socket) => {
          socket.destroy();
          resolve([answer.statusCode ?? 0, undefined]);
        });
        asked.on('response', (answer) => {
          let text = '';
          answer.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          answer.on('end', () => {
            resolve([answer.statusCode ?? 0, z.object({ error: z.string() }).parse(JSON.parse(text)).error]);
          });
        });
        asked.on('error', reject);
        asked.end();
      });

    it('in repeated headers or parameters, or in a parameter that differs from the header', async () => {
      const token = root.token;
      const stranger = (await world.tenant()).admin.token;
      const good = `Bearer ${token}`;
      expect(await upgrade('', good)).to.deep.equal([101, undefined]);
      expect(await upgrade(`?token=${token}`)).to.deep.equal([101, undefined]);
      expect(await upgrade(`?token=${token}`, good)).to.deep.equal([101, undefined]);
      for (const attempt of [
        await upgrade('', good, good),
        await upgrade('', good, `Bearer ${stranger}`),
        await upgrade('', 'Bearer x', good),
        await upgrade('', `${good}, ${good}`),
        await upgrade(`?token=${token}`, good, good),
        await upgrade(`?token=${token}&token=${token}`),
        await upgrade(`?token=${token}&token=${stranger}`),
        await upgrade(`?token=x&token=${token}`),
        await upgrade(`?token=&token=${token}`),
        await upgrade(`?token=${token}`, `Bearer ${stranger}`),
        await upgrade(`?token=${token}`, 'Basic YTpi'),
        await upgrade('?token=', good),
      ]) {
        expect(attempt).to.deep.equal(REFUSED);
      }
    });
  });
});
