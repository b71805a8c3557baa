import { join } from 'node:path';
import { expect } from 'chai';
import {
  API_TOKENS,
  activeExtension,
  bearerOf,
  claimsOf,
  EXTENSIONS,
  loadExtension,
  manifestOf,
  mintToken,
  TEST_TOKEN,
} from '../../support/delegation.ts';
import { storedEvents } from '../../support/event-rows.ts';
import { findIn, findInText } from '../../support/files.ts';
import { listen } from '../../support/socket.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import {
  BASE,
  endWorld,
  type Member,
  sharedWorld,
  type TestTenant,
  type World,
} from '../../support/world.ts';

const bearer = bearerOf(3600);

describe('The test token', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada', 'admin');
  });
  after(endWorld);

  const as = (token: string) => world.anybody.with(token);
  const mint = async (api = ada.api): Promise<string> => (await api.post(TEST_TOKEN)).as(bearer, 201).token;
  /** Events of the test tokens that a person has minted, as texts of data and metadata. */
  const trail = (person: Member): string[] =>
    storedEvents(join(world.server.dataDir, 'events.db'))
      .filter(({ stream }) => stream === `${person.tenantId}.test_token-${person.id}`)
      .map(({ data, metadata }) => `${data} ${metadata}`);

  it('has the claims of the caller, and lives for one hour', async () => {
    const { iat, exp, ...claims } = claimsOf(await mint());
    expect(claims).to.deep.equal({
      sub: ada.id,
      email: ada.email,
      tenant_id: tenant.id,
      role: 'admin',
      token_use: 'api_test',
    });
    expect(Number(exp) - Number(iat)).to.equal(3600);
  });

  it('has the rights of the admin’s session, except to mint test tokens', async () => {
    const api = as(await mint());
    expect((await api.get('/api/v1/tenant/me')).status).to.equal(200);
    expect((await api.get(BASE)).status).to.equal(200);
    const minted = await mintToken(api);
    expect((await api.get(API_TOKENS)).status).to.equal(200);
    expect((await api.delete(`${API_TOKENS}/${minted.id}`)).status).to.equal(200);
    expect((await api.post(EXTENSIONS, manifestOf('tried'))).status).to.equal(201);
    expect((await api.delete(`${EXTENSIONS}/tried`)).status).to.equal(204);
    (await listen(world.server, api.token ?? '')).close();
  });

  it('keeps the impersonator', async () => {
    const impersonated_by = 'root@platform.example';
    const token = await mint(as(tenantToken(ada, { impersonated_by, exp: now() + 3600 })));
    expect(claimsOf(token)).to.include({ impersonated_by, token_use: 'api_test' });
    const answer = await as(token).get('/api/v1/tenant/me');
    expect(answer.json).to.have.property('impersonated_by', impersonated_by);
  });

  it('is refused to test tokens, API tokens and extensions', async () => {
    await activeExtension(ada.api, 'crm', { scopes: ['admin:*'] });
    const { token } = await mintToken(ada.api, { scopes: ['admin:*'] });
    for (const credential of [await mint(), token, await loadExtension(ada.api, 'crm')]) {
      const answer = await as(credential).post(TEST_TOKEN);
      expect([answer.status, answer.error]).to.deep.equal([403, 'delegated_credential_refused']);
    }
  });

  it('is for admins', async () => {
    const ben = await tenant.person('Ben');
    const answer = await ben.api.post(TEST_TOKEN);
    expect([answer.status, answer.error]).to.deep.equal([403, 'admin_required']);
    expect((await world.anybody.post(TEST_TOKEN)).status).to.equal(401);
  });

  it('loses its rights when the admin loses the role', async () => {
    const cy = await tenant.person('Cy', 'admin');
    const api = as(await mint(cy.api));
    expect((await api.get(API_TOKENS)).status).to.equal(200);
    await ada.api.patch(`/api/v1/tenant/users/${cy.id}`, { role: 'operator' });
    expect((await api.get(API_TOKENS)).error).to.equal('admin_required');
  });

  it('appends one event per mint, before the answer, and none for a refusal', async () => {
    const cy = await tenant.person('Dee', 'admin');
    expect(trail(cy)).to.deep.equal([]);
    const tokens: string[] = [];
    for (let count = 1; count <= 3; count += 1) {
      tokens.push(await mint(cy.api));
      expect(trail(cy)).to.have.length(count);
    }
    await as(tokens[0] ?? '').post(TEST_TOKEN);
    const events = trail(cy);
    expect(events).to.have.length(3);
    for (const event of events) expect(event).to.contain(cy.id).and.to.contain(cy.tenantId);
    expect(events.join()).not.to.contain(tokens[0]?.split('.')[1]);
  });

  it('is shown once for an Idempotency-Key, with one event, and is in no file or log', async () => {
    const eve = await tenant.person('Eve', 'admin');
    const send = () => eve.api.post(TEST_TOKEN, undefined, { headers: { 'idempotency-key': 'test-1' } });
    const { token } = (await send()).as(bearer, 201);
    const again = await send();
    again.as(bearer.omit({ token: true }), 201);
    expect(again.header('idempotency-replayed')).to.equal('true');
    expect(trail(eve)).to.have.length(1);
    const secrets = { token, signature: token.split('.')[2] ?? '' };
    expect(await findIn(world.server.dataDir, secrets)).to.deep.equal([]);
    expect(findInText(world.server.output(), secrets)).to.deep.equal([]);
  });
});
