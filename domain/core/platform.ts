/** Owner of streams and documents that belong to no tenant, such as tenants and platform admins. */
export const PLATFORM = 'platform';
