import { ApiError } from '../../../client/src/index.ts';

/**
 * Single sign-on: the identity provider sends the browser back to `/console/signed-in` with the token in the
 * fragment. A page that renews its session opens another window for this, which hands the token over and closes.
 */

const CHANNEL = 'console-sso';
const RETURN_TO = 'console-return-to';

const addressOf = (tenant: string, returnTo: string): string =>
  `/auth/sso/${encodeURIComponent(tenant)}/start?${new URLSearchParams({ return_to: returnTo }).toString()}`;

const returnAddress = (nonce: string): string => `${location.origin}/console/signed-in?for=${nonce}`;

/**
 * Leaves the page for the identity provider.
 * @throws {ApiError} when the tenant has no provider, or does not allow a return to this origin
 */
export const startSso = async (tenant: string): Promise<void> => {
  const address = addressOf(tenant, returnAddress(''));
  const answer = await fetch(address, { redirect: 'manual' });
  if (answer.type !== 'opaqueredirect')
    throw new ApiError(answer, await answer.json().catch(() => undefined));
  sessionStorage.setItem(RETURN_TO, location.pathname + location.search);
  location.assign(address);
};

/** Signs in again in another window. @throws when the window cannot be opened */
export const renewBySso = (tenant: string, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const nonce = crypto.randomUUID();
    const channel = new BroadcastChannel(CHANNEL);
    const end = (): void => channel.close();
    signal.addEventListener('abort', end, { once: true });
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (!Array.isArray(data) || data[0] !== nonce || typeof data[1] !== 'string') return;
      end();
      resolve(data[1]);
    };
    const opened = window.open(
      addressOf(tenant, returnAddress(nonce)),
      '_blank',
      'popup,width=520,height=700',
    );
    if (opened === null) {
      end();
      reject(new Error('The browser did not open a window. Allow pop-ups for this site.'));
    }
  });

/** Reads the result of a sign-in from the URL of `/console/signed-in`, and removes the token from it at once. */
export const arrived = (): { readonly token: string; readonly returnTo: string } | undefined => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  const nonce = new URLSearchParams(location.search).get('for') ?? '';
  const returnTo = sessionStorage.getItem(RETURN_TO) ?? '/console';
  sessionStorage.removeItem(RETURN_TO);
  history.replaceState(null, '', '/console/signed-in');
  if (token === null) return undefined;
  if (nonce === '') return { token, returnTo };
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage([nonce, token]);
  channel.close();
  window.close();
  return undefined;
};
