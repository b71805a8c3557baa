import { expect } from 'chai';
import { KEYS } from '../../support/server.ts';
import {
  now,
  platformClaims,
  platformToken,
  rawToken,
  signed,
  tenantClaims,
  tenantToken,
} from '../../support/tokens.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';

const DAY = 86_400;
const HEADER = { alg: 'HS256', typ: 'JWT' };

describe('Invalid tokens', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada', 'admin');
  });
  after(endWorld);

  const me = (token: string) => world.anybody.with(token).get('/api/v1/tenant/me');
  const claims = () => tenantClaims(ada);
  const without = (name: string) =>
    Object.fromEntries(Object.entries(claims()).filter(([key]) => key !== name));
  const tenantKey = KEYS.TENANT_JWT_SECRET;
  const parts = (): [string, string, string] => {
    const [header = '', payload = '', signature = ''] = ada.token.split('.');
    return [header, payload, signature];
  };
  const payloadText = (extra: string): string => `${JSON.stringify(claims()).slice(0, -1)},${extra}}`;
  /** Another spelling of the same signature: the last of its 43 characters has two unused bits. */
  const respelled = (): string => {
    const last = ada.token.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const twin = alphabet[alphabet.indexOf(last) ^ 1] ?? '';
    return ada.token.slice(0, -1) + twin;
  };

  const REFUSED: readonly (readonly [string, () => string])[] = [
    ['a text that is no token', () => 'x'],
    ['two parts', () => parts().slice(0, 2).join('.')],
    ['four parts', () => `${ada.token}.x`],
    ['five parts', () => `${ada.token}.x.y`],
    ['an empty signature', () => `${parts()[0]}.${parts()[1]}.`],
    ['alg none', () => `${rawToken({ alg: 'none' }, claims(), 'x').split('.').slice(0, 2).join('.')}.`],
    ['alg nOnE with a signature', () => rawToken({ alg: 'nOnE', typ: 'JWT' }, claims(), tenantKey)],
    ['no alg', () => rawToken({ typ: 'JWT' }, claims(), tenantKey)],
    ['HS384', () => rawToken({ alg: 'HS384', typ: 'JWT' }, claims(), tenantKey, 'sha384')],
    ['HS512', () => rawToken({ alg: 'HS512', typ: 'JWT' }, claims(), tenantKey, 'sha512')],
    ['HS384 in the header alone', () => rawToken({ alg: 'HS384', typ: 'JWT' }, claims(), tenantKey)],
    ['RS256 in the header', () => rawToken({ alg: 'RS256', typ: 'JWT' }, claims(), tenantKey)],
    ['crit', () => rawToken({ ...HEADER, crit: ['x'], x: 1 }, claims(), tenantKey)],
    ['b64 false', () => rawToken({ ...HEADER, b64: false }, claims(), tenantKey)],
    ['the platform’s key', () => signed(claims(), KEYS.PLATFORM_JWT_SECRET)],
    ['the partners’ key', () => signed(claims(), KEYS.PARTNER_JWT_SECRET)],
    ['the exchange’s key', () => signed(claims(), KEYS.PARTNER_EXCHANGE_SECRET)],
    ['the master key', () => signed(claims(), KEYS.MASTER_KEY)],
    ['an empty key', () => signed(claims(), '')],
    ['a platform admin’s token', () => platformToken()],
    ['a platform admin’s claims with the tenants’ key', () => signed(platformClaims(), tenantKey)],
    [
      'a tampered payload',
      () => `${parts()[0]}.${Buffer.from(payloadText('"x":1')).toString('base64url')}.${parts()[2]}`,
    ],
    ['a signature spelled otherwise', respelled],
    ['a padded signature', () => `${ada.token}=`],
    [
      'a signature in plain base64',
      () => `${parts()[0]}.${parts()[1]}.${Buffer.from(parts()[2], 'base64url').toString('base64')}`,
    ],
    ['duplicate claims', () => rawToken(HEADER, payloadText('"role":"admin"'), tenantKey)],
    [
      'a duplicate tenant, escaped',
      () => rawToken(HEADER, payloadText('"tenant\\u005fid":"other"'), tenantKey),
    ],
    ['a payload that is a list', () => rawToken(HEADER, [claims()], tenantKey)],
    ['a payload that is no JSON', () => rawToken(HEADER, 'x', tenantKey)],
    ['no exp', () => signed(without('exp'), tenantKey)],
    ['no iat', () => signed(without('iat'), tenantKey)],
    ['no sub', () => signed(without('sub'), tenantKey)],
    ['no tenant', () => signed(without('tenant_id'), tenantKey)],
    ['no role', () => signed(without('role'), tenantKey)],
    ['no e-mail', () => signed(without('email'), tenantKey)],
    ['exp as a text', () => tenantToken(ada, { exp: String(now() + 60) })],
    ['a negative exp', () => tenantToken(ada, { exp: -1 })],
    [
      'an endless exp',
      () => rawToken(HEADER, JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400'), tenantKey),
    ],
    ['iat two minutes ahead', () => tenantToken(ada, { iat: now() + 120, exp: now() + 600 })],
    ['exp before iat', () => tenantToken(ada, { iat: now(), exp: now() - 10 })],
    ['a lifetime of a day and two minutes', () => tenantToken(ada, { iat: now(), exp: now() + DAY + 120 })],
    ['a long life that is nearly over', () => tenantToken(ada, { iat: now() - 10 * DAY, exp: now() + 60 })],
    [
      'an impersonation of two hours',
      () => tenantToken(ada, { impersonated_by: 'x@y.example', exp: now() + 7200 }),
    ],
    ['a test token of two hours', () => tenantToken(ada, { token_use: 'api_test', exp: now() + 7200 })],
    ['an unknown use', () => tenantToken(ada, { token_use: 'other', exp: now() + 60 })],
    [
      'the id of an unknown extension',
      () => tenantToken(ada, { ext_id: 'unknown', scopes: ['data:read'], exp: now() + 900 }),
    ],
    ['the role super_admin', () => tenantToken(ada, { role: 'super_admin' })],
    ['the role Admin', () => tenantToken(ada, { role: 'Admin' })],
    ['an unknown tenant', () => tenantToken(ada, { tenant_id: 'nowhere' })],
    ['the platform as a tenant', () => tenantToken(ada, { tenant_id: 'platform' })],
    ['a tenant that is no slug', () => tenantToken(ada, { tenant_id: `${tenant.id}.user-x` })],
    ['an empty sub', () => tenantToken(ada, { sub: '' })],
    ['a sub with a line break', () => tenantToken(ada, { sub: 'a\nb' })],
    ['a number as sub', () => tenantToken(ada, { sub: 7 })],
    ['10 KB', () => tenantToken(ada, { more: 'x'.repeat(10_000) })],
    [
      'a forged signature of an expired token',
      () => signed({ ...claims(), iat: now() - 100, exp: now() - 1 }, 'another key'),
    ],
  ];

  for (const [what, make] of REFUSED) {
    it(`are refused: ${what}`, async () => {
      const answer = await me(make());
      expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
    });
  }
});
