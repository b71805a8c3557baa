import { expect } from 'chai';
import { z } from 'zod';
import { createRateLimits, TokenBuckets } from '../../../api/http/rate-limits.ts';
import { requestLog } from '../../../api/http/request-log.ts';
import { route } from '../../../api/http/route.ts';
import { testRoutes } from './routes.ts';
import { serve } from './support.ts';

describe('Token buckets', () => {
  it('allow a burst, then the rate at which tokens return', () => {
    const buckets = new TokenBuckets(600, 120);
    const taken = (now: number, tries: number) =>
      Array.from({ length: tries }, () => buckets.take('a', now)).filter((wait) => wait === undefined).length;
    expect(taken(0, 500)).to.equal(120);
    expect(taken(1_000, 500)).to.equal(10);
    expect(taken(1_050, 500)).to.equal(0);
    expect(taken(61_050, 500)).to.equal(120);
    expect(buckets.take('a', 61_050)).to.equal(1);
    expect(buckets.take('b', 61_050)).to.equal(undefined);
  });

  it('give the wait in whole seconds', () => {
    const buckets = new TokenBuckets(10, 10);
    for (let i = 0; i < 10; i += 1) expect(buckets.take('a', 0)).to.equal(undefined);
    expect(buckets.take('a', 0)).to.equal(6);
    expect(buckets.take('a', 5_500)).to.equal(1);
    expect(buckets.take('a', 6_000)).to.equal(undefined);
  });

  it('are disabled at 0', () => {
    const buckets = new TokenBuckets(0, 0);
    for (let i = 0; i < 1_000; i += 1) expect(buckets.take('a', 0)).to.equal(undefined);
    expect(buckets.size).to.equal(0);
  });

  it('are shared by processes that exchange their counts', () => {
    const clock = { now: () => 0 };
    const listeners: ((bucket: string, caller: string, tokens: number) => void)[] = [];
    const process = (nth: number) => {
      const shared = {
        took: (bucket: string, caller: string, tokens: number) =>
          listeners[1 - nth]?.(bucket, caller, tokens),
        onTaken: (listener: (bucket: string, caller: string, tokens: number) => void) => {
          listeners[nth] = listener;
        },
      };
      return createRateLimits({ requestsPerMinute: 50, loginsPerMinute: 6 }, clock, shared);
    };
    const both = [process(0), process(1)];
    const passed = (take: (limits: (typeof both)[number]) => number | undefined): number =>
      Array.from({ length: 600 }, (_, nth) => both[nth % 2]).filter(
        (limits) => limits !== undefined && take(limits) === undefined,
      ).length;
    expect(passed((limits) => limits.loginFrom('192.0.2.1'))).to.equal(6);
    expect(passed((limits) => limits.request('acme/ann'))).to.equal(10);
    expect(passed((limits) => limits.ofTenant('acme', 'free'))).to.equal(100);
    // 256 MiB of 256 bytes for each row.
    expect(passed((limits) => limits.previewOf('acme', 'free', 100_000))).to.equal(10);
  });

  it('never hold less than 0 tokens, however many requests another process admitted', () => {
    const buckets = new TokenBuckets(60, 10);
    buckets.debit('a', 1_000, 0);
    expect(buckets.take('a', 0)).to.equal(1);
    expect(buckets.take('a', 1_000)).to.equal(undefined);
  });

  it('are bounded, and evict the least recently seen caller', () => {
    const buckets = new TokenBuckets(1, 1, 3);
    for (const caller of ['a', 'b', 'c']) buckets.take(caller, 0);
    expect(buckets.take('a', 0)).to.equal(60);
    buckets.take('d', 0);
    expect(buckets.size).to.equal(3);
    expect(buckets.take('c', 0)).to.equal(60);
  });

  it('do not block callers when the clock is set back', () => {
    const buckets = new TokenBuckets(10, 10);
    buckets.take('a', 3_600_000);
    expect(buckets.take('a', 0)).to.equal(undefined);
  });
});

describe('Rate limits', () => {
  let now = 0;
  const clock = { now: () => now };
  const limits = () => createRateLimits({ requestsPerMinute: 15, loginsPerMinute: 2 }, clock);

  it('answer 429 after authentication and before the body', async () => {
    const server = await serve(testRoutes(), { limits: limits() });
    const ask = (as: string) => server.request('POST', '/api/v1/things', { as, body: '{' });
    for (let i = 0; i < 3; i += 1) expect((await ask('admin')).status).to.equal(400);
    const refused = await ask('admin');
    expect([refused.status, refused.json.error]).to.deep.equal([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).to.equal(4);
    expect(refused.json.details).to.deep.equal({ retry_after: 4, limit: 'credential' });
    expect((await ask('late')).status).to.equal(401);
    expect((await ask('operator')).status).to.equal(400);
    const { text } = await server.request('GET', '/metrics');
    expect(text).to.contain('workflow_requests_refused_total{limit="credential"} 1');
    now += 4_000;
    expect((await ask('admin')).status).to.equal(400);
    await server.close();
  });

  it('log a refused request with its caller and tenant', async () => {
    const lines: object[] = [];
    const logRequest = requestLog({ info: (fields) => void lines.push(fields) }, 100);
    const server = await serve(testRoutes(), { limits: limits(), logRequest });
    const ask = (as: string) => server.request('POST', '/api/v1/things', { as, body: '{' });
    for (let i = 0; i < 4; i += 1) await ask('admin');
    await ask('late');
    await server.close();
    expect(lines[3]).to.include({ status: 429, caller: 'user', tenant: 'acme' });
    expect(lines[4]).to.include({ status: 401, caller: 'anybody' });
  });

  it('report the remaining requests in the headers of the IETF draft', async () => {
    const server = await serve(testRoutes(), { limits: limits() });
    const ask = () => server.request('POST', '/api/v1/things', { as: 'admin', body: '{' });
    const seen: (string | null)[] = [];
    for (let i = 0; i < 4; i += 1) {
      const { headers, status } = await ask();
      expect(headers.get('ratelimit-policy')).to.equal('"credential";q=3;w=12, "tenant";q=90;w=12');
      seen.push(`${status} ${headers.get('ratelimit')}`);
    }
    expect(seen).to.deep.equal([
      '400 "credential";r=2;t=4, "tenant";r=89;t=1',
      '400 "credential";r=1;t=8, "tenant";r=88;t=1',
      '400 "credential";r=0;t=12, "tenant";r=87;t=1',
      '429 "credential";r=0;t=12, "tenant";r=87;t=1',
    ]);
    now += 5_000;
    expect((await ask()).headers.get('ratelimit')).to.equal('"credential";r=0;t=11, "tenant";r=89;t=1');
    const stranger = await server.request('GET', '/health/live');
    expect([stranger.headers.get('ratelimit'), stranger.headers.get('ratelimit-policy')]).to.deep.equal([
      null,
      null,
    ]);
    await server.close();
  });

  it('count all credentials of a tenant together, by its plan', () => {
    const given = createRateLimits({ requestsPerMinute: 5, loginsPerMinute: 0 }, clock);
    const passed = (tenant: string, plan: 'free' | 'enterprise'): number =>
      Array.from({ length: 100 }, () => given.ofTenant(tenant, plan)).filter((wait) => wait === undefined)
        .length;
    expect(passed('small', 'free'), 'a fifth of ten credentials').to.equal(10);
    expect(passed('large', 'enterprise'), 'a fifth of thirty credentials').to.equal(30);
    expect(passed('another', 'free')).to.equal(10);
  });

  it('count logins by address', async () => {
    const server = await serve(testRoutes(), { limits: limits() });
    const login = (email: string) =>
      server.request('POST', '/auth/login', { body: { email, password: 'no' } });
    expect((await login('a@x.test')).status).to.equal(401);
    expect((await login('b@x.test')).status).to.equal(401);
    const third = await login('c@x.test');
    expect([third.status, third.headers.get('retry-after')]).to.deep.equal([429, '30']);
    await server.close();
  });

  it('count logins by IPv4 address, also mapped, and by /48 for IPv6', () => {
    const given = limits();
    for (const [one, two, third, elsewhere] of [
      ['2001:db8::1', '2001:db8:0:1::1', '2001:db8:0:ffff::2', '2001:db8:1::1'],
      ['::ffff:198.51.100.1', '198.51.100.1', '::ffff:c633:6401', '198.51.100.2'],
    ] as const) {
      expect([one, two, third, elsewhere].map((address) => given.loginFrom(address))).to.deep.equal([
        undefined,
        undefined,
        30,
        undefined,
      ]);
    }
  });

  it('count logins by e-mail and network, and by e-mail alone at ten times the limit', () => {
    const given = limits();
    const own = ['198.51.100.1', '::ffff:198.51.100.2', '198.51.100.3'];
    expect(own.map((address) => given.loginAs('jo@x.test', address))).to.deep.equal([
      undefined,
      undefined,
      30,
    ]);
    const six = ['2001:db8::1', '2001:db8:0:1::1', '2001:db8:0:2::1'];
    expect(six.map((address) => given.loginAs('JO@x.test', address))).to.deep.equal([
      undefined,
      undefined,
      30,
    ]);
    const others = Array.from({ length: 17 }, (_, nth) => given.loginAs('jo@x.test', `203.0.${nth}.1`));
    // One e-mail has twenty attempts. Four were counted for the networks above; refused attempts do not count.
    expect(others.map((wait) => wait === undefined)).to.deep.equal([...Array(16).fill(true), false]);
    expect(others.at(-1)).to.equal(3);
    expect(given.loginAs('al@x.test', '198.51.100.1')).to.equal(undefined);
  });

  it('count logins by e-mail in any spelling of its letters', () => {
    const given = limits();
    const spellings = ['jos\u00e9@x.test', 'jose\u0301@x.test', 'JOSE\u0301@x.test'];
    expect(spellings.map((email) => given.loginAs(email, '198.51.100.1'))).to.deep.equal([
      undefined,
      undefined,
      30,
    ]);
  });

  it('count logins by the address that a trusted proxy gives', async () => {
    const server = await serve(testRoutes(), { limits: limits(), trustProxy: 1 });
    const login = (email: string, from: string) =>
      server.request('POST', '/auth/login', {
        body: { email, password: 'no' },
        headers: { 'X-Forwarded-For': from },
      });
    expect((await login('Jo@x.test', '10.0.0.1')).status).to.equal(401);
    expect((await login('jo@X.test ', '10.0.0.2')).status).to.equal(401);
    expect((await login('JO@x.test', '10.0.0.3')).status).to.equal(429);
    expect((await login('JO@x.test', '10.0.1.3')).status).to.equal(401);
    expect((await login('al@x.test', '10.0.0.1')).status).to.equal(401);
    expect((await login('ed@x.test', '10.0.0.1')).status).to.equal(429);
    await server.close();
  });

  it('ignore X-Forwarded-For without a proxy', async () => {
    const server = await serve(testRoutes(), { limits: limits() });
    const login = (i: number) =>
      server.request('POST', '/auth/login', {
        body: { email: `u${i}@x.test`, password: 'no' },
        headers: { 'X-Forwarded-For': `10.0.0.${i}` },
      });
    const statuses = [await login(1), await login(2), await login(3)].map(({ status }) => status);
    expect(statuses).to.deep.equal([401, 401, 429]);
    await server.close();
  });

  it('count public requests by address and operation, and are disabled with the limit of requests', () => {
    const given = limits();
    const tries = (address: string, operation: string): number =>
      Array.from({ length: 50 }, () => given.publicFrom(address, operation)).filter(
        (wait) => wait === undefined,
      ).length;
    expect([tries('a', 'submit'), tries('b', 'submit'), tries('a', 'validate')]).to.deep.equal([30, 30, 30]);
    expect(given.publicFrom('a', 'submit')).to.equal(2);
    now += 2_000;
    expect(given.publicFrom('a', 'submit')).to.equal(undefined);
    const off = createRateLimits({ requestsPerMinute: 0, loginsPerMinute: 2 }, clock);
    for (let i = 0; i < 100; i += 1) expect(off.publicFrom('a', 'submit')).to.equal(undefined);
  });

  it('apply to public routes by address, before the body is read', async () => {
    const open = route({
      method: 'post',
      path: '/public/things',
      operationId: 'submitThing',
      summary: 'Takes a thing',
      description: 'A route of the tests.',
      tag: 'Things',
      access: { kind: 'public' },
      limit: 'public',
      body: z.object({ title: z.string() }),
      responses: { 204: null },
      handle: async () => ({ status: 204 }),
    });
    const server = await serve([open], { limits: limits() });
    const submit = () => server.request('POST', '/public/things', { body: '{' });
    for (let i = 0; i < 30; i += 1) expect((await submit()).status).to.equal(400);
    const refused = await submit();
    expect([refused.status, refused.json.error]).to.deep.equal([429, 'rate_limited']);
    await server.close();
  });
});
