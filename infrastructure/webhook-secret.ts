import { randomBytes } from 'node:crypto';

/**
 * A signing secret: `whsec_` and 43 characters of base64url (decisions, section 8). None of the 43 is `-` or `_`, so
 * that libraries that decode plain base64 can read the secret (decision 50).
 */
export const newWebhookSecret = (): string => {
  for (;;) {
    const text = randomBytes(32).toString('base64url');
    if (!/[-_]/.test(text)) return `whsec_${text}`;
  }
};
