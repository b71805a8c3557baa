import { DomainError, invalidAt, notFound, tenantSuspended } from '../../domain/core/errors.ts';
import { allowedReturn, type TenantSso } from '../../domain/tenancy/sso.ts';
import type { ExistingTenant } from '../../domain/tenancy/tenant.ts';
import type { Written } from '../core/commands/command.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import {
  type ProviderSettings,
  ProviderUnavailable,
  SignInRefused,
  type SsoProvider,
} from '../ports/sso-provider.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import type { TenantClaims } from './authentication-claims.ts';
import type { Directory } from './directory.ts';
import type { Identity } from './identity.ts';
import { type Session, signIn } from './login.ts';
import type { SsoAccounts } from './sso-accounts.ts';
import type { SsoTransactions } from './sso-transactions.ts';

/** The parameters of the redirect from the provider, and the browser's cookie. */
interface SsoAnswer {
  readonly state: string;
  /** The sealed transaction from the cookie of this `state`; undefined without the cookie. */
  readonly sealed: string | undefined;
  readonly code: string | undefined;
  readonly iss: string | undefined;
  /** Whether the provider refused the sign-in. */
  readonly refused: boolean;
}

export interface SsoSettings {
  /** Origin of this server in redirect URIs; undefined means the origin of the request. */
  readonly publicUrl: string | undefined;
  /** Allows providers over plain HTTP on the loopback interface. */
  readonly loopbackHttp: boolean;
}

export interface SsoSession extends Written<Session> {
  readonly returnTo: string | undefined;
}

const refused = (): DomainError =>
  new DomainError('invalid_credential', 'The sign-in was not completed. Start again.');

const unavailable = (): DomainError =>
  new DomainError('unavailable', 'The identity provider is unavailable. Try again later.');

/** Single sign-on by OpenID Connect (specification, Authentication 1; decisions, section 3). */
export class Sso extends WithDeps<{
  readonly directory: Directory;
  readonly identity: Identity;
  readonly keys: KeyRing;
  readonly provider: SsoProvider;
  readonly transactions: SsoTransactions;
  readonly accounts: SsoAccounts;
  readonly tenantTokens: Pick<TokenFamily<TenantClaims>, 'sign'>;
  readonly logger: Logger;
  /** Called with the position of a registration. */
  readonly answered: (tenantId: string, position: Position) => void;
}> {
  /**
   * Starts a sign-in. Returns the redirect URL, and the `state` and the sealed value for the cookie.
   * @throws `not_found` without single sign-on, `tenant_suspended`, `validation_failed` for a foreign `return_to`,
   * `unavailable`
   */
  async start(
    tenantId: string,
    returnTo: string | undefined,
    redirectUri: string,
  ): Promise<{ url: string; state: string; sealed: string }> {
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant?.sso === undefined) throw notFound();
    checkActive(tenant);
    const allowed = returnTo === undefined ? undefined : allowedReturn(returnTo, tenant.sso.returnOrigins);
    if (returnTo !== undefined && allowed === undefined) {
      const message = 'return_to must be a URL of an origin that the tenant allows.';
      throw invalidAt('return_to', 'not_allowed', message);
    }
    const settings = await this.#settings(tenantId, tenant.sso);
    const begun = await this.#logged(tenantId, () => this.deps.provider.start(settings, redirectUri));
    const { url, state, nonce, codeVerifier } = begun;
    const { revision } = tenant.sso;
    const transaction = { tenantId, revision, nonce, codeVerifier, redirectUri, returnTo: allowed };
    return { url, state, sealed: this.deps.transactions.seal(state, transaction) };
  }

  /** @throws `invalid_credential`, `tenant_suspended`, `unavailable` */
  async finish(answer: SsoAnswer, requestId: string): Promise<SsoSession> {
    const { state, sealed, code, iss } = answer;
    const transaction = sealed === undefined ? undefined : this.deps.transactions.open(state, sealed);
    if (transaction === undefined) throw refused();
    const { tenantId, redirectUri, returnTo } = transaction;
    const tenant = await this.deps.directory.tenant(tenantId);
    // Changed settings apply at once: a sign-in that was started under older settings fails.
    if (tenant?.sso === undefined || tenant.sso.revision !== transaction.revision) throw refused();
    checkActive(tenant);
    if (answer.refused || code === undefined) throw refused();
    const settings = await this.#settings(tenantId, tenant.sso);
    const identity = await this.#logged(tenantId, () =>
      this.deps.provider.finish(settings, redirectUri, { ...transaction, state }, { code, iss }),
    );
    const actor = { kind: 'system', id: 'sign-on' } as const;
    const cause = { actor, correlationId: requestId, causationId: requestId };
    const { user, position } = await this.#logged(tenantId, () =>
      this.deps.accounts.accountOf(tenantId, identity, { cause }),
    );
    if (position !== undefined) this.deps.answered(tenantId, position);
    return { ...(await signIn(this.deps, tenantId, user)), returnTo, position };
  }

  async #settings(tenantId: string, sso: TenantSso): Promise<ProviderSettings> {
    const clientSecret = await this.deps.keys.open(sso.clientSecret);
    if (clientSecret === undefined) throw unavailable();
    const { issuer, clientId, revision } = sso;
    return { key: `${tenantId} ${revision}`, issuer, clientId, clientSecret };
  }

  /** Logs the reason of a failure, a constant text that is not sent to the caller. */
  async #logged<T>(tenantId: string, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ProviderUnavailable || error instanceof SignInRefused)) throw error;
      this.deps.logger.warn({ tenant_id: tenantId, reason: error.message }, 'a single sign-on failed');
      throw error instanceof ProviderUnavailable ? unavailable() : refused();
    }
  }
}

const checkActive = (tenant: ExistingTenant): void => {
  if (tenant.status === 'suspended') throw tenantSuspended();
};
