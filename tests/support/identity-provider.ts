import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Context } from 'oidc-provider';

/** A real OpenID Connect provider on this machine. It requires PKCE, and no password. */

export interface Account {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
}

export interface IdentityProvider {
  readonly issuer: string;
  /** The next account to sign in, or the error that the provider returns instead. */
  next: Account | { readonly error: string };
  /** Answers every request with 503 while true. */
  away: boolean;
  /** Stops the server; its port stays free. */
  stop(): Promise<void>;
}

export const CLIENT = { client_id: 'the-platform', client_secret: 'the-secret-of-the-client-0123456789' };

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const JWKS = { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'of-the-tests', use: 'sig' }] };

const running = new Set<Server>();

const closed = (server: Server): Promise<void> => {
  running.delete(server);
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
};

/** For `after` hooks: stops all providers. */
export const stopProviders = async (): Promise<void> => {
  await Promise.all([...running].map(closed));
};

/** A server with its own port that answers by `handler`. */
export const listen = async (
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ origin: string; stop: () => Promise<void> }> => {
  const server = createServer(handler);
  running.add(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, stop: () => closed(server) };
};

export const startProvider = async (options: {
  readonly redirectUri: string;
  /** Puts e-mail and name into the ID token too, not only into the userinfo answer. */
  readonly fullTokens?: boolean;
  readonly authentication?: 'client_secret_basic' | 'client_secret_post';
}): Promise<IdentityProvider> => {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const { origin, stop } = await listen((request, response) => handle(request, response));
  const accounts = new Map<string, Account>();
  const method = options.authentication ?? 'client_secret_basic';
  const provider = new Provider(origin, {
    clients: [
      { ...CLIENT, redirect_uris: [options.redirectUri], token_endpoint_auth_method: method },
      {
        client_id: 'another-client',
        client_secret: CLIENT.client_secret,
        redirect_uris: [options.redirectUri],
      },
    ],
    clientAuthMethods: [method],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: options.fullTokens !== true,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: {
      url: (_context: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}`,
    },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: () => accounts.get(sub) ?? { sub },
    }),
    loadExistingGrant: async ({ oidc }: Context) => {
      // A session has one grant per client; a new grant would end the tokens of the earlier grant.
      const known = oidc.session.grantIdFor(oidc.client.clientId);
      if (known !== undefined) return oidc.provider.Grant.find(known);
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    cookies: { keys: ['a cookie key of the tests'] },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
    },
    jwks: JWKS,
  });
  const idp: IdentityProvider = {
    issuer: origin,
    next: { sub: 'nobody' },
    away: false,
    stop,
  };
  const serve = provider.callback();
  handle = (request, response) => {
    if (idp.away) {
      response.writeHead(503).end();
      return;
    }
    if (!request.url?.startsWith('/interaction/')) {
      serve(request, response);
      return;
    }
    const { next } = idp;
    if ('sub' in next) accounts.set(next.sub, next);
    const result = 'sub' in next ? { login: { accountId: next.sub } } : { error: next.error };
    provider.interactionFinished(request, response, result).catch(() => response.destroy());
  };
  return idp;
};
