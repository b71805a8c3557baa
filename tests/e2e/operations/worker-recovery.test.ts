import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { z } from 'zod';
import { bareStart } from '../../support/pace.ts';
import { cleanUp, eventually, type Server } from '../../support/server.ts';
import { startWorld, type TestTenant, type World } from '../../support/world.ts';
import { allServe, alone, pidsOf } from './worker-support.ts';

/** Limit of a recovery, or the time of `BARE_STARTS` starts of an empty Node process if that is longer. */
const BACK_MS = 1000;
const BARE_STARTS = 40;
/** Limit from an exit to the restart, plus `BARE_STARTS_OF_PAUSE` such starts; the supervisor first pauses 100 ms. */
const PAUSE_MS = 250;
const BARE_STARTS_OF_PAUSE = 5;
const ROUNDS = 4;
/** Enough connections that each process gets some. */
const CONNECTIONS = 24;
const PROBE_MS = 25;
/** Starts as `npm start` does, which keeps compiled modules for the next start. */
const START = join(import.meta.dirname, '../../../api/start.js');

const line = z.object({ msg: z.string(), time: z.iso.datetime(), process: z.int() });

/** Times (ms) of the log lines with this message by the process at this place in the group. */
const timesOf = (server: Server, place: number, msg: string): number[] =>
  server
    .output()
    .split('\n')
    .filter((text) => text.includes(`"msg":"${msg}"`))
    .map((text) => line.parse(JSON.parse(text)))
    .filter((found) => found.process === place)
    .map(({ time }) => Date.parse(time));

const startsOf = (server: Server, place: number): number[] => timesOf(server, place, 'a process was started');
const listensOf = (server: Server, place: number): number => timesOf(server, place, 'listening').length;

interface Probe {
  answers: number;
  readonly refused: Set<number>;
  broke: string | undefined;
}

describe('Of two processes, the one that', () => {
  let world: World;
  let tenant: TestTenant;
  before(async function () {
    this.timeout(400_000);
    world = await startWorld({ env: { WORKERS: '2' }, main: START });
    tenant = await world.tenant();
    await allServe(world.server);
  });
  after(cleanUp);

  /** Reads on its own connection until the connection breaks or `signal` is aborted. */
  const read = async (probe: Probe, signal: AbortSignal): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { token } = tenant.admin;
    try {
      while (!signal.aborted) {
        const { status } = await alone(world.server, 'GET', '/api/v1/tenant/me', { token, agent });
        if (status === 200) probe.answers += 1;
        else probe.refused.add(status);
        await setTimeout(PROBE_MS);
      }
    } catch (error) {
      probe.broke = String(error);
    } finally {
      agent.destroy();
    }
  };

  for (const [kind, place] of [
    ['serves requests', 1],
    ['does the background work', 0],
  ] as const) {
    it(`${kind} is back within a second after a kill, and the other answers meanwhile`, async function () {
      this.timeout(400_000);
      const { server } = world;
      const rounds: { readonly took: number; readonly pause: number; readonly bare: number }[] = [];
      const isSoon = ({ took, pause, bare }: (typeof rounds)[number]): boolean =>
        took < Math.max(BACK_MS, BARE_STARTS * bare) && pause < PAUSE_MS + BARE_STARTS_OF_PAUSE * bare;
      while (rounds.length < ROUNDS && !rounds.some(isSoon)) {
        const bare = await bareStart();
        const ended = new AbortController();
        const probes = Array.from(
          { length: CONNECTIONS },
          (): Probe => ({ answers: 0, refused: new Set(), broke: undefined }),
        );
        const reading = probes.map((probe) => read(probe, ended.signal));
        await eventually(
          'all connections are served',
          () => probes.every(({ answers }) => answers > 0),
          60_000,
        );
        const listened = listensOf(server, place);
        const answersBefore = probes.map(({ answers }) => answers);
        const began = performance.now();
        process.kill((pidsOf(server).get(place) ?? []).at(-1) ?? 0, 'SIGKILL');
        await eventually('it serves again', () => listensOf(server, place) > listened, 60_000);
        const took = performance.now() - began;
        const died = timesOf(server, place, 'a process ended; it is restarted').at(-1) ?? 0;
        rounds.push({ took, pause: (startsOf(server, place).at(-1) ?? 0) - died, bare });
        ended.abort();
        await Promise.all(reading);
        // Requests under way in the killed process break; idle connections to it are opened again at the other process.
        const broken = probes.filter(({ broke }) => broke !== undefined);
        expect(broken.filter(({ broke }) => broke?.includes('hangs'))).to.deep.equal([]);
        const others = probes.filter(
          ({ broke, answers }, at) => broke === undefined && answers > (answersBefore[at] ?? 0),
        );
        expect(others, 'connections served meanwhile').to.have.length.greaterThan(0);
        expect(others.length + broken.length).to.equal(CONNECTIONS);
        expect(probes.flatMap(({ refused }) => [...refused])).to.deep.equal([]);
        await allServe(server);
      }
      expect(rounds.some(isSoon), JSON.stringify(rounds)).to.equal(true);
    });
  }
});
