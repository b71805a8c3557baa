import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Client } from '../../support/client.ts';
import { findIn } from '../../support/files.ts';
import {
  assertion,
  assertionClaims,
  BILLING,
  EXCHANGE,
  exchanged,
  newPartner,
  PORTAL,
  PROFILE,
  partnerToken,
  session,
  type TestPartner,
} from '../../support/partners.ts';
import { KEYS, type Server } from '../../support/server.ts';
import { validationFailed } from '../../support/shapes.ts';
import { now, rawToken, signed } from '../../support/tokens.ts';
import {
  endWorld,
  LIMITED_LOGINS,
  sharedPair,
  sharedWorld,
  startWorld,
  type World,
} from '../../support/world.ts';

const HEADER = { alg: 'HS256', typ: 'JWT' };

/** Decisions, section 3: the hosting portal's assertion becomes a partner token, once. */
describe('The exchange of the partner portal', () => {
  let world: World;
  let other: Server;
  let north: TestPartner;

  before(async () => {
    ({ world, other } = await sharedPair());
    north = await newPartner(world);
  });
  after(endWorld);

  const exchange = (text: unknown, api: Client = world.anybody) => api.post(EXCHANGE, { assertion: text });

  it('gives a token with exactly the documented claims, which the portal accepts', async () => {
    const permissions = [BILLING, 'other'];
    const answer = (await exchange(assertion(north.id, { permissions, more: 'x' }))).as(exchanged);
    const [head = '', body = ''] = answer.token.split('.');
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(read(head)).to.deep.equal(HEADER);
    const claims = read(body);
    expect(claims).to.have.all.keys('sub', 'email', 'partner_id', 'permissions', 'iat', 'exp');
    expect(claims).to.deep.include({
      sub: 'nora',
      email: 'nora@partner.example',
      partner_id: north.id,
      permissions,
    });
    const { iat, exp } = claims as { iat: number; exp: number };
    expect(exp - iat).to.equal(3600);
    expect(Math.abs(iat - now())).to.be.lessThan(10);
    expect((await world.anybody.with(answer.token).get(`${PORTAL}/me`)).as(session)).to.deep.equal({
      user: { id: 'nora', email: 'nora@partner.example' },
      partner: { id: north.id, name: `Partner ${north.id}` },
      permissions,
    });
  });

  it('accepts an assertion that is almost five minutes old, or has an `iat` 50 s in the future', async () => {
    for (const iat of [now() - 290, now() + 50]) {
      (await exchange(assertion(north.id, { iat, exp: now() + 100 }))).as(exchanged);
    }
    // The age of the assertion counts, not its `exp`.
    (await exchange(assertion(north.id, { exp: now() + 86_400 }))).as(exchanged);
  });

  const good = () => assertionClaims(north.id);
  const key = KEYS.PARTNER_EXCHANGE_SECRET;
  const text = (extra: string): string => `${JSON.stringify(good()).slice(0, -1)},${extra}}`;
  const REFUSED: readonly (readonly [string, () => string])[] = [
    ['an empty text', () => ''],
    ['a text that is no token', () => 'x'],
    ['an assertion that is older than five minutes', () => assertion(north.id, { iat: now() - 302 })],
    [
      'an old assertion whose exp is tomorrow',
      () => assertion(north.id, { iat: now() - 302, exp: now() + 86_400 }),
    ],
    ['an assertion from the future', () => assertion(north.id, { iat: now() + 120, exp: now() + 400 })],
    ['an assertion that has expired', () => assertion(north.id, { iat: now() - 60, exp: now() - 1 })],
    [
      'an assertion that ends before it begins',
      () => assertion(north.id, { iat: now() + 30, exp: now() + 20 }),
    ],
    ['an unknown partner', () => assertion('nobody')],
    ['a partner that is no slug', () => assertion('a.b-c')],
    ['a number as partner', () => assertion(north.id, { partner_id: 7 })],
    ['a missing partner', () => assertion(north.id, { partner_id: undefined })],
    ['a missing sub', () => assertion(north.id, { sub: undefined })],
    ['a sub with a line break', () => assertion(north.id, { sub: 'a\nb' })],
    ['a missing e-mail', () => assertion(north.id, { email: undefined })],
    ['missing permissions', () => assertion(north.id, { permissions: undefined })],
    ['permissions that are a text', () => assertion(north.id, { permissions: BILLING })],
    ['permissions that are numbers', () => assertion(north.id, { permissions: [1] })],
    ['a missing iat', () => assertion(north.id, { iat: undefined })],
    ['a missing exp', () => assertion(north.id, { exp: undefined })],
    ['a missing jti', () => assertion(north.id, { jti: undefined })],
    ['an empty jti', () => assertion(north.id, { jti: '' })],
    ['a jti that is a number', () => assertion(north.id, { jti: 7 })],
    ['a jti of 256 characters', () => assertion(north.id, { jti: 'x'.repeat(256) })],
    ['alg none', () => `${rawToken({ alg: 'none' }, good(), key).split('.').slice(0, 2).join('.')}.`],
    ['HS512', () => rawToken({ alg: 'HS512', typ: 'JWT' }, good(), key, 'sha512')],
    ['crit', () => rawToken({ ...HEADER, crit: ['x'], x: 1 }, good(), key)],
    ['the partners’ own key', () => signed(good(), KEYS.PARTNER_JWT_SECRET)],
    ['the tenants’ key', () => signed(good(), KEYS.TENANT_JWT_SECRET)],
    ['the platform’s key', () => signed(good(), KEYS.PLATFORM_JWT_SECRET)],
    ['duplicate claims', () => rawToken(HEADER, text('"permissions":["partner-billing"]'), key)],
    ['a second jti', () => rawToken(HEADER, text('"jti":"another"'), key)],
    ['a padded signature', () => `${assertion(north.id)}=`],
    ['an assertion of 10 KB', () => assertion(north.id, { more: 'x'.repeat(10_000) })],
  ];
  for (const [what, make] of REFUSED) {
    it(`refuses ${what}`, async () => {
      const wrong = await exchange('x.y.z');
      const answer = await exchange(make());
      expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
      expect(answer.text).to.equal(wrong.text);
    });
  }

  it('requires the assertion as a text', async () => {
    for (const body of [{}, { assertion: 7 }, { assertion: null }]) {
      const answer = await world.anybody.post(EXCHANGE, body);
      expect(answer.as(validationFailed, 400).details.field).to.equal('assertion');
    }
  });

  it('accepts each jti once per partner', async () => {
    const south = await newPartner(world);
    const jti = randomUUID();
    const first = assertion(north.id, { jti });
    (await exchange(first)).as(exchanged);
    const replays = [
      first,
      assertion(north.id, { jti, sub: 'other', iat: now() - 1 }),
      assertion(north.id, { jti, permissions: [] }),
    ];
    for (const text of replays) {
      const answer = await exchange(text, world.anybody.at(other));
      expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
    }
    (await exchange(assertion(south.id, { jti }))).as(exchanged);
  });

  it('gives one token for an assertion sent to two servers at once', async () => {
    for (let round = 0; round < 12; round += 1) {
      const text = assertion(north.id);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => exchange(text, i % 2 ? world.anybody : world.anybody.at(other))),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses, `round ${round}`).to.deep.equal([200, 401, 401, 401, 401, 401]);
    }
  });

  it('stores no e-mail, assertion or token on disk', async () => {
    const email = `${randomUUID()}@partner.example`;
    const text = assertion(north.id, { email, sub: randomUUID() });
    const { token } = (await exchange(text)).as(exchanged);
    expect(await findIn(world.server.dataDir, { email, assertion: text, token })).to.deep.equal([]);
    expect(world.server.output()).not.to.contain(text).and.not.to.contain(email);
  });

  it('counts towards the login limit of the client’s address', async () => {
    const limited = await sharedWorld(LIMITED_LOGINS);
    const headers = { 'x-forwarded-for': '198.51.100.20' };
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      statuses.push((await limited.anybody.post(EXCHANGE, { assertion: 'x' }, { headers })).status);
    }
    expect(statuses).to.deep.equal([401, 401, 401, 429, 429]);
  });

  it('remembers used assertions after kill -9 right after the answer', async () => {
    const own = await startWorld();
    const partner = await newPartner(own);
    const texts = Array.from({ length: 8 }, () => assertion(partner.id));
    const answered: string[] = [];
    // The kill follows an answer at once, while others are being given.
    await Promise.all(
      texts.map(async (text) => {
        const answer = await exchange(text, own.anybody).catch(() => undefined);
        if (answer === undefined) return;
        answer.as(exchanged);
        answered.push(text);
        own.server.signal('SIGKILL');
      }),
    );
    expect(answered).not.to.deep.equal([]);
    await own.restart();
    for (const text of answered) {
      expect((await exchange(text, own.anybody)).error).to.equal('invalid_credential');
    }
    (await exchange(assertion(partner.id), own.anybody)).as(exchanged);
  });

  describe('Partner tokens', () => {
    it('minted elsewhere with the key are accepted', async () => {
      const me = (await north.api.get(`${PORTAL}/me`)).as(session);
      expect(me).to.deep.include({ partner: { id: north.id, name: `Partner ${north.id}` } });
      expect((await north.api.get(PROFILE)).status).to.equal(200);
    });

    it('need a permission for billing routes only', async () => {
      for (const permissions of [[], ['other'], ['Partner-Billing'], ['partner-billing ']]) {
        const api = world.anybody.with(partnerToken(north.id, { permissions }));
        expect((await api.get(`${PORTAL}/me`)).as(session).permissions).to.deep.equal(permissions);
        for (const answer of [await api.get(PROFILE), await api.request('PUT', PROFILE, '{')]) {
          expect([answer.status, answer.error]).to.deep.equal([403, 'partner_permission_missing']);
        }
      }
    });

    it('of an unknown partner are refused', async () => {
      for (const id of ['nobody', 'a.b-c', '', 'platform']) {
        const api = world.anybody.with(partnerToken(id));
        for (const path of [`${PORTAL}/me`, PROFILE]) {
          const answer = await api.get(path);
          expect([answer.status, answer.error]).to.deep.equal([403, 'partner_permission_missing']);
        }
      }
    });

    const own = KEYS.PARTNER_JWT_SECRET;
    const claims = () => ({
      sub: 'nora',
      email: 'n@partner.example',
      partner_id: north.id,
      permissions: [BILLING],
    });
    const timed = () => ({ ...claims(), iat: now(), exp: now() + 3600 });
    const WRONG: readonly (readonly [string, () => string])[] = [
      ['the exchange’s key', () => partnerToken(north.id, {}, KEYS.PARTNER_EXCHANGE_SECRET)],
      ['the tenants’ key', () => partnerToken(north.id, {}, KEYS.TENANT_JWT_SECRET)],
      ['an assertion itself', () => assertion(north.id)],
      ['no iat', () => partnerToken(north.id, { iat: undefined })],
      ['no exp', () => partnerToken(north.id, { exp: undefined })],
      ['a life of an hour and two minutes', () => partnerToken(north.id, { exp: now() + 3720 })],
      ['iat two minutes ahead', () => partnerToken(north.id, { iat: now() + 120, exp: now() + 600 })],
      ['no permissions', () => partnerToken(north.id, { permissions: undefined })],
      ['permissions that are a text', () => partnerToken(north.id, { permissions: BILLING })],
      ['no sub', () => partnerToken(north.id, { sub: undefined })],
      ['no partner', () => partnerToken(north.id, { partner_id: undefined })],
      [
        'a second partner_id',
        () => rawToken(HEADER, `${JSON.stringify(timed()).slice(0, -1)},"partner_id":"other"}`, own),
      ],
    ];
    for (const [what, make] of WRONG) {
      it(`are refused with ${what}`, async () => {
        const answer = await world.anybody.with(make()).get(`${PORTAL}/me`);
        expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
      });
    }

    it('expire', async () => {
      const token = signed({ ...claims(), iat: now() - 3600, exp: now() - 1 }, own);
      expect((await world.anybody.with(token).get(`${PORTAL}/me`)).error).to.equal('credential_expired');
      expect((await world.anybody.get(`${PORTAL}/me`)).error).to.equal('unauthenticated');
    });

    it('are refused by tenants and the platform, and their tokens by the portal', async () => {
      const home = await world.tenant();
      for (const path of ['/api/v1/tenant/me', '/api/v1/tenant/users', '/super/tenants']) {
        expect((await north.api.get(path)).error).to.equal('invalid_credential');
      }
      for (const api of [home.admin.api, world.platform]) {
        for (const path of [`${PORTAL}/me`, PROFILE]) {
          expect((await api.get(path)).error).to.equal('invalid_credential');
        }
      }
    });
  });
});
