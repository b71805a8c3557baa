import { DomainError, tenantSuspended } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import type { RegisteredUser } from '../../domain/identity/user.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import {
  PLATFORM_TOKEN_SECONDS,
  type PlatformClaims,
  TENANT_TOKEN_SECONDS,
  type TenantClaims,
} from './authentication-claims.ts';
import type { Directory } from './directory.ts';
import type { Identity, UserView } from './identity.ts';

export interface Session {
  readonly token: string;
  readonly user: UserView;
  readonly tenantId: string;
}

/** The session of a person whose identity was checked. */
export const signIn = async (
  deps: { readonly identity: Identity; readonly tenantTokens: Pick<TokenFamily<TenantClaims>, 'sign'> },
  tenantId: string,
  person: RegisteredUser,
): Promise<Session> => {
  const user = await deps.identity.view(person);
  const { id: sub, email, role } = user;
  const claims = { sub, email, tenant_id: tenantId, role, session: person.sessionEnds ?? 0 };
  return { token: deps.tenantTokens.sign(claims, TENANT_TOKEN_SECONDS), user, tenantId };
};

interface Account {
  readonly tenantId: string;
  readonly userId: string;
}

/**
 * Number of password checks of a sign-in without a tenant, fixed so that timing reveals nothing. An e-mail with more
 * accounts is refused.
 */
const CANDIDATES = 3;

const refused = (): DomainError =>
  new DomainError('invalid_credential', 'E-mail and password do not match an account.');

/** Sign-in with e-mail and password (decisions, section 3). */
export class Login extends WithDeps<{
  readonly directory: Directory;
  readonly identity: Identity;
  readonly passwords: Passwords;
  readonly tenantTokens: Pick<TokenFamily<TenantClaims>, 'sign'>;
  readonly platformTokens: TokenFamily<PlatformClaims>;
  readonly emailHash: (email: string) => string;
  /** Accounts of an e-mail in all tenants, from the read model. */
  readonly accountsOf: (emailHash: string) => Promise<readonly Account[]>;
}> {
  /** @throws `invalid_credential`, `tenant_required`, `tenant_suspended` */
  async tenantUser(email: string, password: string, tenantId: string | undefined): Promise<Session> {
    const matching = await this.#matching(email, password, tenantId);
    const [match] = matching;
    if (match === undefined) throw refused();
    if (matching.length > 1) {
      throw new DomainError('tenant_required', 'This account exists in several tenants: send the tenant.');
    }
    const tenant = await this.deps.directory.tenant(match.tenantId);
    if (tenant?.status !== 'active') throw tenantSuspended();
    return signIn(this.deps, match.tenantId, match.user);
  }

  /** @throws `invalid_credential` */
  async platformAdmin(email: string, password: string): Promise<{ token: string }> {
    const adminId = await this.deps.directory.emailOwner(PLATFORM, this.deps.emailHash(email));
    const admin = adminId === undefined ? undefined : await this.deps.directory.platformAdmin(adminId);
    const hash = admin && (await this.deps.directory.opened(admin.passwordHash));
    if (!(await this.deps.passwords.verify(hash, password)) || admin === undefined) throw refused();
    const claims = {
      sub: admin.id,
      email: await this.deps.directory.open(admin.email),
      role: 'super_admin' as const,
    };
    return { token: this.deps.platformTokens.sign(claims, PLATFORM_TOKEN_SECONDS) };
  }

  async #matching(
    email: string,
    password: string,
    tenantId: string | undefined,
  ): Promise<{ tenantId: string; user: RegisteredUser }[]> {
    const emailHash = this.deps.emailHash(email);
    const accounts =
      tenantId === undefined
        ? await this.deps.accountsOf(emailHash)
        : await this.#accountIn(tenantId, emailHash);
    const tries = tenantId === undefined ? CANDIDATES : 1;
    const tooMany = accounts.length > tries;
    const matching: { tenantId: string; user: RegisteredUser }[] = [];
    for (let index = 0; index < tries; index += 1) {
      const account = tooMany ? undefined : accounts[index];
      const user =
        account === undefined ? undefined : await this.deps.directory.user(account.tenantId, account.userId);
      const usable = user?.status === 'active' ? user : undefined;
      const hash =
        usable?.passwordHash === undefined
          ? undefined
          : await this.deps.directory.opened(usable.passwordHash);
      const matches = await this.deps.passwords.verify(hash, password);
      if (matches && usable !== undefined && account !== undefined) {
        matching.push({ tenantId: account.tenantId, user: usable });
      }
    }
    return matching;
  }

  async #accountIn(tenantId: string, emailHash: string): Promise<readonly Account[]> {
    if (!isTenantId(tenantId)) return [];
    const userId = await this.deps.directory.emailOwner(tenantId, emailHash);
    return userId === undefined ? [] : [{ tenantId, userId }];
  }
}
