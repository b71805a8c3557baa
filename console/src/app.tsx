import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Router } from 'wouter';
import { ApiError } from '../../client/src/index.ts';
import { ConfirmProvider } from './kit/confirm.tsx';
import { Toasts } from './kit/toasts.tsx';
import { enterPartner } from './session/enter.ts';
import { RenewDialog } from './session/renew.tsx';
import { SignIn } from './session/sign-in.tsx';
import { arrived } from './session/sso.ts';
import { identityOf, type Sessions, signIn, tenantSession, useSessions } from './session/store.ts';
import { Shell } from './shell/shell.tsx';

/** Whose data is on the page: another person or tenant begins with empty caches. */
const audienceOf = ({ tenant, platform, partner }: Sessions): string =>
  [tenant, platform, partner].map((each) => (each === undefined ? '' : identityOf(each))).join('|');

/** The client has already tried again. */
const newQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true } },
  });

const takeArrived = (): void => {
  const sso = arrived();
  if (sso === undefined) return;
  signIn(tenantSession(sso.token, 'sso'));
  history.replaceState(null, '', sso.returnTo);
};

/** The hosting portal of a partner opens this address with an assertion in the fragment. */
const takeAssertion = async (): Promise<void> => {
  const assertion = new URLSearchParams(location.hash.slice(1)).get('assertion');
  history.replaceState(null, '', '/console');
  if (assertion === null) throw new TypeError('The address has no assertion.');
  await enterPartner(assertion);
};

export const start = async (): Promise<unknown> => {
  try {
    if (location.pathname === '/console/signed-in') takeArrived();
    if (location.pathname === '/console/partner' && location.hash !== '') await takeAssertion();
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error : new Error('The sign-in was not completed. Begin again.');
  }
};

export const App = ({ error }: { error: unknown }) => {
  const sessions = useSessions();
  const audience = audienceOf(sessions);
  const isSignedIn = audience.replaceAll('|', '') !== '';
  // biome-ignore lint/correctness/useExhaustiveDependencies: another audience gets another cache
  const queries = useMemo(newQueries, [audience]);
  const [failed] = useState(error);
  return (
    <QueryClientProvider client={queries}>
      <Router base="/console">
        {isSignedIn ? (
          <ConfirmProvider>
            <Shell sessions={sessions} />
            <RenewDialog />
          </ConfirmProvider>
        ) : (
          <SignIn error={failed} />
        )}
      </Router>
      <Toasts />
    </QueryClientProvider>
  );
};
