import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { eventually, startAndExit } from '../../support/server.ts';
import { liveMessage } from '../../support/shapes.ts';
import { allMessages } from '../../support/unread-model.ts';
import {
  BASE,
  endWorld,
  type Member,
  restartEnded,
  startWorld,
  talk,
  type World,
} from '../../support/world.ts';

describe('SIGTERM', () => {
  let world: World;
  let ada: Member;
  let id: string;

  before(async () => {
    world = await startWorld({ env: { LOG_LEVEL: 'info', REQUEST_LOG_PER_SECOND: '1000000' } });
    const tenant = await world.tenant();
    ada = await tenant.person('Ada');
    id = await talk(ada, await tenant.person('Ben'));
  });
  after(endWorld);

  /** A request whose last byte is withheld, to keep it open. */
  const slowRequest = (body: string) => {
    const text = JSON.stringify({ body });
    const socket = connect(world.server.port, '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      received += chunk;
    });
    const ended = new Promise<string>((resolve) => {
      socket.on('close', () => resolve(received));
      socket.on('error', () => undefined);
    });
    socket.write(
      `POST ${BASE}/${id}/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ada.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text.slice(0, -1)}`,
    );
    return { finish: () => socket.write(text.slice(-1)), ended };
  };

  it('answers open requests, keeps their writes, and exits with 0 within ten seconds', async () => {
    const slow = slowRequest('begun before the signal');
    const quick = Array.from({ length: 40 }, (_, i) =>
      ada.api.post(`${BASE}/${id}/messages`, { body: `quick ${i}` }).catch((error: unknown) => {
        if (error instanceof TypeError) return undefined;
        throw error;
      }),
    );
    await quick[0];
    const began = performance.now();
    world.server.signal('SIGTERM');
    setTimeout(() => slow.finish(), 500);
    expect(await slow.ended).to.match(/^HTTP\/1\.1 201 /);
    const answers = await Promise.all(quick);
    const { code, signal } = await world.server.exited;
    expect([code, signal]).to.deep.equal([0, null]);
    // Kept-alive connections must not use up the ten seconds.
    expect(performance.now() - began).to.be.lessThan(await atPresentPace(9000));
    const acknowledged = answers.flatMap((answer) => (answer ? [answer.as(liveMessage, 201).id] : []));
    expect(acknowledged.length).to.be.greaterThan(0);
    await world.restart();
    await world.ready();
    const history = await allMessages(ada, id);
    expect(history.map((one) => one.id)).to.include.members(acknowledged);
    expect(history.some((one) => 'body' in one && one.body === 'begun before the signal')).to.equal(true);
  });

  it('ends within ten seconds despite an endless request', async () => {
    const slow = slowRequest('never');
    await ada.api.get(BASE);
    const began = performance.now();
    const { code } = await world.server.stop();
    expect(code).to.equal(0);
    expect(performance.now() - began).to.be.lessThan(await atPresentPace(10_000));
    await slow.ended;
    await world.restart();
  });

  it('releases leases: the next start serves at once', async () => {
    await world.server.stop();
    const reads = new DatabaseSync(join(world.server.dataDir, 'read-models.db'), { readOnly: true });
    const leases = reads.prepare('SELECT name, owner FROM leases').all();
    reads.close();
    expect(leases.length).to.be.greaterThan(10);
    expect(leases.filter(({ owner }) => owner !== null)).to.deep.equal([]);
    await world.restart();
    await world.ready();
  });

  it('under load answers every request that was begun and accepts no new one', async () => {
    const answered = new Map<string, number>();
    let isOver = false;
    const load = async (client: number): Promise<void> => {
      for (let nth = 0; !isOver; nth += 1) {
        const requestId = `load-${client}-${nth}`;
        const headers = { 'x-request-id': requestId, connection: 'close' };
        try {
          const answer = await ada.api.post(`${BASE}/${id}/messages`, { body: requestId }, { headers });
          answered.set(requestId, answer.status);
        } catch (error) {
          // The connection was refused, or the server had not accepted it yet.
          if (!(error instanceof TypeError)) throw error;
          isOver = true;
        }
      }
    };
    const clients = Array.from({ length: 16 }, (_, client) => load(client));
    await eventually('load', () => answered.size > 50, 60_000);
    const began = performance.now();
    const { code } = await world.server.stop();
    expect(code).to.equal(0);
    expect(performance.now() - began).to.be.lessThan(await atPresentPace(10_000));
    await Promise.all(clients);
    expect([...new Set(answered.values())]).to.deep.equal([201]);
    const output = world.server.output();
    const begun = [...output.matchAll(/"request_id":"(load-[0-9-]+)"/g)].map(([, one = '']) => one);
    expect(begun.length).to.be.at.least(50);
    expect(begun.filter((one) => !answered.has(one))).to.deep.equal([]);
    expect(output).to.contain('"cut_connections":0');
    await world.restart();
    await eventually('ready', async () => (await world.anybody.get('/health/ready')).status === 200, 60_000);
    const stored = new Set((await allMessages(ada, id)).map((one) => ('body' in one ? one.body : '')));
    expect([...answered.keys()].filter((one) => !stored.has(one))).to.deep.equal([]);
  });

  it('has the same effect when sent twice, and so have SIGINT and the SIGHUP of a closing terminal', async () => {
    for (const signals of [['SIGINT', 'SIGTERM'], ['SIGTERM', 'SIGTERM'], ['SIGHUP']] as const) {
      await restartEnded(world);
      for (const signal of signals) world.server.signal(signal);
      expect((await world.server.exited).code).to.equal(0);
      expect(world.server.output()).to.contain('"msg":"stopped"');
    }
  });
});

describe('A start with invalid configuration', () => {
  for (const [what, env, name] of [
    ['a short key', { TENANT_JWT_SECRET: 'short' }, 'TENANT_JWT_SECRET'],
    [
      'one key for two kinds of tokens',
      { PLATFORM_JWT_SECRET: 'tenant-key-of-the-tests-0123456789abcdef' },
      'PLATFORM_JWT_SECRET',
    ],
    ['a missing key in production', { NODE_ENV: 'production', MASTER_KEY: undefined }, 'MASTER_KEY'],
    ['a port above 65535', { PORT: '99999' }, 'PORT'],
    ['an unknown role', { ROLE: 'boss' }, 'ROLE'],
  ] as const) {
    it(`ends with one sentence that names the variable: ${what}`, async () => {
      const { code, output } = await startAndExit(env);
      expect(code).to.equal(1);
      expect(output).to.contain(name);
      expect(output.trim().split('\n')).to.have.length(1);
      expect(output).not.to.contain('tenant-key-of').and.not.to.contain('short');
    });
  }
});
