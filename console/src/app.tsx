import { useEffect, useState } from 'react';
import { ApiError } from '../../client/src/index.ts';
import { Entered, prepare } from './entered.tsx';
import { Toasts } from './kit/toasts.tsx';
import { enterPartner } from './session/enter.ts';
import { SignIn } from './session/sign-in.tsx';
import { arrived } from './session/sso.ts';
import { getSessions, identityOf, type Sessions, signIn, tenantSession } from './session/store.ts';
import { useSessions } from './session/use-sessions.ts';
import { Boundary } from './shell/boundary.tsx';

const audienceOf = ({ tenant, platform, partner }: Sessions): string =>
  [tenant, platform, partner].map((each) => (each === undefined ? '' : identityOf(each))).join('|');

const NOBODY = audienceOf({});

const signInFromUrl = (): void => {
  const sso = arrived();
  if (sso === undefined) return;
  signIn(tenantSession(sso.token, 'sso'));
  history.replaceState(null, '', sso.returnTo);
};

/** Signs in with the assertion that the hosting portal of a partner has put into the fragment of the address. */
const takeAssertion = async (): Promise<void> => {
  const assertion = new URLSearchParams(location.hash.slice(1)).get('assertion');
  history.replaceState(null, '', '/console');
  if (assertion === null) throw new TypeError('The address has no assertion.');
  await enterPartner(assertion);
};

export const start = async (): Promise<unknown> => {
  try {
    if (location.pathname === '/console/signed-in') signInFromUrl();
    if (location.pathname === '/console/partner' && location.hash !== '') await takeAssertion();
    if (audienceOf(getSessions()) !== NOBODY) await prepare();
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error : new Error('The sign-in was not completed. Try again.');
  }
};

export const App = ({ error }: { error: unknown }) => {
  const sessions = useSessions();
  const audience = audienceOf(sessions);
  const isSignedIn = audience !== NOBODY;
  const [failed, setFailed] = useState(error);
  useEffect(() => {
    if (isSignedIn) setFailed(undefined);
  }, [isSignedIn]);
  return (
    <>
      {isSignedIn ? (
        <Boundary>
          {/* For other people or another tenant, all is mounted again: mounted reads would stay with the former cache. */}
          <Entered key={audience} sessions={sessions} />
        </Boundary>
      ) : (
        <SignIn error={failed} />
      )}
      <Toasts />
    </>
  );
};
