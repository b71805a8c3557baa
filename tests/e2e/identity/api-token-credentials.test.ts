import { createHash } from 'node:crypto';
import { expect } from 'chai';
import {
  ACCEPTED,
  API_TOKENS,
  EXTENSIONS,
  manifestOf,
  mintToken,
  outcome,
  PERSONS_ONLY,
  REFUSED,
  TEST_TOKEN,
} from '../../support/delegation.ts';
import { findIn, findInText } from '../../support/files.ts';
import { refusal } from '../../support/socket.ts';
import { forSuite } from '../../support/suite.ts';
import { sharedWorld, USERS } from '../../support/world.ts';

describe('API tokens as credentials', () => {
  const here = forSuite(async () => {
    const world = await sharedWorld();
    const tenant = await world.tenant();
    const ada = await tenant.person('Ada', 'admin');
    const { token, id } = await mintToken(ada.api, { scopes: ['admin:*'], expires_in: 'never' });
    return { world, tenant, ada, token, id };
  });

  const as = (credential: string) => here().world.anybody.with(credential);

  for (const [what, spell] of [
    ['another last character', (t: string) => t.slice(0, -1) + (t.endsWith('x') ? 'y' : 'x')],
    [
      'another first character of the tail',
      (t: string) => t.slice(0, 16) + (t[16] === 'x' ? 'y' : 'x') + t.slice(17),
    ],
    ['another prefix', (t: string) => `svc_pat_00000000${t.slice(16)}`],
    ['the right prefix and a random tail', (t: string) => `${t.slice(0, 16)}${'a'.repeat(43)}`],
    ['a character too many', (t: string) => `${t}a`],
    ['a character too few', (t: string) => t.slice(0, -1)],
    ['padding', (t: string) => `${t}=`],
    ['small letters', (t: string) => t.toLowerCase()],
    ['the mark in capitals', (t: string) => t.replace('svc_pat_', 'SVC_PAT_')],
    ['no mark', (t: string) => t.slice(8)],
    ['the mark twice', (t: string) => `svc_pat_${t}`],
    [
      'its own hash',
      (t: string) =>
        `${t.slice(0, 16)}${createHash('sha256').update(t.slice(16)).digest('hex').slice(0, 43)}`,
    ],
    ['the hash of it all', (t: string) => createHash('sha256').update(t).digest('hex')],
    ['something behind a dot', (t: string) => `${t}.x`],
    ['a thousand characters', (t: string) => t + 'a'.repeat(1000)],
  ] as const) {
    it(`are refused with ${what}`, async () => {
      const { token } = here();
      expect(await outcome(as(spell(token)))).to.deep.equal(REFUSED);
    });
  }

  it('are refused with a space inside, beside another token, and in the Basic scheme', async () => {
    const { world, token } = here();
    for (const authorization of [
      `Bearer ${token.slice(0, 16)} ${token.slice(16)}`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${token} x`,
      `Basic ${token}`,
    ]) {
      const answer = await world.anybody.get('/api/v1/tenant/me', { headers: { authorization } });
      expect([answer.status, answer.error], authorization).to.deep.equal(REFUSED);
    }
  });

  it('allow nothing that is for persons, whatever their scopes', async () => {
    const { token } = here();
    for (const [method, path] of PERSONS_ONLY) {
      const answer = await as(token).request(method, path, method === 'POST' ? {} : undefined);
      expect([answer.status, answer.error], `${method} ${path}`).to.deep.equal(ACCEPTED);
    }
  });

  it('allow no administration of tokens or extensions, not even their own revocation', async () => {
    const { token, id } = here();
    for (const [method, path, body] of [
      ['POST', API_TOKENS, { name: 'x', scopes: ['data:read'] }],
      ['GET', API_TOKENS, undefined],
      ['DELETE', `${API_TOKENS}/${id}`, undefined],
      ['DELETE', `/tenant/api-tokens/${id}`, undefined],
      ['DELETE', `${API_TOKENS}/nonsense`, undefined],
      ['POST', TEST_TOKEN, undefined],
      ['POST', EXTENSIONS, manifestOf('by-token')],
      ['GET', EXTENSIONS, undefined],
      ['POST', `${EXTENSIONS}/any/activate`, undefined],
      ['POST', `${EXTENSIONS}/any/deactivate`, undefined],
      ['POST', `${EXTENSIONS}/any/token`, undefined],
      ['DELETE', `${EXTENSIONS}/any`, undefined],
    ] as const) {
      const answer = await as(token).request(method, path, body);
      expect([answer.status, answer.error], `${method} ${path}`).to.deep.equal([
        403,
        'delegated_credential_refused',
      ]);
    }
    expect(await outcome(as(token))).to.deep.equal(ACCEPTED);
  });

  it('are refused by routes of other families and by the WebSocket', async () => {
    const { world, token } = here();
    expect((await as(token).get('/super/tenants')).error).to.equal('invalid_credential');
    for (const by of ['query', 'header', 'subprotocol'] as const) {
      const answer = await refusal(world.server, token, { by });
      expect([answer.status, answer.error]).to.deep.equal(REFUSED);
    }
  });

  it('outlive the account of their creator', async () => {
    const { tenant, ada } = here();
    const gone = await tenant.person('Gone', 'admin');
    const minted = await mintToken(gone.api);
    await ada.api.patch(`${USERS}/${gone.id}`, { status: 'deactivated' });
    expect(await outcome(gone.api)).to.deep.equal(REFUSED);
    expect(await outcome(as(minted.token))).to.deep.equal(ACCEPTED);
  });

  it('of a suspended tenant are refused with tenant_suspended until the tenant is active again', async () => {
    const { world } = here();
    const home = await world.tenant();
    const minted = await mintToken(home.admin.api);
    expect(await outcome(as(minted.token))).to.deep.equal(ACCEPTED);
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'suspended' });
    expect(await outcome(as(minted.token))).to.deep.equal([403, 'tenant_suspended']);
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'active' });
    expect(await outcome(as(minted.token))).to.deep.equal(ACCEPTED);
  });

  it('at random are refused by the hundred, while valid ones work', async () => {
    const { token } = here();
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, i) => outcome(as(`svc_pat_${String(i).padStart(51, 'z')}`))),
    );
    for (const answer of answers) expect(answer).to.deep.equal(REFUSED);
    expect(await outcome(as(token))).to.deep.equal(ACCEPTED);
  });

  it('are in no file and no log', async () => {
    const { world, token } = here();
    const secrets = { token, tail: token.slice(16) };
    expect(await findIn(world.server.dataDir, secrets)).to.deep.equal([]);
    expect(findInText(world.server.output(), secrets)).to.deep.equal([]);
  });
});
