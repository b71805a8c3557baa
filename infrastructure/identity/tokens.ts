import { createHmac, timingSafeEqual } from 'node:crypto';
import jws from 'jws';
import { z } from 'zod';
import type { Clock } from '../../application/ports/clock.ts';
import type { TokenFamily } from '../../application/ports/tokens.ts';
import { DomainError, invalidCredential } from '../../domain/core/errors.ts';

const AHEAD_SECONDS = 60;
const MAX_TOKEN_LENGTH = 8192;
const MAX_CACHED = 10_000;

/** The current secret, and previous or next ones that only verify. */
type SigningSecrets = readonly [current: string, ...verifying: readonly string[]];

const times = z.object({
  iat: z.number().int().nonnegative(),
  exp: z.number().int().nonnegative(),
  nbf: z.number().optional(),
});
type Times = z.output<typeof times>;

/**
 * A family of HS256 tokens. The library signs and checks signatures; claims and headers are checked here.
 * @param secrets the first one signs; the others only verify during a rotation
 * @param lifetimeOf maximum lifetime in seconds of a token with these claims
 */
export const tokenFamily = <Claims extends object>(
  secrets: SigningSecrets,
  schema: z.ZodType<Claims>,
  lifetimeOf: (claims: Claims) => number,
  clock: Clock,
): TokenFamily<Claims> => {
  const [current, ...verifying] = secrets;
  const key = Buffer.from(current);
  const keys = [key, ...verifying.map((secret) => Buffer.from(secret))];
  type Verified = Claims & Times;
  // A valid signature stays valid, so tokens are cached; their expiry is checked at each use.
  const verified = new Map<string, Verified>();

  const check = (token: string): Verified => {
    const { header: head, payload: own } = signedParts(token, keys);
    const payload = { ...own, session: head.session };
    const claims = schema.safeParse(payload);
    const { data: at } = times.safeParse(payload);
    if (!claims.success || at === undefined) throw invalidCredential();
    if (at.exp - at.iat > lifetimeOf(claims.data) + AHEAD_SECONDS || at.exp < at.iat)
      throw invalidCredential();
    return { ...claims.data, ...at };
  };

  return {
    sign: (claims, lifetimeSeconds, begin) => {
      const iat = begin ?? Math.floor(clock.now() / 1000);
      const { session, ...payload }: Claims & { session?: number | undefined } = claims;
      return jws.sign({
        header: { alg: 'HS256', typ: 'JWT', ...(session === undefined ? {} : { session }) },
        payload: { ...payload, iat, exp: iat + lifetimeSeconds },
        secret: key,
      });
    },
    verify: (token) => {
      let claims = verified.get(token);
      if (claims === undefined) {
        claims = check(token);
        if (verified.size >= MAX_CACHED) {
          const oldest = verified.keys().next().value;
          if (oldest !== undefined) verified.delete(oldest);
        }
        verified.set(token, claims);
      }
      const now = clock.now() / 1000;
      if (claims.iat > now + AHEAD_SECONDS || (claims.nbf ?? 0) > now) throw invalidCredential();
      if (claims.exp <= now) throw new DomainError('credential_expired', 'The credential has expired.');
      return claims;
    },
  };
};

/** Refuses headers that would change a token's meaning, or that the library ignores. */
const header = z.object({
  alg: z.literal('HS256'),
  crit: z.undefined().optional(),
  b64: z.undefined().optional(),
  /** In the header, since the specification fixes the list of claims. */
  session: z.number().int().nonnegative().optional(),
});
const object = z.looseObject({});

/** Header and payload of a token with a canonical HS256 signature by one of the keys. */
const signedParts = (token: string, keys: readonly Buffer[]) => {
  if (token.length > MAX_TOKEN_LENGTH) throw invalidCredential();
  const parts = token.split('.');
  const [head, payload, signature] = parts;
  if (parts.length !== 3 || head === undefined || payload === undefined || signature === undefined)
    throw invalidCredential();
  // Accepts one spelling of the signature, so that a revoked token has no second form; base64url decoders accept
  // several.
  const content = `${head}.${payload}`;
  const key = keys.find((one) =>
    isSame(signature, createHmac('sha256', one).update(content).digest('base64url')),
  );
  if (key === undefined) throw invalidCredential();
  let decoded: jws.Signature | null;
  try {
    decoded = jws.verify(token, 'HS256', key) ? jws.decode(token, { json: true }) : null;
    if (hasDuplicateKeys(Buffer.from(payload, 'base64url').toString('utf8'))) throw invalidCredential();
  } catch {
    throw invalidCredential();
  }
  const known = header.safeParse(decoded?.header);
  const claims = object.safeParse(decoded?.payload);
  if (!known.success || !claims.success) throw invalidCredential();
  return { header: known.data, payload: claims.data };
};

const isSame = (a: string, b: string): boolean => {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
};

/** Detects duplicate claims, which parsers read differently. */
const hasDuplicateKeys = (json: string): boolean => {
  const seen = new Set<string>();
  for (const match of json.matchAll(/"((?:[^"\\]|\\.)*)"\s*(:)?/g)) {
    if (match[2] === undefined) continue;
    const key: unknown = JSON.parse(`"${match[1] ?? ''}"`);
    if (typeof key !== 'string' || seen.has(key)) return true;
    seen.add(key);
  }
  return false;
};
