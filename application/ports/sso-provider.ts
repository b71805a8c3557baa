/** A provider and the client registered there. */
export interface ProviderSettings {
  /** Unique to these settings; cached provider data is stored under it. */
  readonly key: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Values of a started sign-in, by which it is checked when the browser returns. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Parameters of the redirect back from the provider. */
export interface CodeAnswer {
  readonly code: string;
  /** The issuer parameter (RFC 9207). */
  readonly iss: string | undefined;
}

/** A person's identity from a verified ID token. */
export interface ProvidedIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  /** True only when the provider asserts it. */
  readonly emailVerified: boolean;
  readonly name: string | undefined;
}

/** Sign-in at a tenant's identity provider by OpenID Connect: code flow with PKCE (decisions, section 3). */
export interface SsoProvider {
  /**
   * Creates the redirect URL with new random values.
   * @throws {ProviderUnavailable}
   */
  start(settings: ProviderSettings, redirectUri: string): Promise<SignInChecks & { readonly url: string }>;
  /**
   * Exchanges the code for an ID token and verifies it.
   * @throws {ProviderUnavailable} @throws {SignInRefused}
   */
  finish(
    settings: ProviderSettings,
    redirectUri: string,
    checks: SignInChecks,
    answer: CodeAnswer,
  ): Promise<ProvidedIdentity>;
}

/** The provider cannot be reached, fails, is too slow, or is not the configured issuer. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}

/** The sign-in is refused, by the provider or by a check. The message is a constant that is logged and not sent. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}
