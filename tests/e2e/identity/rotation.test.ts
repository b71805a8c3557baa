import { expect } from 'chai';
import type { Client } from '../../support/client.ts';
import { assertion, EXCHANGE, exchanged, newPartner, PORTAL, partnerToken } from '../../support/partners.ts';
import { KEYS, ROOT, startAndExit } from '../../support/server.ts';
import { login } from '../../support/shapes.ts';
import { platformClaims, signed, tenantClaims } from '../../support/tokens.ts';
import { endWorld, type Member, startWorld, USERS, type World } from '../../support/world.ts';

const fresh = (name: string): string => `the-new-${name}-key-0123456789-0123456789`;
const NEW = {
  TENANT_JWT_SECRET: fresh('tenant'),
  PLATFORM_JWT_SECRET: fresh('platform'),
  PARTNER_JWT_SECRET: fresh('partner'),
  PARTNER_EXCHANGE_SECRET: fresh('exchange'),
};
const OLD = {
  TENANT_JWT_SECRET_PREVIOUS: KEYS.TENANT_JWT_SECRET,
  PLATFORM_JWT_SECRET_PREVIOUS: KEYS.PLATFORM_JWT_SECRET,
  PARTNER_JWT_SECRET_PREVIOUS: KEYS.PARTNER_JWT_SECRET,
  PARTNER_EXCHANGE_SECRET_PREVIOUS: KEYS.PARTNER_EXCHANGE_SECRET,
};
const NO_OLD = Object.fromEntries(Object.keys(OLD).map((name) => [name, undefined]));

/** Decisions, section 3: one secret per family, with an overlap while it is replaced. */
describe('A rotation of the signing keys', () => {
  let world: World;
  let ada: Member;
  let partnerId: string;
  const PASSWORD = 'the-password-of-ada';

  before(async () => {
    // Of one family, the new key is accepted already.
    world = await startWorld({ env: { PLATFORM_JWT_SECRET_PREVIOUS: NEW.PLATFORM_JWT_SECRET } });
    const tenant = await world.tenant();
    ada = await tenant.person('Ada', 'admin');
    await tenant.admin.api.patch(`${USERS}/${ada.id}`, { password: PASSWORD });
    partnerId = (await newPartner(world)).id;
  });
  after(endWorld);

  const restart = async (env: Readonly<Record<string, string | undefined>>): Promise<void> => {
    await world.server.stop();
    await world.restart(env);
  };

  type Keys = { readonly [name in keyof typeof NEW]: string };
  const EXPECTED = ['tenant', 'platform', 'partner', 'exchange'];

  /** The families whose credentials with these secrets are accepted. */
  const accepted = async (keys: Keys): Promise<string[]> => {
    const { anybody } = world;
    const asks: Readonly<Record<string, () => Promise<{ status: number; error: string | undefined }>>> = {
      tenant: () => anybody.with(signed(tenantClaims(ada), keys.TENANT_JWT_SECRET)).get('/api/v1/tenant/me'),
      platform: () => anybody.with(signed(platformClaims(), keys.PLATFORM_JWT_SECRET)).get('/super/tenants'),
      partner: () => anybody.with(partnerToken(partnerId, {}, keys.PARTNER_JWT_SECRET)).get(`${PORTAL}/me`),
      exchange: () =>
        anybody.post(EXCHANGE, { assertion: assertion(partnerId, {}, keys.PARTNER_EXCHANGE_SECRET) }),
    };
    const found: string[] = [];
    for (const [family, ask] of Object.entries(asks)) {
      const { status, error } = await ask();
      if (status === 200) found.push(family);
      else expect([status, error], family).to.deep.equal([401, 'invalid_credential']);
    }
    return found;
  };

  /** Clients with tokens that the server signs now. */
  const given = async (): Promise<Client[]> => {
    const { anybody } = world;
    const person = { email: ada.email, password: PASSWORD, tenant: ada.tenantId };
    const tenant = (await anybody.post('/auth/login', person)).as(login).token;
    const root = await anybody.post('/super/auth/login', { email: ROOT.email, password: ROOT.password });
    const platform = exchanged.shape.token.parse((root.json as { token: unknown }).token);
    return [tenant, platform].map((token) => anybody.with(token));
  };
  const open = async ([tenant, platform]: readonly Client[]): Promise<readonly (number | undefined)[]> => [
    (await tenant?.get('/api/v1/tenant/me'))?.status,
    (await platform?.get('/super/tenants'))?.status,
  ];

  it('of one family does not affect the others', async () => {
    expect(await accepted(KEYS)).to.deep.equal(EXPECTED);
    expect(await accepted(NEW)).to.deep.equal(['platform']);
    const mixed = Object.fromEntries(Object.keys(NEW).map((name) => [name, NEW.PLATFORM_JWT_SECRET]));
    expect(await accepted({ ...NEW, ...mixed })).to.deep.equal(['platform']);
  });

  it('invalidates no token: the previous secret verifies until it is removed', async () => {
    expect(await accepted(KEYS)).to.deep.equal(EXPECTED);
    const before = await given();
    expect(await open(before)).to.deep.equal([200, 200]);

    await restart({ ...NEW, ...OLD });
    expect(await accepted(KEYS)).to.deep.equal(EXPECTED);
    expect(await accepted(NEW)).to.deep.equal(EXPECTED);
    expect(await open(before)).to.deep.equal([200, 200]);
    const during = await given();
    expect(await open(during)).to.deep.equal([200, 200]);

    await restart({ ...NEW, ...NO_OLD });
    expect(await accepted(KEYS)).to.deep.equal([]);
    expect(await accepted(NEW)).to.deep.equal(EXPECTED);
    expect(await open(before)).to.deep.equal([401, 401]);
    expect(await open(during), 'signed with the new key from the first moment on').to.deep.equal([200, 200]);
  });

  // Further previous keys that are refused: `tests/infrastructure/config.test.ts`.
  it('refuses to start with a previous key that is another family’s', async () => {
    const env = { PARTNER_EXCHANGE_SECRET_PREVIOUS: KEYS.PARTNER_JWT_SECRET };
    const { code, output } = await startAndExit(env);
    expect(code).to.equal(1);
    expect(output).to.contain('PARTNER_EXCHANGE_SECRET_PREVIOUS must differ from PARTNER_JWT_SECRET.');
    for (const value of Object.values(KEYS)) expect(output).not.to.contain(value);
  });
});
