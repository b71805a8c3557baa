import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { z } from 'zod';
import { type Platform, startPlatform } from '../../../api/platform.ts';
import { readConfig } from '../../../infrastructure/config.ts';
import { createLogger } from '../../../infrastructure/logger.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { eventually, KEYS, newDataFolder } from '../../support/server.ts';
import { platformToken, tenantToken } from '../../support/tokens.ts';
import { BASE, endWorld, USERS } from '../../support/world.ts';

const HOUR_MS = 3_600_000;
const made = z.looseObject({ id: z.string() });
const sent = z.array(z.looseObject({ body: z.string(), created_at: z.string() }));

describe('A clock that is set back an hour', () => {
  let platform: Platform;
  let base: string;
  const clock = { offset: 0, now: () => Date.now() + clock.offset };

  before(async () => {
    const dataDir = await newDataFolder();
    const env = {
      ...KEYS,
      DATA_DIR: dataDir,
      DEMO: '0',
      EMBEDDING_MODEL: 'off',
      RATE_LIMIT_PER_MINUTE: '1000',
    };
    platform = await startPlatform({ config: readConfig(env), logger: createLogger('silent'), clock });
    await new Promise<void>((resolve) => platform.server.listen(0, '127.0.0.1', resolve));
    platform.started();
    const { port } = platform.server.address() as AddressInfo;
    base = `http://127.0.0.1:${port}`;
    await eventually('ready', async () => (await fetch(`${base}/health/ready`)).status === 200, 60_000);
  });
  after(async () => {
    await platform.stop();
    await endWorld();
  });

  const call = async (token: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    const { status, text } = await eventually('the read model', async () => {
      const answer = await fetch(base + path, init);
      const found = { status: answer.status, text: await answer.text() };
      // A busy machine may fold for longer than a read waits.
      return found.text.includes('"read_model_behind"') ? undefined : found;
    });
    expect(status, text).to.be.within(200, 201);
    return JSON.parse(text);
  };

  it('refuses no request, reads the newest writes, and keeps the order and times of messages', async () => {
    await call(platformToken(), '/super/tenants', { id: 'acme', name: 'Acme' });
    const boss = {
      tenantId: 'acme',
      id: '01a20000-0000-7000-8000-000000000001',
      email: 'boss@acme.example',
      role: 'admin',
    } as const;
    /** A token issued at the server's present time: the server refuses tokens from its future. */
    const signIn = (): string => {
      const iat = Math.floor(clock.now() / 1000);
      return tenantToken(boss, { iat, exp: iat + 3600 });
    };
    let token = signIn();
    await call(token, '/api/v1/tenant/me');
    const ben = made.parse(
      await call(token, USERS, { email: 'ben@acme.example', display_name: 'Ben', role: 'operator' }),
    );
    const { id } = made.parse(await call(token, BASE, { participant_user_ids: [ben.id] }));
    const path = `${BASE}/${id}/messages`;
    const bodies: string[] = [];
    const converse = async (until: number): Promise<void> => {
      while (bodies.length < until) {
        const body = `message ${bodies.length}`;
        await call(token, path, { body });
        bodies.push(body);
        const shown = sent.parse(await call(token, `${path}?limit=200`));
        expect(shown.map((one) => one.body).toSorted()).to.deep.equal(bodies.toSorted());
      }
    };
    await converse(5);
    clock.offset = -HOUR_MS;
    token = signIn();
    await converse(15);
    clock.offset = 0;
    token = signIn();
    await converse(20);
    const shown = sent
      .parse(await call(token, `${path}?limit=200`))
      .toSorted((a, b) => bodies.indexOf(a.body) - bodies.indexOf(b.body));
    const times = shown.map((one) => one.created_at);
    expect(times).to.deep.equal(times.toSorted());
  });
});

describe('A lease taken before the clock was set back', () => {
  after(endWorld);

  it('is free at once for another owner when its holder is gone', async () => {
    const path = join(await newDataFolder(), 'read-models.db');
    const store = await openSqliteReadStore({ path });
    await store.acquireLease('work', 'gone', 3000);
    expect(await store.acquireLease('work', 'next', 3000)).to.equal(undefined);
    const db = new DatabaseSync(path);
    db.exec('UPDATE leases SET expires_at = expires_at + 3600');
    db.close();
    expect(await store.acquireLease('work', 'next', 3000)).to.include({ owner: 'next', fence: 2 });
    await store.close();
  });
});
