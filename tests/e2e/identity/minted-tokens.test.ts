import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { activeExtension, bearerOf, loadExtension } from '../../support/delegation.ts';
import { startProvider, stopProviders } from '../../support/identity-provider.ts';
import { impersonate } from '../../support/impersonate.ts';
import { assertion, BILLING, EXCHANGE, exchanged, newPartner, PORTAL } from '../../support/partners.ts';
import { KEYS, ROOT } from '../../support/server.ts';
import { login } from '../../support/shapes.ts';
import { now, signed } from '../../support/tokens.ts';
import { endWorld, sharedWorld, type TestTenant, USERS, type World } from '../../support/world.ts';
import { testTokenOf } from './matrix-support.ts';
import { callbackOf, signIn, tenantAt } from './sso-support.ts';

const tenantShape = {
  sub: z.string().min(1),
  email: z.string().includes('@'),
  tenant_id: z.string(),
  role: z.enum(['admin', 'operator']),
};
const times = { iat: z.int(), exp: z.int() };

interface MintedKind {
  readonly kind: string;
  readonly mint: () => Promise<string>;
  readonly key: string;
  /** The documented claims, without times. */
  readonly claims: z.ZodRawShape;
  readonly seconds: number;
  /** Path that answers 200 to the token. */
  readonly opens: string;
}

const headerOf = z.looseObject({ session: z.literal(0).optional() });

/** Specification, Authentication 1 to 4 and 7: every kind of JWT that the server mints. */
describe('Each JWT that the server mints', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
  });
  after(async () => {
    await stopProviders();
    await endWorld();
  });

  const bySignIn = async (): Promise<string> => {
    const account = { email: `ada@${tenant.id.replace('_', '-')}.example`, password: 'a-password-of-ada' };
    await tenant.admin.api.post(USERS, { ...account, display_name: 'Ada', role: 'operator' });
    return (await world.anybody.post('/auth/login', account)).as(login).token;
  };
  const bySingleSignOn = async (): Promise<string> => {
    const provider = await startProvider({ redirectUri: callbackOf(world) });
    const home = await tenantAt(world, provider);
    const account = { sub: 'ada-1', email: 'ada@corp.example', email_verified: true, name: 'Ada' };
    return login.parse((await signIn(world, provider, home, account)).json).token;
  };
  const asPlatformAdmin = async (): Promise<string> =>
    (await world.anybody.post('/super/auth/login', ROOT)).as(bearerOf(28_800)).token;
  const ofExtension = async (): Promise<string> => {
    await activeExtension(tenant.admin.api, 'crm', { scopes: ['data:read', 'files:read'] });
    return loadExtension(tenant.admin.api, 'crm');
  };
  const ofPartner = async (): Promise<string> => {
    const { id } = await newPartner(world);
    return (await world.anybody.post(EXCHANGE, { assertion: assertion(id) })).as(exchanged).token;
  };

  const ME = '/api/v1/tenant/me';
  const tenantKey = KEYS.TENANT_JWT_SECRET;
  const KINDS: readonly MintedKind[] = [
    {
      kind: 'tenant user JWT, by login',
      mint: bySignIn,
      key: tenantKey,
      claims: tenantShape,
      seconds: 86_400,
      opens: ME,
    },
    {
      kind: 'tenant user JWT, by single sign-on',
      mint: bySingleSignOn,
      key: tenantKey,
      claims: tenantShape,
      seconds: 86_400,
      opens: ME,
    },
    {
      kind: 'platform admin JWT',
      mint: asPlatformAdmin,
      key: KEYS.PLATFORM_JWT_SECRET,
      claims: { sub: z.string(), email: z.literal(ROOT.email), role: z.literal('super_admin') },
      seconds: 28_800,
      opens: '/super/tenants',
    },
    {
      kind: 'impersonation JWT',
      mint: async () => (await impersonate(world, tenant.id)).token,
      key: tenantKey,
      claims: { ...tenantShape, impersonated_by: z.literal('operations@platform.example') },
      seconds: 3600,
      opens: ME,
    },
    {
      kind: 'extension JWT',
      mint: ofExtension,
      key: tenantKey,
      claims: {
        ...tenantShape,
        ext_id: z.literal('crm'),
        scopes: z.tuple([z.literal('data:read'), z.literal('files:read')]),
      },
      seconds: 900,
      opens: '/api/v1/tenant/entities',
    },
    {
      kind: 'API test token JWT',
      mint: () => testTokenOf(tenant.admin),
      key: tenantKey,
      claims: { ...tenantShape, role: z.literal('admin'), token_use: z.literal('api_test') },
      seconds: 3600,
      opens: ME,
    },
    {
      kind: 'partner-portal JWT',
      mint: ofPartner,
      key: KEYS.PARTNER_JWT_SECRET,
      claims: {
        sub: z.string(),
        email: z.string(),
        partner_id: z.string(),
        permissions: z.tuple([z.literal(BILLING)]),
      },
      seconds: 3600,
      opens: `${PORTAL}/me`,
    },
  ];

  for (const { kind, mint, key, claims, seconds, opens } of KINDS) {
    it(`${kind}: has the expected HS256 signature, and exactly the documented claims and lifetime`, async () => {
      const token = await mint();
      const [header = '', payload = '', signature = ''] = token.split('.');
      const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
      // The specification fixes the claims, so the header holds `session`: how often the person's sessions were ended.
      const { session: _, ...rest } = headerOf.parse(read(header));
      expect(rest).to.deep.equal({ alg: 'HS256', typ: 'JWT' });
      const mac = createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url');
      expect(signature === mac, 'the signature').to.equal(true);
      const { iat, exp, ...own } = z.strictObject({ ...claims, ...times }).parse(read(payload));
      expect(exp - iat).to.equal(seconds);
      expect(iat).to.be.within(now() - 30, now() + 1);

      expect((await world.anybody.with(token).get(opens)).status).to.equal(200);
      // A token minted elsewhere with these claims is accepted with this key, and refused with any other secret.
      const again = signed({ ...own, iat: now(), exp: now() + 60 }, key);
      expect((await world.anybody.with(again).get(opens)).status).to.equal(200);
      for (const other of Object.values(KEYS).filter((one) => one !== key)) {
        const answer = await world.anybody.with(signed({ ...own, iat, exp }, other)).get(opens);
        expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
      }
    });
  }
});
