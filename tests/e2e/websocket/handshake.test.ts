import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KEYS } from '../../support/server.ts';
import { type ListenOptions, listen, refusal } from '../../support/socket.ts';
import { bossAndAda, forSuite } from '../../support/suite.ts';
import { now, platformToken, rawToken, signed, tenantClaims, tenantToken } from '../../support/tokens.ts';
import { BASE, USERS } from '../../support/world.ts';

describe('The WebSocket handshake', () => {
  const here = forSuite(bossAndAda);

  for (const by of ['query', 'header', 'subprotocol'] as const) {
    it(`accepts the token by ${by}`, async () => {
      const { world, ada } = here();
      const socket = await listen(world.server, ada.token, { by });
      expect(socket.seen).to.have.length(1);
      expect(socket.protocol).to.equal(by === 'subprotocol' ? 'bearer' : '');
      socket.close();
    });

    it(`refuses an invalid token by ${by}`, async () => {
      const { world, ada } = here();
      expect(await refusal(world.server, `${ada.token}x`, { by })).to.deep.equal({
        status: 401,
        error: 'invalid_credential',
        challenge: 'Bearer',
      });
    });
  }

  it('never selects a token or an unknown name as the subprotocol', async () => {
    const { world, ada } = here();
    const more = await listen(world.server, ada.token, { by: 'subprotocol', protocols: ['chat'] });
    expect(more.protocol).to.equal('bearer');
    more.close();
    const plain = await listen(world.server, ada.token, { by: 'query', protocols: ['bearer', 'x'] });
    expect(plain.protocol).to.equal('bearer');
    plain.close();
  });

  it('refuses a missing credential', async () => {
    const { world } = here();
    for (const options of [{}, { protocols: ['bearer'] }, { headers: { authorization: 'Basic abc' } }]) {
      const answer = await refusal(world.server, undefined, options);
      expect([answer.status, answer.challenge]).to.deep.equal([401, 'Bearer']);
      expect(answer.error).to.be.oneOf(['unauthenticated', 'invalid_credential']);
    }
  });

  for (const [what, make] of [
    ['an expired token', () => tenantToken(here().ada, { iat: now() - 100, exp: now() - 1 })],
    ['a platform admin’s token', () => platformToken()],
    [
      'an extension’s token',
      () => tenantToken(here().ada, { ext_id: 'x', scopes: ['admin:*'], exp: now() + 900 }),
    ],
    ['a token of an unknown tenant', () => tenantToken({ ...here().ada, tenantId: 'nowhere' })],
    [
      'an unsigned token',
      () => rawToken({ alg: 'none', typ: 'JWT' }, tenantClaims(here().ada), '').replace(/[^.]*$/, ''),
    ],
    ['a token of another key', () => signed(tenantClaims(here().ada), KEYS.PARTNER_JWT_SECRET)],
    ['an API token', () => `svc_pat_${'a'.repeat(51)}`],
    ['an empty token', () => ''],
  ] as const) {
    it(`refuses ${what} with 401`, async () => {
      const { world } = here();
      const answer = await refusal(world.server, make());
      expect([answer.status, answer.challenge]).to.deep.equal([401, 'Bearer']);
    });
  }

  it('accepts impersonation and test tokens', async () => {
    const { world, ada } = here();
    for (const own of [{ impersonated_by: 'root@platform.example' }, { token_use: 'api_test' }]) {
      (await listen(world.server, tenantToken(ada, { ...own, exp: now() + 3600 }))).close();
    }
  });

  it('refuses a deactivated user with 401 and a suspended tenant with 403', async () => {
    const { world, tenant } = here();
    const gone = await tenant.person('Gone');
    await tenant.admin.api.patch(`${USERS}/${gone.id}`, { status: 'deactivated' });
    expect((await refusal(world.server, gone.token)).status).to.equal(401);
    const other = await world.tenant();
    await world.platform.patch(`/super/tenants/${other.id}`, { status: 'suspended' });
    const answer = await refusal(world.server, other.admin.token);
    expect([answer.status, answer.error]).to.deep.equal([403, 'tenant_suspended']);
  });

  it('refuses two positions with 400, also when they are equal', async () => {
    const { world, ada } = here();
    const socket = await listen(world.server, ada.token);
    const [ready] = socket.seen;
    socket.close();
    const position = ready?.position ?? '';
    const answer = await refusal(world.server, ada.token, { query: { after: [position, position] } });
    expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
  });

  for (const after of ['x', '', '-1', 'zzzzzzzzzzzzzzzz', '0'.repeat(200)]) {
    it(`refuses after=${after.slice(0, 20)} with 400`, async () => {
      const { world, ada } = here();
      const options: ListenOptions = { after };
      const answer = await refusal(world.server, ada.token, options);
      expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
      // A refused caller learns nothing about the position.
      expect((await refusal(world.server, 'x', options)).status).to.equal(401);
    });
  }

  it('has one path, which answers a plain GET with 426', async () => {
    const { world, ada } = here();
    const elsewhere = { ...world.server, base: `${world.server.base}/x` };
    expect((await refusal(elsewhere, ada.token)).status).to.equal(404);
    const answer = await ada.api.get('/api/v1/ws');
    expect([answer.status, answer.error, answer.header('upgrade')]).to.deep.equal([
      426,
      'upgrade_required',
      'websocket',
    ]);
    expect((await ada.api.post('/api/v1/ws')).header('allow')).to.equal('GET, OPTIONS');
  });

  it('registers an unknown person like any first request', async () => {
    const { world, ada } = here();
    const fresh = { ...ada, id: randomUUID(), email: 'fresh@people.example' };
    (await listen(world.server, tenantToken(fresh))).close();
    expect((await ada.api.post(BASE, { participant_user_ids: [fresh.id] })).status).to.equal(201);
  });
});
