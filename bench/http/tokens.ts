import { createHmac } from 'node:crypto';

/** Secrets of the servers under test, which hold benchmark data only. */
export const SECRETS = {
  TENANT_JWT_SECRET: 'bench-tenant-secret-'.padEnd(48, 't'),
  PLATFORM_JWT_SECRET: 'bench-platform-secret-'.padEnd(48, 'p'),
  PARTNER_JWT_SECRET: 'bench-partner-secret-'.padEnd(48, 'r'),
  PARTNER_EXCHANGE_SECRET: 'bench-exchange-secret-'.padEnd(48, 'x'),
  MASTER_KEY: 'bench-master-key-'.padEnd(48, 'm'),
} as const;

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs with HS256. The token is valid for an hour. */
const sign = (claims: object, secret: string): string => {
  const iat = Math.floor(Date.now() / 1000);
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ ...claims, iat, exp: iat + 3600 })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
};

/** A tenant token; the first request with it registers its user. */
export const tenantToken = (
  tenantId: string,
  userId: string,
  role: 'admin' | 'operator' = 'operator',
): string =>
  sign(
    { sub: userId, email: `${userId}@${tenantId}.example`, tenant_id: tenantId, role },
    SECRETS.TENANT_JWT_SECRET,
  );

/** A token of a partner's person with the permission for billing. */
export const partnerToken = (partnerId: string): string =>
  sign(
    {
      sub: 'nora',
      email: 'nora@partner.example',
      partner_id: partnerId,
      permissions: ['partner-billing'],
    },
    SECRETS.PARTNER_JWT_SECRET,
  );
