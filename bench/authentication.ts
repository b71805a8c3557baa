import type { IncomingMessage } from 'node:http';
import { bearerToken, checkAccess } from '../api/http/authorization.ts';
import type { Access } from '../api/http/route.ts';
import { inFolder } from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { TENANT } from './logs.ts';
import { postRate } from './post-message.ts';
import { type Line, microseconds } from './report.ts';
import { alternate, scaled } from './rounds.ts';
import { contextOf, createTenant, withUseCases } from './use-cases.ts';

const CALLERS = 64;
const ROUNDS = 5;
const OF_POST = 0.15;

const ACCESS: Access & { kind: 'principals' } = {
  kind: 'principals',
  kinds: ['user', 'extension', 'api_token'],
  scope: 'data:write',
};

/**
 * Compares the time from the `Authorization` header to the checked principal with the total time of `POST …/messages`.
 * 64 callers take turns.
 */
export const benchAuthentication = async (scale: number): Promise<Line[]> => {
  const count = scaled(64_000, scale, 640);
  const { jwt, apiToken } = await inFolder((folder) => alone(folder, count));
  const post = 1e6 / (await postRate(scale));
  return [lineOf('a JWT', jwt, post), lineOf('an API token', apiToken, post)];
};

const lineOf = (what: string, value: number, post: number): Line => ({
  figure: `authenticate ${what}`,
  value: microseconds(value),
  yardstick: { name: 'POST message, all of it', value: microseconds(post) },
  target: { text: `≤ ${OF_POST}`, met: value / post <= OF_POST },
});

/** Microseconds per request. */
const alone = (folder: string, count: number): Promise<{ jwt: number; apiToken: number }> =>
  withUseCases(folder, async (useCases) => {
    await createTenant(useCases, TENANT, { plan: 'free' });
    const jwts = Array.from({ length: CALLERS }, (_, nth) => tenantToken(TENANT, `user-${nth}`));
    const apiTokens: string[] = [];
    while (apiTokens.length < CALLERS) {
      const minted = await useCases.apiTokens.mint(
        TENANT,
        { name: 'bench', scopes: ['data:write'], lifetime: '90d', createdBy: 'bench' },
        contextOf('bench'),
      );
      apiTokens.push(minted.secret ?? '');
    }
    const each = async (tokens: readonly string[]): Promise<number> => {
      const requests = tokens.map(requestWith);
      for (const request of requests)
        await useCases.authentication.authenticate(bearerToken(request), 'tenant');
      const began = performance.now();
      for (let nth = 0; nth < count; nth += 1) {
        const request = requests[nth % CALLERS];
        if (request === undefined) continue;
        checkAccess(ACCESS, await useCases.authentication.authenticate(bearerToken(request), 'tenant'));
      }
      return ((performance.now() - began) / count) * 1000;
    };
    return await alternate(ROUNDS, { jwt: () => each(jwts), apiToken: () => each(apiTokens) });
  });

/** The part of a request that {@link bearerToken} reads. */
const requestWith = (token: string): IncomingMessage =>
  ({ rawHeaders: ['authorization', `Bearer ${token}`] }) as unknown as IncomingMessage;
