/** Sign-in at a tenant's identity provider by OpenID Connect: code flow with PKCE (decisions, section 3). */

/** Which provider, as which client. */
export interface ProviderSettings {
  /** Of exactly these settings: what is remembered of a provider is remembered under it. */
  readonly key: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** What a sign-in that has begun is checked against when the person comes back. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** What the provider sent the person back with. */
export interface CodeAnswer {
  readonly code: string;
  /** The issuer that says that it answered (RFC 9207). */
  readonly iss: string | undefined;
}

/** Who somebody is, by a checked ID token of the provider. */
export interface ProvidedIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  /** True only when the provider says so. */
  readonly emailVerified: boolean;
  readonly name: string | undefined;
}

export interface SsoProvider {
  /**
   * Where to send the browser, with new random values.
   * @throws {ProviderUnavailable}
   */
  start(settings: ProviderSettings, redirectUri: string): Promise<SignInChecks & { readonly url: string }>;
  /**
   * Trades the code for an ID token and checks everything about it.
   * @throws {ProviderUnavailable} @throws {SignInRefused}
   */
  finish(
    settings: ProviderSettings,
    redirectUri: string,
    checks: SignInChecks,
    answer: CodeAnswer,
  ): Promise<ProvidedIdentity>;
}

/** Out of reach, failing, too slow, or not the provider that it was said to be. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}

/** The provider, or a check of its answer, says no. The message is a constant that may be logged. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}
