import { expect } from 'chai';
import {
  ACCEPTED,
  API_TOKENS,
  listedToken,
  listedTokens,
  mintedToken,
  mintToken,
  outcome,
  REFUSED,
  replayedToken,
} from '../../support/delegation.ts';
import { atPresentPace } from '../../support/pace.ts';
import { eventually } from '../../support/server.ts';
import { adaAndTwoServers, forSuite } from '../../support/suite.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import { startLater } from '../../support/world.ts';

const DAY = 86_400_000;

describe('API tokens', () => {
  const here = forSuite(adaAndTwoServers);

  const as = (token: string) => here().world.anybody.with(token);
  const revoke = (id: string) => here().ada.api.delete(`${API_TOKENS}/${id}`);

  describe('minting', () => {
    it('returns the whole token once; the list never shows it', async () => {
      const { ada } = here();
      const minted = await mintToken(ada.api, { name: 'Reports', scopes: ['data:read', 'files:read'] });
      expect(minted).to.include({ name: 'Reports', prefix: minted.token.slice(8, 16) });
      expect(minted.scopes).to.deep.equal(['data:read', 'files:read']);
      expect(await outcome(as(minted.token))).to.deep.equal(ACCEPTED);
      const answer = await ada.api.get(API_TOKENS);
      const [listed] = answer.as(listedTokens);
      const { token, ...record } = minted;
      expect(listed).to.deep.include({ ...record, created_by: ada.id, revoked_at: null });
      expect(answer.text).not.to.contain(token.slice(16));
    });

    for (const [choice, days] of [
      [undefined, 90],
      ['30d', 30],
      ['90d', 90],
      ['1y', 365],
    ] as const) {
      it(`with expires_in ${choice ?? 'left out'} gives ${days} days`, async () => {
        const { ada } = here();
        const minted = await mintToken(ada.api, choice === undefined ? {} : { expires_in: choice });
        expect(Date.parse(minted.expires_at ?? '') - Date.parse(minted.created_at)).to.equal(days * DAY);
      });
    }

    it('with the expires_in "never" gives a token without an end', async () => {
      const { ada } = here();
      expect((await mintToken(ada.api, { expires_in: 'never' })).expires_at).to.equal(null);
    });

    it('removes duplicate scopes', async () => {
      const { ada } = here();
      const { scopes } = await mintToken(ada.api, { scopes: ['admin:*', 'data:read', 'admin:*'] });
      expect(scopes).to.deep.equal(['admin:*', 'data:read']);
    });

    for (const [what, body, field] of [
      ['a missing name', { scopes: ['data:read'] }, 'name'],
      ['a blank name', { name: ' ', scopes: ['data:read'] }, 'name'],
      ['missing scopes', { name: 'x' }, 'scopes'],
      ['an empty list of scopes', { name: 'x', scopes: [] }, 'scopes'],
      ['an unknown scope', { name: 'x', scopes: ['data:read', 'data:*'] }, 'scopes.1'],
      ['another spelling of a scope', { name: 'x', scopes: ['Data:Read'] }, 'scopes.0'],
      ['scopes as a text', { name: 'x', scopes: 'data:read' }, 'scopes'],
      ['an unknown life', { name: 'x', scopes: ['data:read'], expires_in: '10y' }, 'expires_in'],
      ['a life as a number', { name: 'x', scopes: ['data:read'], expires_in: 30 }, 'expires_in'],
    ] as const) {
      it(`refuses ${what}`, async () => {
        const { ada } = here();
        const answer = await ada.api.post(API_TOKENS, body);
        expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
        expect(answer.json).to.have.nested.property('details.field', field);
      });
    }

    it('with an Idempotency-Key creates one token, and shows its secret once', async () => {
      const { ada } = here();
      const send = () =>
        ada.api.post(
          API_TOKENS,
          { name: 'Keyed', scopes: ['data:read'] },
          { headers: { 'idempotency-key': 'mint-1' } },
        );
      const { token, ...record } = (await send()).as(mintedToken, 201);
      const again = await send();
      expect(again.as(replayedToken, 201)).to.deep.equal(record);
      expect(again.header('idempotency-replayed')).to.equal('true');
      expect(await outcome(as(token))).to.deep.equal(ACCEPTED);
      const named = (await ada.api.get(API_TOKENS)).as(listedTokens).filter(({ name }) => name === 'Keyed');
      expect(named).to.have.length(1);
    });
  });

  describe('the list', () => {
    it('is separate per tenant, newest first, in pages, and has a new token immediately', async () => {
      const { world } = here();
      const home = await world.tenant();
      const minted: string[] = [];
      for (let i = 0; i < 5; i += 1) minted.unshift((await mintToken(home.admin.api)).id);
      const seen: string[] = [];
      let path: string | undefined = `${API_TOKENS}?limit=2`;
      while (path !== undefined) {
        const answer = await home.admin.api.get(path);
        seen.push(...answer.as(listedTokens).map(({ id }) => id));
        const next: string | undefined = /<([^>]+)>; rel="next"/.exec(answer.header('link') ?? '')?.[1];
        path =
          next === undefined
            ? undefined
            : new URL(next, world.server.base).href.slice(world.server.base.length);
      }
      expect(seen).to.deep.equal(minted);
    });

    it('shows the last use, and ignores refused requests', async () => {
      const { world } = here();
      const home = await world.tenant();
      const [used, unused] = [await mintToken(home.admin.api), await mintToken(home.admin.api)];
      await outcome(as(`${unused.token.slice(0, -1)}${unused.token.endsWith('x') ? 'y' : 'x'}`));
      await outcome(as(used.token));
      const find = async (id: string) =>
        (await home.admin.api.get(API_TOKENS)).as(listedTokens).find((one) => one.id === id);
      const first = await eventually('the use', async () => (await find(used.id))?.last_used_at ?? false);
      expect(Date.parse(first)).to.be.within(Date.parse(used.created_at), Date.now());
      for (let i = 0; i < 20; i += 1) await outcome(as(used.token));
      expect((await find(used.id))?.last_used_at).to.equal(first);
      expect((await find(unused.id))?.last_used_at).to.equal(null);
    });
  });

  describe('revoking', () => {
    it('applies from the next request; the record stays, and repeating it changes nothing', async () => {
      const { ada } = here();
      const [minted, kept] = [await mintToken(ada.api), await mintToken(ada.api)];
      expect(await outcome(as(minted.token))).to.deep.equal(ACCEPTED);
      const record = (await revoke(minted.id)).as(listedToken);
      expect(record.revoked_at).not.to.equal(null);
      expect(await outcome(as(minted.token))).to.deep.equal(REFUSED);
      const again = (await revoke(minted.id)).as(listedToken);
      expect(again.revoked_at).to.equal(record.revoked_at);
      const listed = (await ada.api.get(API_TOKENS)).as(listedTokens).find(({ id }) => id === minted.id);
      expect(listed?.revoked_at).to.equal(record.revoked_at);
      expect(await outcome(as(kept.token))).to.deep.equal(ACCEPTED);
    });

    it('is also served at the path without /api/v1', async () => {
      const { ada } = here();
      const minted = await mintToken(ada.api);
      expect((await ada.api.delete(`/tenant/api-tokens/${minted.id}`)).as(listedToken).id).to.equal(
        minted.id,
      );
      expect(await outcome(as(minted.token))).to.deep.equal(REFUSED);
    });

    it('is 404 for unknown, malformed and foreign ids, and the tokens of foreign ids stay valid', async () => {
      const { world } = here();
      const home = await world.tenant();
      const theirs = await mintToken(home.admin.api);
      const unknown = await revoke('01900000-0000-7000-8000-000000000000');
      for (const id of [theirs.id, 'x', 'test-tokens', theirs.id.toUpperCase()]) {
        const answer = await revoke(id);
        expect([answer.status, answer.text]).to.deep.equal([404, unknown.text]);
      }
      expect(await outcome(as(theirs.token))).to.deep.equal(ACCEPTED);
    });

    it('at one node applies at the other within a second, also to a cached token', async () => {
      const { other, ada } = here();
      const minted = await mintToken(ada.api);
      const there = as(minted.token).at(other);
      expect(await outcome(there)).to.deep.equal(ACCEPTED);
      expect(await outcome(there)).to.deep.equal(ACCEPTED);
      await revoke(minted.id);
      const began = performance.now();
      await eventually('the refusal', async () => (await outcome(there))[0] === 401);
      expect(performance.now() - began).to.be.lessThan(await atPresentPace(1000));
      // In the other direction, a token minted at the other node works here immediately.
      const fresh = await mintToken(ada.api.at(other));
      expect(await outcome(as(fresh.token))).to.deep.equal(ACCEPTED);
    });
  });

  describe('are for admins', () => {
    it('to mint, list and revoke', async () => {
      const { tenant, ada } = here();
      const ben = await tenant.person('Ben');
      const { id } = await mintToken(ada.api);
      for (const answer of [
        await ben.api.post(API_TOKENS, { name: 'x', scopes: ['data:read'] }),
        await ben.api.get(API_TOKENS),
        await ben.api.delete(`${API_TOKENS}/${id}`),
      ]) {
        expect([answer.status, answer.error]).to.deep.equal([403, 'admin_required']);
      }
    });

    it('and cannot be minted under impersonation, even with a test token', async () => {
      const { ada } = here();
      for (const own of [{}, { token_use: 'api_test' }]) {
        const api = as(
          tenantToken(ada, { ...own, impersonated_by: 'root@platform.example', exp: now() + 3600 }),
        );
        const answer = await api.post(API_TOKENS, { name: 'x', scopes: ['data:read'] });
        expect([answer.status, answer.error]).to.deep.equal([403, 'forbidden']);
        expect((await api.get(API_TOKENS)).status).to.equal(200);
      }
    });
  });

  it('survive a restart', async () => {
    const { world, ada } = here();
    const [kept, gone] = [await mintToken(ada.api), await mintToken(ada.api)];
    await revoke(gone.id);
    const later = await startLater(world);
    expect(await outcome(as(kept.token).at(later))).to.deep.equal(ACCEPTED);
    expect(await outcome(as(gone.token).at(later))).to.deep.equal(REFUSED);
  });
});
