import { expect } from 'chai';
import { z } from 'zod';
import { type Recorded, unpack } from '../../fixtures/former-data/archive.ts';
import { admin } from '../../support/admin-cli.ts';
import { type FormerBuild, formerBuild } from '../../support/former-build.ts';
import { eventually, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { platformToken, tenantToken } from '../../support/tokens.ts';
import { BASE, endWorld, USERS } from '../../support/world.ts';

const message = z.looseObject({ id: z.string() });
const generations = z.array(z.looseObject({ state: z.string() }));

/** The former build and this one, as two processes on a folder that the former one has made. */
describe('A rolling upgrade', function () {
  this.timeout(400_000);
  let build: FormerBuild | undefined;
  let recorded: Recorded;
  let former: Server;
  let dataDir: string;

  before(async function () {
    const found = formerBuild();
    if (typeof found === 'string') {
      console.log(`      ${found}: this test is skipped`);
      return void this.skip();
    }
    build = found;
    dataDir = await newDataFolder();
    ({ recorded } = await unpack('2026-11', dataDir));
    former = await startServer({ dataDir, env: recorded.keys, main: build.main });
    await ready(former);
  });
  after(async () => {
    await endWorld();
    build?.remove();
  });

  const ready = (server: Server): Promise<unknown> =>
    eventually('ready', async () => (await fetch(`${server.base}/health/ready`)).status === 200, 60_000);

  const tokenOf = (who: string): string => {
    const caller = recorded.callers[who];
    if (caller?.kind !== 'person') throw new Error(`nobody is called ${who}`);
    return tenantToken(caller);
  };
  /** Retries a 503 after its `Retry-After`, three times at most, as clients do. */
  const send = async (url: string, init: RequestInit): Promise<Response> => {
    for (let tries = 0; ; tries += 1) {
      const answer = await fetch(url, init);
      const seconds = answer.headers.get('retry-after');
      if (answer.status !== 503 || seconds === null || tries === 3) return answer;
      await answer.text();
      await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000));
    }
  };
  const get = (server: Server, path: string, token: string) =>
    send(server.base + path, { headers: { authorization: `Bearer ${token}` } });

  it('refuses no request and loses no write while both builds run; the former build then reads the writes', async () => {
    const path = `${BASE}/${recorded.ids.conversation}/messages`;
    const ada = tokenOf('ada');
    const boss = tokenOf('acme');
    let serving: readonly Server[] = [former];
    let isOver = false;
    let answers = 0;
    const refused: string[] = [];
    const acknowledged: string[] = [];
    /** Imitates a client behind a load balancer; ignores connection errors of a server that left `serving`. */
    const client = async (who: number): Promise<void> => {
      for (let nth = 0; !isOver; nth += 1) {
        const server = serving[(who + nth) % serving.length] ?? former;
        const headers = {
          authorization: `Bearer ${ada}`,
          'content-type': 'application/json',
          'idempotency-key': `upgrade-${who}-${nth}`,
        };
        const init = {
          method: 'POST',
          headers,
          body: JSON.stringify({ body: `during the upgrade ${who} ${nth}` }),
        };
        try {
          const written = await send(server.base + path, init);
          const text = await written.text();
          if (written.status === 201) acknowledged.push(message.parse(JSON.parse(text)).id);
          else refused.push(`POST ${written.status} ${text}`);
          for (const [read, token] of [
            [`${path}?limit=20`, ada],
            [`${USERS}?limit=20`, boss],
          ] as const) {
            const answer = await get(server, read, token);
            if (answer.status !== 200) refused.push(`GET ${read} ${answer.status} ${await answer.text()}`);
            else await answer.text();
          }
          answers += 3;
        } catch (error) {
          if (!(error instanceof TypeError) || serving.includes(server)) throw error;
        }
      }
    };
    const more = (count: number): Promise<unknown> => {
      const until = answers + count;
      return eventually(`${count} answers`, () => answers >= until, 60_000);
    };
    const load = [0, 1, 2].map(client);
    await more(20);
    const present = await startServer({ dataDir, env: recorded.keys });
    await ready(present);
    serving = [former, present];
    await more(60);
    await eventually(
      'every generation of this build is active',
      async () => {
        const answer = await get(present, '/super/projections', platformToken());
        return generations.parse(await answer.json()).every(({ state }) => state === 'active');
      },
      60_000,
    );
    serving = [present];
    await more(10);
    expect((await former.stop()).code).to.equal(0);
    await more(30);
    isOver = true;
    await Promise.all(load);
    expect(refused).to.deep.equal([]);

    const stored = async (server: Server): Promise<string[]> => {
      const answer = await get(server, `${path}?limit=200`, ada);
      expect(answer.status).to.equal(200);
      return z
        .array(message)
        .parse(await answer.json())
        .map(({ id }) => id);
    };
    const newest = acknowledged.slice(-100);
    expect(newest.length).to.be.greaterThan(20);
    expect(await stored(present)).to.include.members(newest);

    await present.stop();
    const back = await startServer({ dataDir, env: recorded.keys, main: build?.main ?? '' });
    await eventually(
      'the former build reads',
      async () => (await get(back, path, ada)).status === 200,
      60_000,
    );
    expect(await stored(back)).to.include.members(newest);
    await back.stop();
    const env = { ...recorded.keys, DATA_DIR: dataDir };
    const { code, stdout, stderr } = await admin(['verify-data', '--no-read-models'], env, '', 120_000);
    expect([code, stdout], stderr).to.deep.equal([0, '']);
  });
});
