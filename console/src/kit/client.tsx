import { createContext, useContext } from 'react';
import type { Client } from '../../../client/src/index.ts';
import { clientOf } from '../session/clients.ts';
import { type Session, SignedOut, type TenantSession } from '../session/store.ts';

/** The session with which a page sends requests: of a tenant's person, a platform admin or a partner. */
const PageSession = createContext<Session | undefined>(undefined);

export const PageSessionProvider = PageSession.Provider;

export const usePageSession = (): Session => {
  const session = useContext(PageSession);
  if (session === undefined) throw new SignedOut();
  return session;
};

/** The session of a tenant's person; undefined on pages of the platform and of partners. */
export const useTenant = (): TenantSession | undefined => {
  const session = usePageSession();
  return session.kind === 'tenant' ? session : undefined;
};

export const useIsAdmin = (): boolean => useTenant()?.role === 'admin';

/** The client of the page's session. */
export const useClient = (): Client => clientOf(usePageSession());
