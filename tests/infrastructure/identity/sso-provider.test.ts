import { expect } from 'chai';
import {
  type ProviderSettings,
  ProviderUnavailable,
  SignInRefused,
  type SsoProvider,
} from '../../../application/ports/sso-provider.ts';
import type { Fetch } from '../../../infrastructure/http/guarded-fetch.ts';
import { openIdProvider } from '../../../infrastructure/identity/sso-provider.ts';
import {
  CLIENT,
  type IdentityProvider,
  listen,
  startProvider,
  stopProviders,
} from '../../support/identity-provider.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

/** A real provider behind a `fetch` that counts requests and can change answers. */
describe('The OpenID Connect adapter', () => {
  let idp: IdentityProvider;
  let asked: string[];
  let spoil: (url: string, text: string) => string;
  let now: number;

  const watched: Fetch = async (url, init) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    const response = await fetch(url, init);
    const text = await response.text();
    const { status, headers } = response;
    return new Response(spoil(pathname, text), {
      status,
      headers: { 'content-type': headers.get('content-type') ?? '' },
    });
  };

  const adapter = (own: Partial<Parameters<typeof openIdProvider>[0]> = {}): SsoProvider =>
    openIdProvider({ fetch: watched, clock: { now: () => now }, loopbackHttp: true, ...own });

  const settings = (own: Partial<ProviderSettings> = {}): ProviderSettings => ({
    key: 'acme 1',
    issuer: idp.issuer,
    clientId: CLIENT.client_id,
    clientSecret: CLIENT.client_secret,
    ...own,
  });

  before(async () => {
    idp = await startProvider({ redirectUri: REDIRECT, fullTokens: true });
    idp.next = { sub: 'ann', email: 'ann@corp.example', email_verified: true, name: 'Ann' };
  });
  after(stopProviders);
  beforeEach(() => {
    asked = [];
    spoil = (_url, text) => text;
    now = 0;
  });

  /** Walks through the provider's pages like a browser, and returns the code. */
  const codeFrom = async (begun: string): Promise<{ code: string; iss: string | undefined }> => {
    let url = begun;
    const cookies = new Map<string, string>();
    while (!url.startsWith(REDIRECT)) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
      for (const line of response.headers.getSetCookie()) {
        const [name = '', value = ''] = line.split(';')[0]?.split('=') ?? [];
        cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) throw new Error(`${response.status}: ${await response.text()}`);
      url = new URL(location, url).href;
    }
    const { searchParams } = new URL(url);
    return { code: searchParams.get('code') ?? '', iss: searchParams.get('iss') ?? undefined };
  };

  const whole = async (provider = adapter()) => {
    const begun = await provider.start(settings(), REDIRECT);
    const answer = await codeFrom(begun.url);
    return {
      begun,
      finish: (own = {}) => provider.finish(settings(), REDIRECT, { ...begun, ...own }, answer),
    };
  };

  const refusedWith = async (attempt: Promise<unknown>): Promise<string> => {
    try {
      await attempt;
    } catch (error) {
      if (error instanceof SignInRefused) return error.message;
      throw error;
    }
    throw new Error('it was not refused');
  };

  const unavailableWith = async (attempt: Promise<unknown>): Promise<string> => {
    try {
      await attempt;
    } catch (error) {
      if (error instanceof ProviderUnavailable) return error.message;
      throw error;
    }
    throw new Error('it was available');
  };

  it('returns the person’s identity', async () => {
    const { finish } = await whole();
    expect(await finish()).to.deep.equal({
      issuer: idp.issuer,
      subject: 'ann',
      email: 'ann@corp.example',
      emailVerified: true,
      name: 'Ann',
    });
  });

  it('creates new values for each sign-in', async () => {
    const provider = adapter();
    const [one, two] = [
      await provider.start(settings(), REDIRECT),
      await provider.start(settings(), REDIRECT),
    ];
    for (const name of ['state', 'nonce', 'codeVerifier', 'url'] as const) {
      expect(one[name]).not.to.equal(two[name]);
      expect(one[name].length).to.be.at.least(43);
    }
    expect(one.url).not.to.contain(one.codeVerifier);
  });

  it('refuses another nonce, another verifier, and a used code', async () => {
    const nonce = await whole();
    expect(await refusedWith(nonce.finish({ nonce: 'x'.repeat(43) }))).to.equal(
      'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
    );
    const verifier = await whole();
    expect(await refusedWith(verifier.finish({ codeVerifier: 'x'.repeat(43) }))).to.equal('invalid_grant');
    const { finish } = await whole();
    await finish();
    expect(await refusedWith(finish())).to.equal('invalid_grant');
  });

  /** Changes the header or the claims of the ID token in transit. @param sign false: also removes the signature */
  const withToken = (change: (header: object, claims: object) => [object, object], sign = true) => {
    spoil = (url, text) => {
      if (!url.endsWith('/token')) return text;
      const answer = JSON.parse(text);
      const [header = '', claims = '', signature = ''] = String(answer.id_token).split('.');
      const parsed = [header, claims].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
      const parts = change(parsed[0], parsed[1]).map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      );
      return JSON.stringify({ ...answer, id_token: [...parts, sign ? signature : ''].join('.') });
    };
  };

  it('refuses an ID token with an invalid signature', async () => {
    for (const change of [
      (header: object, claims: object): [object, object] => [header, { ...claims, sub: 'admin' }],
      (header: object, claims: object): [object, object] => [{ ...header, alg: 'none' }, claims],
      (header: object, claims: object): [object, object] => [{ ...header, alg: 'HS256' }, claims],
    ]) {
      const { finish } = await whole();
      withToken(change);
      expect(await refusedWith(finish())).to.match(/^[A-Za-z_ ]+$/);
    }
    const { finish } = await whole();
    withToken((header, claims) => [{ ...header, alg: 'none' }, claims], false);
    await refusedWith(finish());
  });

  it('refuses an ID token of another issuer, for another client, or outside its validity', async () => {
    for (const own of [{ iss: 'https://evil.example' }, { aud: 'another' }, { exp: 1_000 }, { iat: 'x' }]) {
      const { finish } = await whole();
      withToken((header, claims) => [header, { ...claims, ...own }]);
      await refusedWith(finish());
    }
    const { finish } = await whole();
    spoil = (url, text) =>
      url.endsWith('/token') ? JSON.stringify({ ...JSON.parse(text), id_token: undefined }) : text;
    await refusedWith(finish());
  });

  it('refuses a sign-in whose user info names another person than the ID token', async () => {
    const terse = await startProvider({ redirectUri: REDIRECT });
    terse.next = { sub: 'ann', email: 'ann@corp.example', email_verified: true };
    const provider = adapter();
    const own = settings({ issuer: terse.issuer, key: 'terse' });
    const begun = await provider.start(own, REDIRECT);
    const answer = await codeFrom(begun.url);
    spoil = (url, text) => (url.endsWith('/me') ? text.replace('"ann"', '"bob"') : text);
    await refusedWith(provider.finish(own, REDIRECT, begun, answer));
    expect(asked).to.include('/me');
  });

  it('returns an e-mail as unverified unless the claim is the boolean true', async () => {
    for (const value of ['true', 1, 'yes', null]) {
      const terse = await startProvider({ redirectUri: REDIRECT });
      terse.next = { sub: 'ann', email: 'ann@corp.example' };
      const provider = adapter();
      const own = settings({ issuer: terse.issuer, key: String(value) });
      const begun = await provider.start(own, REDIRECT);
      const answer = await codeFrom(begun.url);
      spoil = (url, text) =>
        url.endsWith('/me') ? JSON.stringify({ ...JSON.parse(text), email_verified: value }) : text;
      const found = await provider.finish(own, REDIRECT, begun, answer);
      expect(found.emailVerified, String(value)).to.equal(false);
      expect(found.email).to.equal('ann@corp.example');
    }
  });

  it('caches the metadata for five minutes, separately for changed settings', async () => {
    const provider = adapter();
    const ask = async (key: string): Promise<number> => {
      asked = [];
      await provider.start(settings({ key }), REDIRECT);
      return asked.length;
    };
    expect(await ask('acme 1')).to.equal(1);
    now = 299_999;
    expect(await ask('acme 1')).to.equal(0);
    expect(await ask('acme 2'), 'changed settings').to.equal(1);
    now = 300_000;
    expect(await ask('acme 1')).to.equal(1);
  });

  it('times out on a silent provider, also at the token endpoint', async () => {
    const silent = await listen(() => undefined);
    const provider = adapter({ timeoutMs: 200 });
    const late = settings({ issuer: silent.origin, key: 'silent' });
    const began = performance.now();
    expect(await unavailableWith(provider.start(late, REDIRECT))).to.contain('cannot be reached');
    expect(performance.now() - began, 'without the option it is ten seconds').to.be.lessThan(9000);

    const patient: Fetch = (url, init) =>
      url.endsWith('/token') ? fetch(`${silent.origin}/token`, init) : watched(url, init);
    const { finish } = await whole(adapter({ fetch: patient, timeoutMs: 2000 }));
    expect(await unavailableWith(finish())).to.contain('cannot be reached');
  });

  it('has one deadline for all its requests', async () => {
    const slow: Fetch = async (url, init) => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      init.signal?.throwIfAborted();
      return watched(url, init);
    };
    const quick = adapter();
    const begun = await quick.start(settings(), REDIRECT);
    const answer = await codeFrom(begun.url);
    // The requests for metadata, token and keys each end in time, but together they take too long.
    const provider = adapter({ fetch: slow, timeoutMs: 350 });
    await unavailableWith(provider.finish(settings(), REDIRECT, begun, answer));
  });

  it('reports failing token and key endpoints as unavailable', async () => {
    for (const broken of ['/token', '/jwks']) {
      const failing: Fetch = (url, init) =>
        new URL(url).pathname === broken
          ? Promise.resolve(new Response('no', { status: 502 }))
          : watched(url, init);
      const { finish } = await whole(adapter({ fetch: failing }));
      expect(await unavailableWith(finish())).to.equal('the provider answered 502');
    }
  });

  it('follows no redirect', async () => {
    for (const from of ['/token', '/jwks', '/.well-known/openid-configuration']) {
      const modes: (string | undefined)[] = [];
      const moving: Fetch = (url, init) => {
        modes.push(init.redirect);
        return new URL(url).pathname === from
          ? Promise.resolve(
              new Response(null, { status: 307, headers: { location: 'https://evil.example' } }),
            )
          : watched(url, init);
      };
      const provider = adapter({ fetch: moving });
      const attempt = from.startsWith('/.well')
        ? provider.start(settings(), REDIRECT)
        : whole(provider).then(({ finish }) => finish());
      expect(await unavailableWith(attempt)).to.equal('the provider answered 307');
      expect(new Set(modes)).to.deep.equal(new Set(['manual']));
    }
  });

  it('accepts plain http only on loopback, and only when allowed', async () => {
    expect(await unavailableWith(adapter({ loopbackHttp: false }).start(settings(), REDIRECT))).to.contain(
      'OAUTH_HTTP_REQUEST_FORBIDDEN',
    );
    spoil = (url, text) =>
      url.includes('.well-known') ? text.replace(`${idp.issuer}/token`, 'http://token.example/token') : text;
    const { finish } = await whole();
    expect(await unavailableWith(finish())).to.contain('plain http');
  });

  it('refuses metadata whose issuer is not the configured one', async () => {
    const general = 'https://login.microsoftonline.com/common/v2.0';
    const speaking: Fetch = () =>
      Promise.resolve(
        Response.json({
          issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0',
          authorization_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
        }),
      );
    const attempt = adapter({ fetch: speaking }).start(settings({ issuer: general }), REDIRECT);
    expect(await unavailableWith(attempt)).to.contain('not the configured one');
  });

  it('sends a browser only to a web page', async () => {
    spoil = (_url, text) => text.replace(`${idp.issuer}/auth`, 'javascript:alert(1)//');
    await unavailableWith(adapter().start(settings(), REDIRECT));
  });
});
