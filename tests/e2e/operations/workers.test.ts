import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { expect } from 'chai';
import { z } from 'zod';
import { scrapeOf } from '../../support/metrics.ts';
import { cleanUp, eventually, startAndExit } from '../../support/server.ts';
import { type Member, startWorld, type TestTenant, USERS, type World } from '../../support/world.ts';
import { type Answer, allServe, alone, pidsOf } from './worker-support.ts';

const LOGINS = 60;

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const ENTITIES = '/api/v1/tenant/entities';
const RECORDS = `${ENTITIES}/things/records`;

describe('Several processes on one port', () => {
  let world: World;
  let tenant: TestTenant;
  let hasEnded = true;
  beforeEach(async function () {
    // Starts two processes, one after the other.
    this.timeout(300_000);
    // Tests that leave their server running share it.
    if (hasEnded) await started();
    tenant = await world.tenant();
    const fields = [{ key: 'title', label: 'Title', type: 'text', required: false }];
    expect(
      (await tenant.admin.api.post(ENTITIES, { name: 'things', label: 'Things', fields })).status,
    ).to.equal(201);
    await allServe(world.server);
  });
  const started = async (): Promise<void> => {
    await cleanUp();
    world = await startWorld({ env: { WORKERS: '2', LOGIN_LIMIT_PER_MINUTE: String(LOGINS) } });
    hasEnded = false;
    void world.server.exited.then(() => {
      hasEnded = true;
    });
  };
  after(cleanUp);

  /** Ids of the processes that run now. */
  const livingPids = (): number[] => [...pidsOf(world.server).values()].flat().filter(isAlive);

  const add = (title: string, who: Member = tenant.admin): Promise<Answer> =>
    alone(world.server, 'POST', RECORDS, {
      token: who.token,
      body: { values: { title } },
      key: randomUUID(),
    });
  const titles = async (): Promise<string[]> => {
    const { text } = await alone(world.server, 'GET', `${RECORDS}?limit=200`, { token: tenant.admin.token });
    return z
      .array(z.looseObject({ values: z.looseObject({ title: z.string() }) }))
      .parse(JSON.parse(text))
      .map(({ values }) => values.title);
  };

  /** Number of records that requests to all processes have made, by the metrics of one process. */
  const posts = async (): Promise<number> => {
    const { value } = scrapeOf((await alone(world.server, 'GET', '/metrics')).text);
    const labels = { method: 'POST', route: '/api/v1/tenant/entities/:name/records', status: '2xx' };
    return value('workflow_http_request_duration_seconds_count', labels) ?? 0;
  };

  it('are one server: each request sees every answered write and withdrawn right, and metrics and limits are common', async () => {
    const { server } = world;
    const before = await posts();
    for (let i = 0; i < 15; i += 1) {
      expect((await add(`n${i}`)).status).to.equal(201);
      expect(await titles()).to.include(`n${i}`);
    }
    for (let i = 0; i < 5; i += 1) {
      const ben = await tenant.person(`Ben ${i}`);
      const me = (): Promise<Answer> => alone(server, 'GET', '/api/v1/tenant/me', { token: ben.token });
      expect((await me()).status).to.equal(200);
      const path = `${USERS}/${ben.id}`;
      const body = { status: 'deactivated' };
      expect((await alone(server, 'PATCH', path, { token: tenant.admin.token, body })).status).to.equal(200);
      expect((await me()).status).to.equal(401);
    }
    expect(await posts()).to.equal(before + 15);
    const admitted = async (tries: number, agent?: Agent): Promise<number> => {
      let count = 0;
      for (let i = 0; i < tries; i += 1) {
        const { status } = await alone(server, 'POST', '/auth/login', { body: {}, ...(agent && { agent }) });
        if (status !== 429) count += 1;
      }
      return count;
    };
    // One process takes the whole limit. The other one is updated every 50 ms and admits a few more; with a limit of
    // its own it would admit as many again.
    const one = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await admitted(2 * LOGINS, one)).to.be.at.least(LOGINS);
    const began = performance.now();
    const more = await admitted(3 * LOGINS);
    const refilled = ((performance.now() - began) / 60_000) * LOGINS;
    expect(more - refilled).to.be.lessThan(LOGINS / 2);
    one.destroy();
  });

  for (const [kind, place] of [
    ['that serves requests', 1],
    ['with the background work', 0],
  ] as const) {
    it(`continue when the process ${kind} is killed under load, and the process is started again`, async function () {
      this.timeout(300_000);
      const { server } = world;
      const acknowledged: string[] = [];
      let ended = false;
      const write = async (writer: number): Promise<void> => {
        for (let i = 0; !ended; i += 1) {
          const title = `w${writer}-${i}`;
          const answer = await add(title).catch(() => undefined);
          if (answer?.status === 201) acknowledged.push(title);
        }
      };
      const writers = [0, 1, 2].map(write);
      const before = pidsOf(server).get(place) ?? [];
      process.kill(before.at(-1) ?? expect.fail('no process'), 'SIGKILL');
      const written = acknowledged.length;
      await eventually('writes go on', () => acknowledged.length > written + 10, 60_000);
      await eventually(
        'it is started again',
        () => (pidsOf(server).get(place) ?? []).length > before.length,
        60_000,
      );
      await allServe(server);
      ended = true;
      await Promise.all(writers);
      const found = new Set<string>();
      let next: string | undefined = `${RECORDS}?limit=200`;
      while (next !== undefined) {
        const path: string = next;
        const page = await eventually(
          'the page is served',
          async () => {
            const answer = await tenant.admin.api.get(path);
            return answer.status === 503 ? undefined : answer;
          },
          60_000,
        );
        const docs = page.as(z.array(z.looseObject({ values: z.looseObject({ title: z.string() }) })));
        for (const { values } of docs) {
          expect(found.has(values.title), values.title).to.equal(false);
          found.add(values.title);
        }
        next = /^<([^>]+)>/.exec(page.header('link') ?? '')?.[1];
      }
      expect(acknowledged.filter((title) => !found.has(title))).to.deep.equal([]);
    });
  }

  it('do not start on a port in use, or with a role that serves no requests', async () => {
    const taken = await startAndExit({ WORKERS: '2', PORT: String(world.server.port) });
    expect(taken.code, taken.output).to.equal(1);
    expect(taken.output).not.to.contain('a process was started');
    const wrong = await startAndExit({ WORKERS: '2', ROLE: 'worker' });
    expect([wrong.code, wrong.output]).to.deep.equal([
      1,
      'WORKERS must be 1 with ROLE=worker: only processes that serve requests share a port.\n',
    ]);
  });

  it('answer pending requests at SIGTERM, and stop in order with exit code 0', () => stopsInOrder('SIGTERM'));

  it('answer pending requests when a terminal sends SIGINT to all of them, and stop in order', () =>
    stopsInOrder('SIGINT'));

  it('answer pending requests when a terminal closes, with SIGHUP to all of them, and stop in order', () =>
    stopsInOrder('SIGHUP'));

  const stopsInOrder = async (signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): Promise<void> => {
    const { server } = world;
    const begun = Array.from({ length: 12 }, (_, nth) => add(`t${nth}`).catch(() => undefined));
    const pids = livingPids();
    await begun[0];
    if (signal !== 'SIGTERM') for (const pid of pids) process.kill(pid, signal);
    server.signal(signal);
    const exit = await server.exited;
    expect(exit).to.deep.equal({ code: 0, signal: null });
    expect(pids.filter(isAlive)).to.deep.equal([]);
    const order = [...server.output().matchAll(/"process":(\d),"reason":"SIGTERM","msg":"stopping"/g)].map(
      ([, place]) => place,
    );
    expect(order).to.deep.equal(['1', '0']);
    const answers = await Promise.all(begun);
    expect(answers.filter((answer) => answer !== undefined && answer.status !== 201)).to.deep.equal([]);
  };

  it('end when their supervisor is killed', async () => {
    const { server } = world;
    const pids = livingPids();
    expect(pids).to.have.length(2);
    await server.kill();
    await eventually('no process is left', () => !pids.some(isAlive), 30_000);
  });
});
