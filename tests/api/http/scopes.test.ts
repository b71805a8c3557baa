import { expect } from 'chai';
import { checkAccess } from '../../../api/http/authorization.ts';
import type { Access } from '../../../api/http/route.ts';
import { adminRoute, personRoute, scopedRoute } from '../../../api/routes/route-kinds.ts';
import type {
  ApiTokenPrincipal,
  ExtensionPrincipal,
  Principal,
  TenantRights,
  UserPrincipal,
} from '../../../application/core/commands/principal.ts';
import type { ErrorCode } from '../../../domain/core/errors.ts';
import { SCOPES, type Scope } from '../../../domain/identity/scopes.ts';
import { refusal } from '../../support/given.ts';

/**
 * Routes that scopes allow, and routes that they never allow (specification, Enforcement rules; decisions, section
 * 3).
 */

const rights: TenantRights = { plan: 'enterprise', entitlements: { ledger: true, assistant: true } };
const common = { tenantId: 'acme', rights };
const user = (own: Partial<UserPrincipal> = {}): UserPrincipal => ({
  kind: 'user',
  ...common,
  userId: 'ann',
  email: 'ann@example.com',
  role: 'admin',
  ...own,
});
const apiToken = (...scopes: Scope[]): ApiTokenPrincipal => ({
  kind: 'api_token',
  ...common,
  tokenId: 'one',
  scopes,
});
const extension = (...scopes: Scope[]): ExtensionPrincipal => ({
  kind: 'extension',
  ...common,
  extId: 'crm',
  userId: 'ann',
  email: 'ann@example.com',
  role: 'admin',
  scopes,
});

const rest = {
  method: 'get',
  path: '/api/v1/tenant/things',
  operationId: 'things',
  summary: 'Things',
  description: 'A route of the tests.',
  tag: 'Things',
  responses: { 204: null },
  handle: async () => ({ status: 204 }),
} as const;
type Guarded = Access & { kind: 'principals' };
const guarded = ({ access }: { access: Access }): Guarded => {
  if (access.kind === 'public') throw new Error('a public route');
  return access;
};

const outcome = (access: Guarded, principal: Principal): ErrorCode | 'in' => {
  try {
    checkAccess(access, principal);
    return 'in';
  } catch {
    return refusal(() => checkAccess(access, principal)).code;
  }
};

describe('Scopes', () => {
  const routeOf = (scope: Scope) => guarded(scopedRoute({ ...rest, scope }));

  it('allow exactly their own routes; the wildcard allows all', () => {
    for (const held of SCOPES) {
      for (const required of SCOPES) {
        const wanted = held === required || held === 'admin:*' ? 'in' : 'scope_missing';
        for (const principal of [apiToken(held), extension(held)]) {
          expect(outcome(routeOf(required), principal), `${held} for ${required}`).to.equal(wanted);
        }
      }
    }
  });

  it('are named in the error when missing', () => {
    for (const principal of [apiToken('data:write'), extension('data:write'), apiToken(), extension()]) {
      const error = refusal(() => checkAccess(routeOf('data:read'), principal));
      expect([error.code, error.details]).to.deep.equal(['scope_missing', { required: 'data:read' }]);
    }
  });

  it('are not required of persons, whose role applies instead', () => {
    const admins = guarded(scopedRoute({ ...rest, scope: 'workflow:admin', roles: ['admin'] }));
    expect(outcome(admins, user())).to.equal('in');
    expect(outcome(admins, user({ tokenUse: 'api_test' }))).to.equal('in');
    expect(outcome(admins, user({ role: 'operator' }))).to.equal('admin_required');
    // For API tokens and extensions, the scope replaces the role.
    expect(outcome(admins, apiToken('workflow:admin'))).to.equal('in');
    expect(outcome(admins, { ...extension('workflow:admin'), role: 'operator' })).to.equal('in');
  });

  it('allow no route that is for persons only', () => {
    for (const access of [guarded(personRoute(rest)), guarded(adminRoute(rest))]) {
      for (const principal of [apiToken('admin:*'), extension('admin:*')]) {
        expect(outcome(access, principal)).to.equal('tenant_session_required');
      }
    }
  });

  it('allow no route that refuses API tokens', () => {
    const access = guarded(adminRoute({ ...rest, refuses: ['api_token', 'impersonation'] }));
    expect(outcome(access, apiToken('admin:*'))).to.equal('delegated_credential_refused');
    expect(outcome(access, extension('admin:*'))).to.equal('tenant_session_required');
    expect(outcome(access, user())).to.equal('in');
    expect(outcome(access, user({ tokenUse: 'api_test' }))).to.equal('in');
    expect(outcome(access, user({ impersonatedBy: 'root@example.com' }))).to.equal('forbidden');
    expect(outcome(access, user({ role: 'operator', impersonatedBy: 'root@example.com' }))).to.equal(
      'admin_required',
    );
  });

  it('do not allow minting a test token, and a test token of any role may not mint one either', () => {
    const access = guarded(adminRoute({ ...rest, refuses: ['api_token', 'extension', 'test_token'] }));
    for (const principal of [
      apiToken('admin:*'),
      extension('admin:*'),
      user({ tokenUse: 'api_test' }),
      user({ tokenUse: 'api_test', role: 'operator' }),
    ]) {
      expect(outcome(access, principal)).to.equal('delegated_credential_refused');
    }
    expect(outcome(access, user({ impersonatedBy: 'root@example.com' }))).to.equal('in');
  });
});
