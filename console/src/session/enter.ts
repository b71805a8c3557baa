import { anonymous } from './clients.ts';
import { partnerSession, platformSession, signIn, tenantSession } from './store.ts';

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
