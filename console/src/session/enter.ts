import { anonymous, clientOf } from './clients.ts';
import {
  type PlatformSession,
  partnerSession,
  platformSession,
  signIn,
  type TenantSession,
  tenantSession,
} from './store.ts';

/** The ways to sign in. Each throws an `ApiError` when the sign-in is refused. */

export const enterTenant = async (email: string, password: string, tenant?: string): Promise<void> => {
  const body = { email, password, ...(tenant === undefined || tenant === '' ? {} : { tenant }) };
  const { token } = await anonymous.post('/auth/login', { body });
  signIn(tenantSession(token, 'password'));
};

export const enterPlatform = async (email: string, password: string): Promise<void> => {
  const { token } = await anonymous.post('/super/auth/login', { body: { email, password } });
  signIn(platformSession(token));
};

/** @param assertion of the hosting portal */
export const enterPartner = async (assertion: string): Promise<void> => {
  const { token } = await anonymous.post('/api/v1/partner-portal/auth/exchange', { body: { assertion } });
  signIn(partnerSession(token));
};

/** A session of the platform's admin as a person of a tenant, by default its oldest admin. */
export const impersonate = async (
  platform: PlatformSession,
  tenantId: string,
  body: { readonly user_id?: string; readonly reason?: string },
): Promise<TenantSession> => {
  const { token } = await clientOf(platform).post('/super/impersonate/{tenant_id}', {
    params: { path: { tenant_id: tenantId } },
    body,
  });
  // The first answer was lost, and the repeated request gets an answer without the secret.
  if (token === undefined) throw new Error('The answer of the server was lost. Try again.');
  return tenantSession(token, 'impersonation');
};
