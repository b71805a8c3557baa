import * as client from 'openid-client';
import { z } from 'zod';
import type { Clock } from '../../application/ports/clock.ts';
import {
  type CodeAnswer,
  type ProvidedIdentity,
  type ProviderSettings,
  ProviderUnavailable,
  type SignInChecks,
  SignInRefused,
  type SsoProvider,
} from '../../application/ports/sso-provider.ts';
import { isLoopback } from '../../domain/tenancy/sso.ts';
import type { Fetch } from '../http/guarded-fetch.ts';

const SCOPE = 'openid email profile';
/** Timeout of one exchange with all its requests. */
const TIMEOUT_MS = 10_000;
const METADATA_MS = 5 * 60_000;
const MAX_REMEMBERED = 500;

export interface SsoProviderOptions {
  /** Limits the size of answers. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Allows plain http to a provider on loopback, for development. */
  readonly loopbackHttp: boolean;
  readonly timeoutMs?: number;
}

/**
 * `fetch` for one exchange with a provider: one deadline for all its requests, no redirects, plain http on loopback
 * only. `trouble` keeps the reason of a failure, since libraries may wrap the error.
 */
class ProviderFetch {
  trouble: ProviderUnavailable | undefined;
  readonly #fetch: Fetch;
  readonly #deadline: AbortSignal;

  constructor(fetch: Fetch, timeoutMs: number) {
    this.#fetch = fetch;
    this.#deadline = AbortSignal.timeout(timeoutMs);
  }

  readonly fetch: client.CustomFetch = async (url, options) => {
    try {
      return await this.#exchange(url, options);
    } catch (error) {
      this.trouble ??=
        error instanceof ProviderUnavailable
          ? error
          : new ProviderUnavailable('the provider cannot be reached');
      throw this.trouble;
    }
  };

  async #exchange(url: string, options: client.CustomFetchOptions): Promise<Response> {
    const { protocol, hostname } = new URL(url);
    if (protocol !== 'https:' && !isLoopback(hostname))
      throw new ProviderUnavailable('the provider uses a plain http URL');
    const { method, headers, body, signal } = options;
    const response = await this.#fetch(url, {
      method,
      headers,
      // The library sends forms only.
      ...(body instanceof URLSearchParams ? { body } : {}),
      redirect: 'manual',
      signal: AbortSignal.any([this.#deadline, ...(signal ? [signal] : [])]),
    });
    const { status } = response;
    if (status >= 500 || status === 429 || (status >= 300 && status < 400)) {
      await response.body?.cancel();
      throw new ProviderUnavailable(`the provider answered ${status}`);
    }
    return response;
  }
}

/** OpenID Connect with `openid-client`; adds the checks that the library omits. */
export const openIdProvider = (options: SsoProviderOptions): SsoProvider => {
  const { clock, loopbackHttp, timeoutMs = TIMEOUT_MS } = options;
  const remembered = new Map<string, { readonly metadata: client.ServerMetadata; readonly until: number }>();

  const discover = async (
    settings: ProviderSettings,
    insecure: boolean,
    requests: ProviderFetch,
  ): Promise<client.ServerMetadata> => {
    const known = remembered.get(settings.key);
    if (known !== undefined && known.until > clock.now()) return known.metadata;
    const found = await client.discovery(new URL(settings.issuer), settings.clientId, undefined, undefined, {
      [client.customFetch]: requests.fetch,
      ...(insecure ? { execute: [client.allowInsecureRequests] } : {}),
    });
    const metadata = found.serverMetadata();
    // For some well-known providers the library accepts the issuer of any of their customers; here a tenant has
    // exactly one issuer.
    if (new URL(metadata.issuer).href !== new URL(settings.issuer).href) {
      throw new ProviderUnavailable('the provider’s issuer is not the configured one');
    }
    remembered.delete(settings.key);
    const { value: oldest } = remembered.keys().next();
    if (oldest !== undefined && remembered.size >= MAX_REMEMBERED) remembered.delete(oldest);
    remembered.set(settings.key, { metadata, until: clock.now() + METADATA_MS });
    return metadata;
  };

  const configure = async (settings: ProviderSettings, requests: ProviderFetch) => {
    const insecure = loopbackHttp && settings.issuer.startsWith('http:');
    try {
      const metadata = await discover(settings, insecure, requests);
      const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const authentication = methods.includes('client_secret_basic')
        ? client.ClientSecretBasic(settings.clientSecret)
        : client.ClientSecretPost(settings.clientSecret);
      const config = new client.Configuration(metadata, settings.clientId, undefined, authentication);
      config[client.customFetch] = requests.fetch;
      // By default the library does not verify the signature of an ID token that came over TLS from the token
      // endpoint.
      client.enableNonRepudiationChecks(config);
      if (insecure) client.allowInsecureRequests(config);
      return { config, metadata };
    } catch (error) {
      throw requests.trouble ?? (error instanceof ProviderUnavailable ? error : unusable(error));
    }
  };

  const exchange = (): ProviderFetch => new ProviderFetch(options.fetch, timeoutMs);

  return {
    start: async (settings, redirectUri) => {
      const { config } = await configure(settings, exchange());
      const checks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        codeVerifier: client.randomPKCECodeVerifier(),
      };
      const challenge = await client.calculatePKCECodeChallenge(checks.codeVerifier);
      try {
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: SCOPE,
          state: checks.state,
          nonce: checks.nonce,
          code_challenge: challenge,
          code_challenge_method: 'S256',
        });
        return { ...checks, url: url.href };
      } catch (error) {
        throw unusable(error);
      }
    },

    finish: async (settings, redirectUri, checks, answer) => {
      const requests = exchange();
      const { config, metadata } = await configure(settings, requests);
      try {
        const tokens = await client.authorizationCodeGrant(config, returned(redirectUri, checks, answer), {
          expectedState: checks.state,
          expectedNonce: checks.nonce,
          pkceCodeVerifier: checks.codeVerifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new SignInRefused('there is no ID token');
        const claimed = about(claims);
        if (claimed.email !== undefined || metadata.userinfo_endpoint === undefined) {
          return identityOf(claims.iss, claims.sub, claimed);
        }
        const more = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
        return identityOf(claims.iss, claims.sub, about(more));
      } catch (error) {
        if (requests.trouble !== undefined) throw requests.trouble;
        throw error instanceof SignInRefused ? error : new SignInRefused(reasonOf(error));
      }
    },
  };
};

const returned = (redirectUri: string, checks: SignInChecks, answer: CodeAnswer): URL => {
  const url = new URL(redirectUri);
  url.searchParams.set('code', answer.code);
  url.searchParams.set('state', checks.state);
  if (answer.iss !== undefined) url.searchParams.set('iss', answer.iss);
  return url;
};

/** A claim of a wrong type counts as missing. */
const personal = z.object({
  email: z.string().optional().catch(undefined),
  email_verified: z.boolean().optional().catch(undefined),
  name: z.string().optional().catch(undefined),
});
type Personal = z.output<typeof personal>;

const about = (claims: unknown): Personal => personal.parse(claims);

const identityOf = (issuer: string, subject: string, claimed: Personal): ProvidedIdentity => {
  // OpenID Connect Core, section 2.
  if (subject === '' || subject.length > 255) throw new SignInRefused('the subject is not valid');
  return {
    issuer,
    subject,
    email: claimed.email,
    emailVerified: claimed.email !== undefined && claimed.email_verified === true,
    name: claimed.name,
  };
};

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'access_denied',
]);

/** A constant reason, safe to log: the library's message and cause hold text of the provider. */
const reasonOf = (error: unknown): string => {
  if (error instanceof client.ResponseBodyError) {
    return OAUTH_ERRORS.has(error.error) ? error.error : 'another error of the provider';
  }
  if (error instanceof client.ClientError && /^OAUTH_[A-Z_]{1,50}$/.test(error.code ?? '')) {
    return String(error.code);
  }
  return 'the answer could not be checked';
};

const unusable = (error: unknown): ProviderUnavailable =>
  new ProviderUnavailable(`the provider’s metadata cannot be used (${reasonOf(error)})`);
