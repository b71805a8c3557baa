import { type Client, createClient } from '../../../client/src/index.ts';
import { identityOf, presentToken, type Session } from './store.ts';

/** Client of the sign-in, without a token. */
export const anonymous: Client = createClient({ url: location.origin, retry: { times: 1 } });

const clients = new Map<string, Client>();

/** The client of a session. After a 401 the client waits until the session is renewed, then repeats the request. */
export const clientOf = (session: Session): Client => {
  const identity = identityOf(session);
  const known = clients.get(identity) ?? renewing(session);
  clients.set(identity, known);
  return known;
};

const renewing = (session: Session): Client =>
  createClient({
    url: location.origin,
    token: () => presentToken(session),
    fetch: async (request) => {
      const repeated = request.clone();
      const answer = await fetch(request);
      if (answer.status !== 401) return answer;
      const refused = request.headers.get('authorization')?.replace('Bearer ', '');
      repeated.headers.set('authorization', `Bearer ${await presentToken(session, refused)}`);
      return fetch(repeated);
    },
  });
