import type { Config } from '../../infrastructure/config.ts';
import { MODEL_URL } from './areas/assistant.ts';
import { BILLING_HOST } from './areas/billing.ts';
import { Dice } from './dice.ts';
import type { Outage } from './faults.ts';
import { Hosts } from './hosts.ts';
import { type Fault, findFaults } from './oracles.ts';
import { Workload } from './workload.ts';
import { STARTED_AT, World } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  /** Requests that change something. */
  readonly requests: number;
}

export interface RunResult {
  readonly seed: number;
  readonly faults: readonly Fault[];
  readonly trace: readonly string[];
  /** Requests that change something, without repeats. */
  readonly requests: number;
  /** All HTTP requests, with reads and repeats. */
  readonly calls: number;
  /** {@link RunOptions.requests}. */
  readonly asked: number;
  readonly steps: number;
  /** Virtual seconds. */
  readonly seconds: number;
}

/** The command that plays a run again. */
export const replayOf = ({ seed, asked }: Pick<RunResult, 'seed' | 'asked'>): string =>
  `npm run simulate -- --seed ${seed} --requests ${asked}`;

/** Nodes of a run: mostly two, since each further node makes the run slower. */
const ROLES: readonly (readonly [weight: number, roles: readonly Config['ROLE'][]])[] = [
  [4, ['all', 'api']],
  [4, ['all', 'all']],
  [1, ['api', 'worker', 'api']],
  [1, ['api', 'worker', 'worker', 'all']],
];

/** Share of runs over SQLite adapters of read models, keys, answers and the corpus; stores in memory are faster. */
const SQLITE = 0.1;

/** The last seconds of a month, a day and a billing window. */
const BEFORE_MONTH_END = Date.UTC(2026, 2, 31, 23, 59, 45);

/** Longest virtual time (ms) that a run may take: more means that something never settles. */
const LONGEST_MS = 40 * 60_000;

/** Most steps of a run: a number, and an additional number for each request. */
const [STEPS, STEPS_OF_REQUEST] = [200_000, 1000];

/** One run of the whole product under faults drawn from a seed. */
export const run = async ({ seed, requests }: RunOptions): Promise<RunResult> => {
  const dice = new Dice(seed);
  const [share, bare] = [dice.pick([0, 0.005, 0.02, 0.05]), dice.pick([0.1, 0.1, 0.5, 1])];
  const world = new World(seed, share, bare, dice.pick([STARTED_AT, BEFORE_MONTH_END]));
  const hosts = new Hosts(world, new Dice(seed, 5));
  const faults: Fault[] = [];
  let made = 0;
  world.time.mostSteps = STEPS + requests * STEPS_OF_REQUEST;
  try {
    await world.open({ isSqlite: new Dice(seed, 11).chance(SQLITE) });
    const roles = dice.weighted(ROLES);
    for (const [at, role] of roles.entries())
      world.add(`n${at}-${role}`, role, hosts.outbound, {
        BILLING_UPSTREAM_URL: `https://${BILLING_HOST}/invoices`,
        ASSISTANT_BASE_URL: MODEL_URL,
        ASSISTANT_TIMEOUT_MS: '5000',
      });
    world.faults.areOn = false;
    await world.time.until(Promise.all(world.nodes.map((node) => node.start())), LONGEST_MS);
    const workload = new Workload(world, new Dice(seed, 7), hosts);
    await world.time.until(workload.prepare(), LONGEST_MS);
    world.faults.areOn = true;
    const trouble = new AbortController();
    void troubles(world, new Dice(seed, 9), trouble.signal);
    await world.time.until(workload.run(requests), LONGEST_MS);
    trouble.abort();
    await world.time.until(calm(world), LONGEST_MS);
    hosts.heal();
    made = workload.requests.length;
    faults.push(...(await world.time.until(findFaults(world, workload, hosts), LONGEST_MS)));
  } catch (error) {
    faults.push({
      oracle: 'the run ends',
      text: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
  const { steps, now } = world.time;
  await world.close();
  const calls = world.nodes.reduce((sum, node) => sum + node.calls, 0);
  return {
    ...{ seed, faults, trace: world.trace, requests: made, calls, asked: requests, steps },
    seconds: now / 1_000,
  };
};

/** Kills, stalls, clocks that jump, and outages, until aborted. */
const troubles = async (world: World, dice: Dice, signal: AbortSignal): Promise<void> => {
  const { time } = world;
  while (!signal.aborted) {
    await time.pause(dice.delay(2_000, 10_000));
    if (signal.aborted) return;
    const node = dice.pick(world.nodes);
    if (!node.isAlive) continue;
    const what = dice.weighted<'dies' | 'stalls' | 'jumps' | Outage>([
      [3, 'dies'],
      [2, 'stalls'],
      [1, 'jumps'],
      [1, 'keys away'],
      [1, 'disk full'],
    ]);
    switch (what) {
      case 'dies': {
        // The node dies at one of its next calls or steps, at the latest after 200 ms.
        const at = dice.pick(['call', 'answer', 'step'] as const);
        if (at === 'step') node.dieAfter(dice.between(1, 200));
        else node.diesAt = at;
        await time.pause(dice.number() * 200);
        if (node.isAlive) node.kill();
        world.note(`${node.name} is killed`);
        time.after(dice.delay(2_000, 9_000), () => {
          world.note(`${node.name} starts`);
          restart(world, node, dice);
        });
        break;
      }
      case 'stalls': {
        const ms = dice.number() * 9_000;
        world.note(`${node.name} stalls for ${Math.round(ms)} ms`);
        node.stall(ms);
        break;
      }
      case 'jumps':
        node.clockSkew = (dice.number() - 0.5) * 4_000;
        world.note(`the clock of ${node.name} is ${Math.round(node.clockSkew)} ms off`);
        break;
      case 'keys away':
      case 'disk full': {
        const ms = dice.number() * 6_000;
        world.note(`${what} for ${Math.round(ms)} ms`);
        world.faults.begin(what, time.now + ms);
        break;
      }
      default:
        what satisfies never;
    }
  }
};

/** A start that fails is tried again, as a supervisor does. */
const restart = (world: World, node: World['nodes'][number], dice: Dice): void => {
  node.start().catch((error: unknown) => {
    world.note(`${node.name} did not start: ${error instanceof Error ? error.message : String(error)}`);
    node.kill();
    world.time.after(1_000 + dice.number() * 1_000, () => restart(world, node, dice), undefined);
  });
};

/** Ends the faults, and waits until every node runs again. */
const calm = async (world: World): Promise<void> => {
  world.faults.areOn = false;
  for (let waited = 0; world.nodes.some(({ runs }) => !runs); waited += 1) {
    if (waited > 3_000) throw new Error('a node does not come back');
    await world.time.pause(100);
  }
};
