import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { API_TOKENS, extensionToken, mintToken } from '../../support/delegation.ts';
import { KEYS } from '../../support/server.ts';
import { user } from '../../support/shapes.ts';
import { now, platformClaims, rawToken, signed, tenantClaims, tenantToken } from '../../support/tokens.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';

const ME = '/api/v1/tenant/me';
const HEADER = { alg: 'HS256', typ: 'JWT' };
const KEY = KEYS.TENANT_JWT_SECRET;

/** Cases that `refused-tokens.test.ts` lacks: headers of tokens, unusual claims, and the contents of refusals. */
describe('Claims and headers of tokens', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada', 'admin');
  });
  after(endWorld);

  const me = (token: string): Promise<Answer> => world.anybody.with(token).get(ME);
  const coded = ({ status, error }: Answer) => [status, error];

  const ASKED_FOR: readonly Readonly<Record<string, unknown>>[] = [
    { kid: '../../../../dev/null' },
    { kid: '/dev/null' },
    { kid: "' UNION SELECT 'x" },
    { kid: ['x'] },
    { kid: 'x'.repeat(4000) },
    { jku: 'https://evil.example/keys' },
    { x5u: 'https://evil.example/cert' },
    { jwk: { kty: 'oct', k: Buffer.from('x').toString('base64url') } },
    { x5c: ['MIIB'] },
    { cty: 'JWT' },
    { zip: 'DEF' },
    { typ: 'at+jwt' },
  ];
  it('select no key: headers are ignored, whether our key or an attacker’s key has signed', async () => {
    for (const own of ASKED_FOR) {
      const header = { ...HEADER, ...own };
      for (const key of ['x', '', '\0', KEYS.MASTER_KEY]) {
        const answer = await me(rawToken(header, tenantClaims(ada), key));
        expect(coded(answer), JSON.stringify(own).slice(0, 60)).to.deep.equal([401, 'invalid_credential']);
      }
      const ours = await me(rawToken(header, tenantClaims(ada), KEY));
      expect(ours.as(user.loose()).id).to.equal(ada.id);
    }
  });

  const withText = (edit: (text: string) => string): string =>
    rawToken(HEADER, edit(JSON.stringify(tenantClaims(ada))), KEY);
  const behind = (extra: string): string => withText((text) => `${text.slice(0, -1)},${extra}}`);

  for (const [what, make] of [
    ['nbf in the future', () => tenantToken(ada, { nbf: now() + 300 })],
    ['nbf as a text', () => tenantToken(ada, { nbf: 'now' })],
    ['a fraction as exp', () => tenantToken(ada, { exp: now() + 0.5 })],
    ['a fraction as iat', () => tenantToken(ada, { iat: now() - 0.5 })],
    ['an exp beyond 2^53', () => withText((text) => text.replace(/"exp":\d+/, '"exp":9007199254740993'))],
    ['null as exp', () => tenantToken(ada, { exp: null })],
    ['a list as exp', () => tenantToken(ada, { exp: [now() + 60] })],
    ['a list as tenant', () => tenantToken(ada, { tenant_id: [ada.tenantId] })],
    ['a list as role', () => tenantToken(ada, { role: ['admin'] })],
    ['an object as sub', () => tenantToken(ada, { sub: { id: ada.id } })],
    ['the tenant in capitals', () => tenantToken(ada, { tenant_id: ada.tenantId.toUpperCase() })],
    ['a tenant with a NUL behind it', () => tenantToken(ada, { tenant_id: `${ada.tenantId}\0` })],
    ['a sub with a slash', () => tenantToken(ada, { sub: '../x' })],
    [
      'the role in the prototype',
      () => withText((t) => t.replace('"role":"admin"', '"__proto__":{"role":"admin"}')),
    ],
    ['two issue times', () => behind(`"iat":${now()}`)],
    ['two subs', () => behind('"sub":"other"')],
    ['a test token’s mark twice', () => behind('"token_use":"api_test","token_use":"api_test"')],
    ['an impersonator that is no text', () => tenantToken(ada, { impersonated_by: true, exp: now() + 60 })],
    ['an empty impersonator', () => tenantToken(ada, { impersonated_by: '', exp: now() + 60 })],
    ['null as impersonator, for a day', () => tenantToken(ada, { impersonated_by: null })],
    ['null as the use, for a day', () => tenantToken(ada, { token_use: null })],
    ['an extension that is false', () => tenantToken(ada, { ext_id: false })],
    ['an extension that is 0', () => tenantToken(ada, { ext_id: 0, scopes: ['admin:*'] })],
    [
      'a platform admin’s claims beside a tenant',
      () => signed({ ...platformClaims(), tenant_id: ada.tenantId }, KEY),
    ],
    [
      'a lifetime that exceeds a day by more than the clock’s slack',
      () => tenantToken(ada, { iat: now() + 50, exp: now() + 50 + 86_400 + 61 }),
    ],
  ] as const) {
    it(`are refused with ${what}`, async () => {
      expect(coded(await me(make()))).to.deep.equal([401, 'invalid_credential']);
    });
  }

  it('may nest a thousand levels, which are ignored', async () => {
    const deep = `"more":${'['.repeat(1000)}${']'.repeat(1000)}`;
    expect((await me(behind(deep))).status).to.be.oneOf([200, 401]);
    expect(coded(await me(rawToken(HEADER, '['.repeat(3000), KEY)))).to.deep.equal([
      401,
      'invalid_credential',
    ]);
  });

  it('of an extension cannot be replaced by a person’s under the same signature', async () => {
    const [header = '', , signature = ''] = extensionToken(ada, 'crm').split('.');
    const payload = Buffer.from(JSON.stringify(tenantClaims(ada))).toString('base64url');
    expect(coded(await me(`${header}.${payload}.${signature}`))).to.deep.equal([401, 'invalid_credential']);
  });

  it('are refused with the same bytes for every reason', async () => {
    const { token: revoked, id } = await mintToken(ada.api);
    const { token: good } = await mintToken(ada.api);
    await ada.api.delete(`${API_TOKENS}/${id}`);
    const gone = await tenant.person('Gone');
    await ada.api.patch(`/api/v1/tenant/users/${gone.id}`, { status: 'deactivated' });
    const answers = await Promise.all(
      [
        'x',
        `svc_pat_${'0'.repeat(51)}`,
        `${good.slice(0, 16)}${'a'.repeat(43)}`,
        revoked,
        gone.token,
        tenantToken(ada, { tenant_id: 'nowhere' }),
        signed(tenantClaims(ada), 'another key'),
        signed({ ...tenantClaims(ada), iat: now() - 100, exp: now() - 1 }, 'another key'),
        world.platform.token ?? '',
      ].map(me),
    );
    const visible = answers.map(({ status, text, headers }) => ({
      status,
      text,
      headers: [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name)),
    }));
    for (const each of visible) expect(each).to.deep.equal(visible[0]);
    expect(visible[0]?.status).to.equal(401);
  });
});
