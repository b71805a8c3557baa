import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { uuidFromName } from '../../application/core/commands/request-context.ts';
import { USER_ID } from '../../application/identity/authentication-claims.ts';
import { ASSERTION_SECONDS, assertionClaims } from '../../application/partners/partner-authentication.ts';
import { isPartnerId } from '../../domain/partners/partner.ts';
import { knownSecret } from '../../infrastructure/development-secrets.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { tokenFamily } from '../../infrastructure/identity/tokens.ts';
import { BILLING_PERMISSION } from '../routes/partners/partner-portal.ts';
import {
  type AdminCommand,
  adminConfig,
  emailOption,
  optionsOf,
  printNote,
  printResult,
  Refusal,
} from './command.ts';

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

/** Signs an assertion in place of the hosting portal. Development only. */
export const mintPartnerAssertion: AdminCommand = {
  name: 'mint-partner-assertion',
  usage: `--partner <id> --email <address> [--permissions ${BILLING_PERMISSION}] [--user <id>]`,
  summary:
    'Print an assertion for a partner’s sign-in, as the hosting portal would sign it. Development only.',
  run: async (args) => {
    const config = adminConfig();
    if (config.NODE_ENV === 'production') {
      throw new Refusal(
        'In production only the hosting portal signs assertions. This command works in development only.',
      );
    }
    const { partner, email, user, permissions } = optionsOf(args, schema);
    const secret = knownSecret(config, 'PARTNER_EXCHANGE_SECRET');
    if (secret === undefined) {
      throw new Refusal(
        `PARTNER_EXCHANGE_SECRET is not set, and ${config.DATA_DIR} holds none: start the server once.`,
      );
    }
    const family = tokenFamily([secret], assertionClaims, () => ASSERTION_SECONDS, systemClock);
    const sub = user ?? uuidFromName(`partner-user\n${partner}\n${email.toLowerCase()}`);
    const claims = { sub, email, partner_id: partner, permissions, jti: randomUUID() };
    printResult(family.sign(claims, ASSERTION_SECONDS));
    printNote(`It can be used once, within ${ASSERTION_SECONDS / 60} minutes.`);
  },
};
