/** Owner of the platform's own streams (such as those of tenants and partners) and of documents not kept per tenant. */
export const PLATFORM = 'platform';
