import { expect } from 'chai';
import { z } from 'zod';
import { SCOPES, type Scope } from '../../../domain/identity/scopes.ts';
import type { Answer } from '../../support/client.ts';
import { extensionToken, mintToken } from '../../support/delegation.ts';
import { newPartner, partnerToken } from '../../support/partners.ts';
import { tenant as tenantShape } from '../../support/shapes.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { type Kind, oneOfEach, requestTo, servedRoutes } from './matrix-support.ts';
import { PLANNED, type Rule, TABLE, type Table } from './matrix-table.ts';

type TenantRule = Rule & { family: 'tenant' };
/** Expected status, code and `details.required`; `in` for an allowed caller. */
type Outcome = 'in' | readonly [status: number, error: string, required?: string];

const STRANGER: Outcome = [401, 'invalid_credential'];
const DELEGATED: Outcome = [403, 'delegated_credential_refused'];

const tenantOnly = (rule: Rule, of: (rule: TenantRule) => Outcome): Outcome =>
  rule.family === 'tenant' ? of(rule) : STRANGER;
const familyOnly = (rule: Rule, family: Rule['family']): Outcome =>
  rule.family === family ? 'in' : STRANGER;
const person = (role: 'admin' | 'operator') => (rule: Rule) =>
  tenantOnly(rule, (row) => (row.role === 'any' || role === 'admin' ? 'in' : [403, 'admin_required']));
/** @param held `with`: the credential has the required scope. `without`: it has all other scopes but `admin:*` */
const delegated = (kind: 'api_token' | 'extension', held: 'with' | 'without') => (rule: Rule) =>
  tenantOnly(rule, (row) => {
    if (row.scope !== undefined) return held === 'with' ? 'in' : [403, 'scope_missing', row.scope];
    const refused = kind === 'api_token' ? row.apiToken : row.mints === 'session' ? true : undefined;
    return refused === undefined ? [403, 'tenant_session_required'] : DELEGATED;
  });

/** Sends each of the eight kinds of credential, and no credential, to each route of the document. */
describe('Every route and every kind of credential', () => {
  let world: World;
  let home: TestTenant;
  /** A tenant without ledger and assistant. */
  let plain: TestTenant;
  let operator: Member;
  let routes: string[];
  let credentials: Record<Kind, string>;
  /** Token of a partner without the permission for billing. */
  let bare: string;
  /**
   * For each scope: an API token and an extension's token with only this scope, and one of each with all scopes except
   * this one and `admin:*`.
   */
  const byScope = new Map<Scope, Record<'api_token' | 'extension', Record<'with' | 'without', string>>>();

  before(async function () {
    this.timeout(40_000);
    world = await sharedWorld();
    [home, plain] = [await world.tenant(), await world.tenant()];
    const entitled = { plan: 'enterprise', entitlements: { ledger: true, assistant: true } };
    (await world.platform.patch(`/super/tenants/${home.id}`, entitled)).as(tenantShape);
    operator = await home.person('Olga');
    credentials = await oneOfEach(world, home);
    bare = partnerToken((await newPartner(world)).id, { permissions: ['partner'] });
    for (const scope of SCOPES) {
      const scopes = { with: [scope], without: SCOPES.filter((one) => one !== scope && one !== 'admin:*') };
      const minted = async (held: 'with' | 'without') =>
        (await mintToken(home.admin.api, { scopes: scopes[held] })).token;
      const loaded = (held: 'with' | 'without') =>
        extensionToken(home.admin, 'all', { scopes: scopes[held] });
      byScope.set(scope, {
        api_token: { with: await minted('with'), without: await minted('without') },
        extension: { with: loaded('with'), without: loaded('without') },
      });
    }
    routes = await servedRoutes(world);
    expect(routes.length).to.be.greaterThan(60);
  });
  after(endWorld);

  const rowsOf: Table = { ...PLANNED, ...TABLE };

  it('has a row for each route of the document, and no other row', () => {
    expect(
      routes.filter((route) => rowsOf[route] === undefined),
      'without a row',
    ).to.deep.equal([]);
    expect(
      Object.keys(TABLE).filter((route) => !routes.includes(route)),
      'no route',
    ).to.deep.equal([]);
    expect(Object.keys(PLANNED).filter((route) => route in TABLE)).to.deep.equal([]);
  });

  const scopeOf = (rule: Rule): Scope => (rule.family === 'tenant' ? rule.scope : undefined) ?? 'admin:*';
  const delegatedToken =
    (kind: 'api_token' | 'extension', held: 'with' | 'without') =>
    (rule: Rule): string =>
      byScope.get(scopeOf(rule))?.[kind][held] ?? '';

  const send = (route: string, token: string | undefined): Promise<Answer> => {
    const { method, path, body } = requestTo(route);
    return world.anybody.with(token).request(method, path, body, { redirect: 'manual' });
  };

  const seen = ({ status, error, json }: Answer): Outcome => {
    if (error === undefined || ![401, 402, 403].includes(status)) return 'in';
    const details = z.object({ details: z.object({ required: z.string() }) }).safeParse(json).data?.details;
    return details === undefined ? [status, error] : [status, error, details.required];
  };

  /** Sends the credential to every route; returns routes whose answer differs from the row. */
  const wrongRoutes = async (
    tokenFor: (rule: Rule) => string | undefined,
    expected: (rule: Rule) => Outcome,
  ): Promise<unknown[]> => {
    const wrong: unknown[] = [];
    for (const route of routes) {
      const rule = rowsOf[route];
      if (rule === undefined) continue;
      const answer = await send(route, tokenFor(rule));
      if (rule.family === 'public') {
        // A public route ignores a bearer, valid or not.
        const bare = await send(route, undefined);
        if (bare.status !== answer.status || bare.error !== answer.error) wrong.push([route, answer.status]);
        continue;
      }
      const [got, wanted] = [seen(answer), expected(rule)];
      if (JSON.stringify(got) !== JSON.stringify(wanted)) wrong.push([route, got, wanted]);
    }
    return wrong;
  };

  const KINDS: readonly (readonly [string, (rule: Rule) => string | undefined, (rule: Rule) => Outcome])[] = [
    ['nobody', () => undefined, () => [401, 'unauthenticated']],
    ['something that is no credential', () => 'x.y.z', () => STRANGER],
    ['an admin’s tenant user JWT', () => home.admin.token, person('admin')],
    ['an operator’s tenant user JWT', () => operator.token, person('operator')],
    ['a platform admin JWT', () => credentials.platform, (rule) => familyOnly(rule, 'platform')],
    [
      'an impersonation JWT',
      () => credentials.impersonation,
      (rule) => tenantOnly(rule, (row) => (row.mints === 'keys' ? [403, 'forbidden'] : 'in')),
    ],
    [
      'an extension JWT as it is loaded, with every scope',
      () => credentials.extension,
      delegated('extension', 'with'),
    ],
    ['an extension JWT with the scope', delegatedToken('extension', 'with'), delegated('extension', 'with')],
    [
      'an extension JWT with every scope but the right one',
      delegatedToken('extension', 'without'),
      delegated('extension', 'without'),
    ],
    ['a public-link access token', () => credentials.link, () => STRANGER],
    ['an API token with the scope', delegatedToken('api_token', 'with'), delegated('api_token', 'with')],
    [
      'an API token with every scope but the right one',
      delegatedToken('api_token', 'without'),
      delegated('api_token', 'without'),
    ],
    [
      'an API test token JWT',
      () => credentials.test,
      (rule) => tenantOnly(rule, (row) => (row.mints === 'session' ? DELEGATED : 'in')),
    ],
    ['a partner-portal JWT', () => credentials.partner, (rule) => familyOnly(rule, 'partner')],
    [
      'a partner-portal JWT without the permission',
      () => bare,
      (rule) =>
        rule.family === 'partner' && rule.billing
          ? [403, 'partner_permission_missing']
          : familyOnly(rule, 'partner'),
    ],
  ];

  for (const [kind, tokenFor, expected] of KINDS) {
    it(`answers ${kind} as the table says`, async () => {
      expect(await wrongRoutes(tokenFor, expected)).to.deep.equal([]);
    }).timeout(40_000);
  }

  it('checks the ledger entitlement before the kind of credential, the assistant entitlement after it', async () => {
    const api = await mintToken(plain.admin.api, { scopes: ['admin:*'] });
    for (const [token, isPerson] of [
      [plain.admin.token, true],
      [(await plain.person('Otto')).token, true],
      [api.token, false],
    ] as const) {
      for (const route of routes) {
        const rule = rowsOf[route];
        if (rule?.family !== 'tenant' || rule.entitlement === undefined) continue;
        const refused = isPerson ? [403, 'assistant_not_entitled'] : [403, 'tenant_session_required'];
        const wanted = rule.entitlement === 'ledger' ? [402, 'not_entitled'] : refused;
        expect(seen(await send(route, token)), route).to.deep.equal(wanted);
      }
    }
  });
});
