import { BillingProfiles } from '../../application/billing/profiles.ts';
import {
  assertionClaims,
  PARTNER_TOKEN_SECONDS,
  PartnerAuthentication,
  partnerClaims,
} from '../../application/partners/partner-authentication.ts';
import { PartnerDirectory } from '../../application/partners/partner-directory.ts';
import { Partners } from '../../application/partners/partners.ts';
import { partnerPortalRoutes } from '../routes/partners/partner-portal.ts';
import { partnerRoutes } from '../routes/partners/partners.ts';
import type { Area } from './area.ts';
import { type Core, tokensOf } from './core.ts';

/** Partners, their credentials and their billing profiles. */
export const composePartners = (core: Core) => {
  const directory = new PartnerDirectory(core.streams);
  const tokens = tokensOf(core, 'PARTNER_JWT_SECRET', partnerClaims, () => PARTNER_TOKEN_SECONDS);
  // No limit here: `PartnerAuthentication` refuses an assertion five minutes after its `iat`, even if its `exp` is
  // later.
  const assertions = tokensOf(
    core,
    'PARTNER_EXCHANGE_SECRET',
    assertionClaims,
    () => Number.POSITIVE_INFINITY,
  );
  const partners = new Partners({ ...core, directory });
  const partnerAuthentication = new PartnerAuthentication({
    ...core,
    tokens,
    assertions,
    partners: directory,
  });
  const billingProfiles = new BillingProfiles(core);
  const deps = { ...core, partners, partnerAuthentication, billingProfiles };
  return {
    partners,
    partnerDirectory: directory,
    partnerAuthentication,
    routes: [...partnerRoutes(deps), ...partnerPortalRoutes(deps)],
  } satisfies Area & Record<string, unknown>;
};

export type PartnersArea = ReturnType<typeof composePartners>;
