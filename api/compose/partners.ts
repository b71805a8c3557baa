import { BillingProfiles } from '../../application/billing-profiles.ts';
import {
  assertionClaims,
  PARTNER_TOKEN_SECONDS,
  PartnerAuthentication,
  partnerClaims,
} from '../../application/partner-authentication.ts';
import { PartnerDirectory } from '../../application/partner-directory.ts';
import { Partners } from '../../application/partners.ts';
import { signingSecrets } from '../../infrastructure/development-secrets.ts';
import { tokenFamily } from '../../infrastructure/identity/tokens.ts';
import type { Core } from './core.ts';

/** Partners, their credential and what they set. */
export interface PartnerArea {
  readonly partners: Partners;
  readonly partnerDirectory: PartnerDirectory;
  readonly partnerAuthentication: PartnerAuthentication;
  readonly billingProfiles: BillingProfiles;
}

export const composePartners = ({ commands, states, secrets, clock }: Core): PartnerArea => {
  const directory = new PartnerDirectory(states);
  const tokens = tokenFamily(
    signingSecrets(secrets, 'PARTNER_JWT_SECRET'),
    partnerClaims,
    () => PARTNER_TOKEN_SECONDS,
    clock,
  );
  // An assertion may say that it lives long: it counts for five minutes from `iat` all the same.
  const assertions = tokenFamily(
    signingSecrets(secrets, 'PARTNER_EXCHANGE_SECRET'),
    assertionClaims,
    () => Number.POSITIVE_INFINITY,
    clock,
  );
  return {
    partners: new Partners({ commands, states, directory }),
    partnerDirectory: directory,
    partnerAuthentication: new PartnerAuthentication({
      tokens,
      assertions,
      partners: directory,
      commands,
      clock,
    }),
    billingProfiles: new BillingProfiles({ commands, states }),
  };
};
