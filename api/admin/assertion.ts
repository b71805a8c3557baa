import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { USER_ID } from '../../application/authentication-claims.ts';
import { ASSERTION_SECONDS, assertionClaims } from '../../application/partner-authentication.ts';
import { uuidFromName } from '../../application/request-context.ts';
import { isPartnerId } from '../../domain/partners/partner.ts';
import { knownSecrets, signingSecrets } from '../../infrastructure/development-secrets.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { tokenFamily } from '../../infrastructure/identity/tokens.ts';
import { BILLING_PERMISSION } from '../routes/partner-portal.ts';
import { type AdminCommand, adminConfig, emailOption, optionsOf, produce, Refusal, say } from './command.ts';

const schema = z.object({
  partner: z.string().refine(isPartnerId),
  email: emailOption,
  user: z.string().regex(USER_ID).optional(),
  permissions: z
    .string()
    .default(BILLING_PERMISSION)
    .transform((list) =>
      list
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
});

/** Stands for the hosting portal where there is none. */
export const mintPartnerAssertion: AdminCommand = {
  name: 'mint-partner-assertion',
  usage: `--partner <id> --email <address> [--permissions ${BILLING_PERMISSION}] [--user <id>]`,
  summary:
    'Print an assertion for the partner portal’s exchange, as the hosting portal makes it. Development only.',
  run: async (args) => {
    const config = adminConfig();
    if (config.NODE_ENV === 'production') {
      throw new Refusal('Assertions are the hosting portal’s: this works in development only.');
    }
    const { partner, email, user, permissions } = optionsOf(
      args,
      {
        partner: { type: 'string' },
        email: { type: 'string' },
        user: { type: 'string' },
        permissions: { type: 'string' },
      },
      schema,
    );
    const secrets = knownSecrets(config);
    if (secrets === undefined) {
      throw new Refusal(`${config.DATA_DIR} keeps no development secrets: start the server once.`);
    }
    const keys = signingSecrets(secrets, 'PARTNER_EXCHANGE_SECRET');
    const family = tokenFamily(keys, assertionClaims, () => ASSERTION_SECONDS, systemClock);
    const sub = user ?? uuidFromName(`partner-user\n${partner}\n${email.toLowerCase()}`);
    const claims = { sub, email, partner_id: partner, permissions, jti: randomUUID() };
    produce(family.sign(claims, ASSERTION_SECONDS));
    say(`It counts once, within ${ASSERTION_SECONDS / 60} minutes.`);
  },
};
