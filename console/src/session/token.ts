import { isRecord } from '../../../client/src/errors.ts';

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Claims of a token, as the page needs them; the server alone checks them.
 * @throws for a text that is no JWT
 */
export const claimsOf = (token: string) => {
  const [, payload = ''] = token.split('.');
  const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!isRecord(claims)) throw new SyntaxError('The token holds no claims.');
  return {
    sub: textOf(claims.sub),
    email: textOf(claims.email),
    role: textOf(claims.role),
    tenantId: textOf(claims.tenant_id),
    partnerId: textOf(claims.partner_id),
    impersonatedBy: typeof claims.impersonated_by === 'string' ? claims.impersonated_by : undefined,
    // ms since 1970 on this machine's clock, which may differ from the server's. Calculated from the token's lifetime,
    // since the token was minted just now.
    expiresAt: Date.now() + (numberOf(claims.exp) - numberOf(claims.iat)) * 1000,
  };
};
