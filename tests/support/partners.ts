import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Client } from './client.ts';
import { KEYS, randomName } from './server.ts';
import { now, signed } from './tokens.ts';
import type { World } from './world.ts';

/** Partners and their tokens, signed as a hosting portal or an operations tool would sign them. */

type Claims = Readonly<Record<string, unknown>>;

export const PORTAL = '/api/v1/partner-portal';
export const EXCHANGE = `${PORTAL}/auth/exchange`;
export const PROFILE = `${PORTAL}/billing/profile`;
export const BILLING = 'partner-billing';

export const partner = z.strictObject({
  id: z.string(),
  name: z.string(),
  home_tenant_id: z.string().nullable(),
  created_at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
});

export const exchanged = z.strictObject({
  token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.literal(3600),
});

export const session = z.strictObject({
  user: z.strictObject({ id: z.string(), email: z.string() }),
  partner: z.strictObject({ id: z.string(), name: z.string() }),
  permissions: z.array(z.string()),
});

export const profile = z.strictObject({ item_name_template: z.string(), item_description: z.string() });

export const partnerClaims = (partnerId: string): Claims => ({
  sub: 'nora',
  email: 'nora@partner.example',
  partner_id: partnerId,
  permissions: [BILLING],
  iat: now(),
  exp: now() + 3600,
});

export const partnerToken = (
  partnerId: string,
  own: Claims = {},
  key: string = KEYS.PARTNER_JWT_SECRET,
): string => signed({ ...partnerClaims(partnerId), ...own }, key);

export const assertionClaims = (partnerId: string): Claims => ({
  ...partnerClaims(partnerId),
  exp: now() + 300,
  jti: randomUUID(),
});

export const assertion = (
  partnerId: string,
  own: Claims = {},
  key: string = KEYS.PARTNER_EXCHANGE_SECRET,
): string => signed({ ...assertionClaims(partnerId), ...own }, key);

export interface TestPartner {
  readonly id: string;
  /** Calls as a person of the partner with the permission for billing. */
  readonly api: Client;
}

export const newPartner = async (world: World): Promise<TestPartner> => {
  const id = randomName('p');
  (await world.platform.post('/super/partners', { id, name: `Partner ${id}` })).as(partner, 201);
  return { id, api: world.anybody.with(partnerToken(id)) };
};
