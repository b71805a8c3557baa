import { expect } from 'chai';
import {
  ACCEPTED,
  API_TOKENS,
  activeExtension,
  bearerOf,
  claimsOf,
  EXTENSIONS,
  extension,
  extensions,
  extensionToken,
  loadExtension,
  manifestOf,
  outcome,
  PERSONS_ONLY,
  REFUSED,
  TEST_TOKEN,
} from '../../support/delegation.ts';
import { eventually } from '../../support/server.ts';
import { refusal } from '../../support/socket.ts';
import { adaAndTwoServers, forSuite } from '../../support/suite.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import { USERS } from '../../support/world.ts';

describe('Extensions', () => {
  const here = forSuite(adaAndTwoServers);

  const as = (token: string) => here().world.anybody.with(token);
  const act = (extId: string, action: 'activate' | 'deactivate' | 'token') =>
    here().ada.api.post(`${EXTENSIONS}/${extId}/${action}`);
  const remove = (extId: string) => here().ada.api.delete(`${EXTENSIONS}/${extId}`);

  describe('are installed', () => {
    it('by their manifest, inactive at first, and listed at once', async () => {
      const { world, ada } = here();
      const url = 'https://crm.example/app?x=1';
      const manifest = manifestOf('com.acme.crm', { url, scopes: ['data:read', 'data:read', 'files:read'] });
      const made = (await ada.api.post(EXTENSIONS, manifest)).as(extension, 201);
      expect(made).to.deep.include({
        ...manifest,
        scopes: ['data:read', 'files:read'],
        state: 'inactive',
        created_by: ada.id,
      });
      expect((await ada.api.get(EXTENSIONS)).as(extensions)).to.deep.include(made);
      const elsewhere = await world.tenant();
      expect((await elsewhere.admin.api.get(EXTENSIONS)).json).to.deep.equal([]);
    });

    it('once, and again after uninstalling', async () => {
      const { ada } = here();
      (await ada.api.post(EXTENSIONS, manifestOf('once'))).as(extension, 201);
      const twice = await ada.api.post(EXTENSIONS, manifestOf('once', { version: '2' }));
      expect([twice.status, twice.error]).to.deep.equal([409, 'already_exists']);
      expect(twice.json).to.have.nested.property('details.field', 'ext_id');
      expect((await remove('once')).status).to.equal(204);
      expect((await ada.api.get(EXTENSIONS)).text).not.to.contain('"once"');
      expect((await remove('once')).status).to.equal(404);
      const again = await ada.api.post(EXTENSIONS, manifestOf('once', { version: '2' }));
      expect(again.as(extension, 201)).to.include({ version: '2', state: 'inactive' });
    });

    it('by one of twenty concurrent requests', async () => {
      const { other, ada } = here();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          (i % 2 ? ada.api : ada.api.at(other)).post(EXTENSIONS, manifestOf('raced')),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array(19).fill(409)]);
    });

    for (const [what, own, field] of [
      ['a missing id', { ext_id: undefined }, 'ext_id'],
      ['an id in capitals', { ext_id: 'CRM' }, 'ext_id'],
      ['an id with a slash', { ext_id: 'a/b' }, 'ext_id'],
      ['an id with dots first', { ext_id: '..' }, 'ext_id'],
      ['a long id', { ext_id: 'a'.repeat(65) }, 'ext_id'],
      ['a blank name', { name: '  ' }, 'name'],
      ['a missing version', { version: undefined }, 'version'],
      ['an empty list of scopes', { scopes: [] }, 'scopes'],
      ['an unknown scope', { scopes: ['data:delete'] }, 'scopes.0'],
      ['an http address', { url: 'http://crm.example/' }, 'url'],
      ['a script as address', { url: 'javascript:alert(1)' }, 'url'],
      ['an address with a password', { url: 'https://u:p@crm.example/' }, 'url'],
      ['an address with a user', { url: 'https://u@crm.example/' }, 'url'],
      ['an address without a scheme', { url: 'crm' }, 'url'],
    ] as const) {
      it(`not with ${what}`, async () => {
        const { ada } = here();
        const answer = await ada.api.post(EXTENSIONS, manifestOf('wrong', own));
        expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
        expect(answer.json).to.have.nested.property('details.field', field);
      });
    }
  });

  it('are activated and deactivated repeatedly', async () => {
    const { ada } = here();
    (await ada.api.post(EXTENSIONS, manifestOf('switch'))).as(extension, 201);
    for (const [action, state] of [
      ['activate', 'active'],
      ['activate', 'active'],
      ['deactivate', 'inactive'],
      ['deactivate', 'inactive'],
      ['activate', 'active'],
    ] as const) {
      expect((await act('switch', action)).as(extension).state).to.equal(state);
      const list = (await ada.api.get(EXTENSIONS)).as(extensions);
      expect(list.find(({ ext_id }) => ext_id === 'switch')?.state).to.equal(state);
    }
  });

  it('are 404 when unknown, malformed or another tenant’s', async () => {
    const { world } = here();
    const home = await world.tenant();
    await activeExtension(home.admin.api, 'theirs');
    for (const id of ['unknown', 'theirs', 'UNKNOWN', '%00', '..%2f']) {
      for (const answer of [
        await act(id, 'activate'),
        await act(id, 'deactivate'),
        await act(id, 'token'),
        await remove(id),
      ]) {
        expect([answer.status, answer.error], id).to.deep.equal([404, 'not_found']);
      }
    }
    expect(await outcome(as(await loadExtension(home.admin.api, 'theirs')))).to.deep.equal(ACCEPTED);
  });

  it('are managed by admins, and not by their own tokens', async () => {
    const { tenant, ada } = here();
    await activeExtension(ada.api, 'greedy', { scopes: ['admin:*'] });
    const own = as(await loadExtension(ada.api, 'greedy'));
    const ben = await tenant.person('Ben');
    const changes = [
      ['POST', EXTENSIONS, manifestOf('x')],
      ['POST', `${EXTENSIONS}/greedy/activate`, undefined],
      ['POST', `${EXTENSIONS}/greedy/deactivate`, undefined],
      ['DELETE', `${EXTENSIONS}/greedy`, undefined],
    ] as const;
    const open = [
      ['GET', EXTENSIONS, undefined],
      ['POST', `${EXTENSIONS}/greedy/token`, undefined],
    ] as const;
    for (const [method, path, body] of changes) {
      expect((await ben.api.request(method, path, body)).error).to.equal('admin_required');
    }
    for (const [method, path, body] of [...changes, ...open]) {
      expect((await own.request(method, path, body)).error).to.equal('tenant_session_required');
    }
    for (const [method, path] of [...PERSONS_ONLY, ['GET', API_TOKENS], ['POST', API_TOKENS]] as const) {
      const answer = await own.request(method, path, method === 'POST' ? {} : undefined);
      expect([answer.status, answer.error], path).to.deep.equal(ACCEPTED);
    }
    const test = await own.post(TEST_TOKEN);
    expect([test.status, test.error]).to.deep.equal([403, 'delegated_credential_refused']);
  });

  describe('tokens', () => {
    before(() => activeExtension(here().ada.api, 'crm'));

    it('have the documented claims, and live for fifteen minutes', async () => {
      const { tenant, ada } = here();
      const token = await loadExtension(ada.api, 'crm');
      const { iat, exp, ...claims } = claimsOf(token);
      expect(claims).to.deep.equal({
        sub: ada.id,
        email: ada.email,
        tenant_id: tenant.id,
        role: 'admin',
        ext_id: 'crm',
        scopes: ['data:read', 'data:write'],
      });
      expect(Number(exp) - Number(iat)).to.equal(900);
      expect(Number(iat)).to.be.within(now() - 5, now() + 1);
      expect(await outcome(as(token))).to.deep.equal(ACCEPTED);
    });

    it('of an operator have the operator’s role, and the operator can read the list of extensions', async () => {
      const { tenant, ada } = here();
      const ben = await tenant.person('Ben');
      await activeExtension(ada.api, 'desk', { scopes: ['data:read', 'workflow:read'] });
      const listed = (await ben.api.get(EXTENSIONS)).as(extensions);
      expect(listed.find(({ ext_id }) => ext_id === 'desk')?.state).to.equal('active');
      const token = await loadExtension(ben.api, 'desk');
      expect(claimsOf(token)).to.deep.include({
        sub: ben.id,
        role: 'operator',
        ext_id: 'desk',
        scopes: ['data:read', 'workflow:read'],
      });
      expect((await as(token).get('/api/v1/tenant/entities')).status).to.equal(200);
      expect(await outcome(as(token))).to.deep.equal(ACCEPTED);
      expect((await ben.api.post(`${EXTENSIONS}/unknown/token`)).status).to.equal(404);
    });

    for (const end of ['deactivated', 'uninstalled'] as const) {
      it(`of an operator end at the instant the extension is ${end}`, async () => {
        const { tenant, other, ada } = here();
        const ben = await tenant.person('Ben');
        const extId = `desk-${end}`;
        await activeExtension(ada.api, extId);
        const token = await loadExtension(ben.api, extId);
        expect(await outcome(as(token))).to.deep.equal(ACCEPTED);
        if (end === 'deactivated') (await act(extId, 'deactivate')).as(extension);
        else expect((await remove(extId)).status).to.equal(204);
        expect(await outcome(as(token))).to.deep.equal(REFUSED);
        await eventually('the other node', async () => (await outcome(as(token).at(other)))[0] === 401);
        const answer = await ben.api.post(`${EXTENSIONS}/${extId}/token`);
        expect(answer.status).to.equal(end === 'deactivated' ? 409 : 404);
      });
    }

    it('keep the impersonator', async () => {
      const { ada } = here();
      const impersonated_by = 'root@platform.example';
      const session = as(tenantToken(ada, { impersonated_by, exp: now() + 3600 }));
      expect(claimsOf(await loadExtension(session, 'crm'))).to.include({ impersonated_by });
    });

    it('are minted for active extensions only', async () => {
      const { ada } = here();
      (await ada.api.post(EXTENSIONS, manifestOf('asleep'))).as(extension, 201);
      const answer = await act('asleep', 'token');
      expect([answer.status, answer.error]).to.deep.equal([409, 'invalid_transition']);
      expect(answer.json).to.have.deep.property('details', { state: 'inactive', allowed: ['active'] });
    });

    it('are valid once minted, also after many quick rounds, or minting is 503', async () => {
      const { ada } = here();
      (await ada.api.post(EXTENSIONS, manifestOf('flicker'))).as(extension, 201);
      for (let round = 0; ; round += 1) {
        expect(round).to.be.lessThan(200);
        (await act('flicker', 'activate')).as(extension);
        const answer = await act('flicker', 'token');
        if (answer.status !== 201) {
          expect([answer.status, answer.error]).to.deep.equal([503, 'unavailable']);
          expect(Number(answer.header('retry-after'))).to.be.within(1, 60);
          return;
        }
        expect(await outcome(as(answer.as(bearerOf(900), 201).token))).to.deep.equal(ACCEPTED);
        (await act('flicker', 'deactivate')).as(extension);
      }
    }).timeout(60_000);

    it('are shown once for an Idempotency-Key', async () => {
      const { ada } = here();
      const headers = { 'idempotency-key': 'load-1' };
      const send = () => ada.api.post(`${EXTENSIONS}/crm/token`, undefined, { headers });
      (await send()).as(bearerOf(900), 201);
      expect((await send()).as(bearerOf(900).omit({ token: true }), 201)).to.be.an('object');
    });

    it('minted elsewhere with exactly the documented claims are accepted', async () => {
      const { ada } = here();
      for (const own of [
        {},
        { scopes: [] },
        { iat: now() - 600, exp: now() + 300 },
        { iat: now(), exp: now() + 960 },
        { role: 'operator' },
        { scopes: ['admin:*'] },
      ]) {
        expect(await outcome(as(extensionToken(ada, 'crm', own))), JSON.stringify(own)).to.deep.equal(
          ACCEPTED,
        );
      }
    });

    for (const [what, own] of [
      ['an unknown extension', { ext_id: 'nothing' }],
      ['another spelling of the extension', { ext_id: 'CRM' }],
      ['an empty extension', { ext_id: '' }],
      ['no extension', { ext_id: null }],
      ['a list as extension', { ext_id: ['crm'] }],
      ['an unknown scope', { scopes: ['data:read', 'data:delete'] }],
      ['no scopes', { scopes: undefined }],
      ['scopes as a text', { scopes: 'admin:*' }],
      ['the use of a test token too', { token_use: 'api_test' }],
      ['a life of seventeen minutes', { iat: now(), exp: now() + 1020 }],
      ['a day of life', { exp: now() + 86_400 }],
      ['an unknown tenant', { tenant_id: 'nowhere' }],
    ] as const) {
      it(`are refused with ${what}`, async () => {
        const { ada } = here();
        expect(await outcome(as(extensionToken(ada, 'crm', own)))).to.deep.equal(REFUSED);
      });
    }

    it('that have expired are credential_expired', async () => {
      const { ada } = here();
      const token = extensionToken(ada, 'crm', { iat: now() - 901, exp: now() - 1 });
      expect(await outcome(as(token))).to.deep.equal([401, 'credential_expired']);
    });

    it('are refused by the WebSocket', async () => {
      const { world, ada } = here();
      for (const by of ['query', 'header', 'subprotocol'] as const) {
        const answer = await refusal(world.server, await loadExtension(ada.api, 'crm'), { by });
        expect([answer.status, answer.error]).to.deep.equal(REFUSED);
      }
    });

    it('of another tenant’s extension with the same id belong to that tenant', async () => {
      const { world, ada } = here();
      const home = await world.tenant();
      expect(await outcome(as(extensionToken(home.admin, 'crm')))).to.deep.equal(REFUSED);
      await activeExtension(home.admin.api, 'crm');
      expect(await outcome(as(extensionToken(home.admin, 'crm')))).to.deep.equal(ACCEPTED);
      expect((await home.admin.api.delete(`${EXTENSIONS}/crm`)).status).to.equal(204);
      expect(await outcome(as(extensionToken(home.admin, 'crm')))).to.deep.equal(REFUSED);
      expect(await outcome(as(extensionToken(ada, 'crm')))).to.deep.equal(ACCEPTED);
    });

    it('register an unknown person like a session, but not for an inactive extension', async () => {
      const { ada } = here();
      const fresh = { ...ada, id: 'sso|fresh-1', email: 'fresh@people.example' };
      (await ada.api.post(EXTENSIONS, manifestOf('sleepy'))).as(extension, 201);
      const known = async () => (await ada.api.get(`${USERS}?limit=200`)).text.includes(fresh.id);
      for (const extId of ['sleepy', 'nothing']) {
        expect(await outcome(as(extensionToken(fresh, extId)))).to.deep.equal(REFUSED);
      }
      expect(await known()).to.equal(false);
      expect(await outcome(as(extensionToken(fresh, 'crm')))).to.deep.equal(ACCEPTED);
      expect(await known()).to.equal(true);
    });
  });
});
