import { randomBytes } from 'node:crypto';

/** A signing secret: `whsec_` and 43 characters of base64url (decisions, section 8). */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`;
