/** Signed tokens of one credential family; each family has its own key (decisions, section 3). */
export interface TokenFamily<Claims> {
  /** @param begin `iat`, seconds since 1970; default now */
  sign(claims: Claims, lifetimeSeconds: number, begin?: number): string;
  /** @throws `invalid_credential`, `credential_expired` */
  verify(token: string): Claims & { readonly iat: number; readonly exp: number };
}
