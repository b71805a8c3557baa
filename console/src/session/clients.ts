import { type Client, createClient } from '../../../client/src/index.ts';
import { identityOf, presentToken, type Session, type SessionKind } from './store.ts';

/** For sign-in. */
export const anonymous: Client = createClient({ url: location.origin, retry: { times: 1 } });

const clients = new Map<string, Client>();

/** The client of a session. It waits while a session that has ended is renewed, then sends the request again. */
export const clientOf = (session: Session): Client => {
  const identity = identityOf(session);
  const known = clients.get(identity) ?? renewing(session.kind);
  clients.set(identity, known);
  return known;
};

export const forgetClients = (): void => clients.clear();

const renewing = (kind: SessionKind): Client =>
  createClient({
    url: location.origin,
    token: () => presentToken(kind),
    fetch: async (request) => {
      const again = request.clone();
      const answer = await fetch(request);
      if (answer.status !== 401) return answer;
      const refused = request.headers.get('authorization')?.replace('Bearer ', '');
      again.headers.set('authorization', `Bearer ${await presentToken(kind, refused)}`);
      return fetch(again);
    },
  });
