import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { type Client, clientOf } from '../../support/client.ts';
import { cleanUp, KEYS, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { login, users } from '../../support/shapes.ts';
import { USERS } from '../../support/world.ts';

/** Decisions, section 12, DEMO: sign-ins created in an empty store and printed once. */
describe('The first start', () => {
  /** A server with DEMO=0 that has stopped. */
  let plain: Server;
  before(async () => {
    plain = await startServer({ env: { DEMO: '0' } });
    await plain.stop();
  });
  after(cleanUp);

  const unset = Object.fromEntries(
    [...Object.keys(KEYS), 'PLATFORM_ADMIN_EMAIL', 'PLATFORM_ADMIN_PASSWORD', 'DEMO'].map((name) => [
      name,
      undefined,
    ]),
  );
  const LINE = /^ {2}(\S.*?\S) {2,}(\S+@\S+) +(\S+)$/gm;
  const signIns = (server: Server) =>
    [...server.output().matchAll(LINE)].map(([, what = '', email = '', password = '']) => ({
      what,
      email,
      password,
    }));

  const enter = (api: Client, path: string, email: string, password: string) =>
    api.post(path, { email, password });

  it('with nothing set prints valid sign-ins once, and stores its secrets privately', async () => {
    const dataDir = await newDataFolder();
    const server = await startServer({ dataDir, env: unset });
    const printed = signIns(server);
    expect(printed.map(({ what }) => what)).to.deep.equal(['platform admin', 'demo admin', 'demo operator']);
    const api = await clientOf(() => server);
    const root = printed[0];
    const shape = z.object({ token: z.string() });
    const platform = (await enter(api, '/super/auth/login', root?.email ?? '', root?.password ?? '')).as(
      shape,
    );
    expect((await api.with(platform.token).get('/super/tenants')).status).to.equal(200);
    const tokens: string[] = [];
    for (const { what, email, password } of printed.slice(1)) {
      const answer = (await enter(api, '/auth/login', email, password)).as(login);
      expect([answer.user.tenant_id, answer.user.role]).to.deep.equal(what.split(' '));
      tokens.push(answer.token);
    }
    const list = (await api.with(tokens[0]).get(USERS)).as(users);
    expect(list).to.have.length(2);
    const kept = join(dataDir, 'development-secrets.json');
    expect((await stat(kept)).mode & 0o077, 'readable by its owner only').to.equal(0);
    const keys = z.record(z.string(), z.string()).parse(JSON.parse(await readFile(kept, 'utf8')));
    for (const key of Object.values(keys)) expect(server.output()).not.to.contain(key);
    await server.stop();

    const again = await startServer({ dataDir, env: unset });
    expect(signIns(again)).to.deep.equal([]);
    for (const { password } of printed) expect(again.output()).not.to.contain(password);
    // The restart keeps the secrets and people of the first start.
    const later = await clientOf(() => again);
    expect((await later.with(tokens[0]).get(USERS)).status).to.equal(200);
    for (const { email, password } of printed.slice(1))
      (await enter(later, '/auth/login', email, password)).as(login);
    await again.stop();
  });

  it('uses the platform admin of the environment when there is one', async () => {
    const server = await startServer({ env: { DEMO: '1' } });
    expect(signIns(server).map(({ what }) => what)).to.deep.equal(['demo admin', 'demo operator']);
    await server.stop();
  });

  it('creates nothing with DEMO=0, nor in production without DEMO', async () => {
    expect(signIns(plain)).to.deep.equal([]);
    const server = await startServer({ env: { DEMO: undefined, NODE_ENV: 'production' } });
    expect(signIns(server)).to.deep.equal([]);
    await server.stop();
  });

  it('adds nothing to a store with data', async () => {
    const demo = await startServer({ dataDir: plain.dataDir, env: { DEMO: '1' } });
    expect(signIns(demo)).to.deep.equal([]);
    await demo.stop();
  });
});
