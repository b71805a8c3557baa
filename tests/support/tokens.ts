import { createHmac } from 'node:crypto';
import { KEYS } from './server.ts';

/** Tokens like those of an operations tool or single sign-on (specification, Authentication). */

type Claims = Readonly<Record<string, unknown>>;

const DAY = 86_400;
export const now = (): number => Math.floor(Date.now() / 1000);

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/**
 * A token with exactly this header and payload, so that tests can send tokens that no library would mint.
 * @param hash the hash function of the HMAC: `sha256` for HS256
 */
export const rawToken = (header: unknown, payload: unknown, key: string, hash = 'sha256'): string => {
  const content = `${part(header)}.${part(payload)}`;
  return `${content}.${createHmac(hash, key).update(content).digest('base64url')}`;
};

const HEADER = { alg: 'HS256', typ: 'JWT' };

export const signed = (claims: Claims, key: string): string => rawToken(HEADER, claims, key);

export interface Person {
  readonly tenantId: string;
  readonly id: string;
  readonly email: string;
  readonly role: 'admin' | 'operator';
}

export const tenantClaims = (person: Person): Claims => ({
  sub: person.id,
  email: person.email,
  tenant_id: person.tenantId,
  role: person.role,
  iat: now(),
  exp: now() + DAY,
});

export const tenantToken = (person: Person, own: Claims = {}): string =>
  signed({ ...tenantClaims(person), ...own }, KEYS.TENANT_JWT_SECRET);

export const platformClaims = (): Claims => ({
  sub: 'operations-tool',
  email: 'operations@platform.example',
  role: 'super_admin',
  iat: now(),
  exp: now() + 8 * 3600,
});

export const platformToken = (own: Claims = {}, key: string = KEYS.PLATFORM_JWT_SECRET): string =>
  signed({ ...platformClaims(), ...own }, key);
