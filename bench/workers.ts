import { cp } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Child } from './http/child.ts';
import { Connection, closedLoop, requestBytes } from './http/load.ts';
import {
  BODY,
  conversationsPath,
  inFolder,
  makePairs,
  messagesPath,
  type Pair,
  startPlatformChild,
  TENANT,
} from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { type Line, perSecond } from './report.ts';

const CONNECTIONS = 32;
const MESSAGES = 20;
const OF_ENTITY = 100;
const ENTITIES = '/api/v1/tenant/entities';
const RECORDS = `${ENTITIES}/offers/records`;
const LARGE = encodeURIComponent('amount >= 50');
const ENTITY = {
  name: 'offers',
  label: 'Offers',
  fields: [
    { key: 'title', label: 'Title', type: 'text', required: true },
    { key: 'amount', label: 'Amount', type: 'integer', required: false },
  ],
};
/** Rounds that are not counted: each process must first serve enough requests for its code to be compiled. */
const WARM_UP = 3;
const ROUNDS = 4;
const OF_ONE = 1.6;

/**
 * Compares reads (conversations, the messages of one conversation, records by a filter) with `WORKERS=2` and with one
 * process, on copies of one data folder. Compares each side's best round, since other load on the machine slows two
 * processes more than one.
 */
export const benchWorkers = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const seconds = Math.max(0.3, 3 * scale);
    const pairs = await filled(`${folder}/one`);
    await cp(`${folder}/one`, `${folder}/two`, { recursive: true });
    const one = await startPlatformChild(`${folder}/one`);
    const two = await startPlatformChild(`${folder}/two`, { WORKERS: '2' });
    try {
      await serving(two, 2);
      const requests = readsOf(pairs);
      const sides = { one, two };
      const best = { one: 0, two: 0 };
      for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
        for (const name of ['one', 'two'] as const) {
          const rate = await closedLoop({ port: sides[name].port, requests, seconds, expectedStatus: 200 });
          if (round >= WARM_UP) best[name] = Math.max(best[name], rate);
        }
      }
      return [
        {
          figure: `reads, WORKERS=2 on ${availableParallelism()} cores`,
          value: perSecond(best.two),
          yardstick: { name: 'one process', value: perSecond(best.one) },
          target: { text: `≥ ${OF_ONE}`, met: best.two / best.one >= OF_ONE },
        },
      ];
    } finally {
      await Promise.all([one.stop(), two.stop()]);
    }
  });

/**
 * Makes a data folder with conversations by a server that then ends, so that no measured server has their texts in
 * memory.
 */
const filled = async (folder: string): Promise<Pair[]> => {
  const platform = await startPlatformChild(folder);
  try {
    const pairs = await makePairs(platform.port, CONNECTIONS / 2);
    await fill(platform.port, pairs);
    return pairs;
  } finally {
    await platform.stop();
  }
};

const readsOf = (pairs: readonly Pair[]): Buffer[][] =>
  pairs.flatMap(({ id, tokens }) =>
    tokens.map((token) => [
      requestBytes('GET', conversationsPath, { token }),
      requestBytes('GET', messagesPath(id), { token }),
      requestBytes('GET', `${RECORDS}?limit=20&filter=${LARGE}`, { token }),
    ]),
  );

const fill = async (port: number, pairs: readonly Pair[]): Promise<void> => {
  const connection = await Connection.open(port);
  for (const { id, tokens } of pairs) {
    const post = requestBytes('POST', messagesPath(id), { token: tokens[0], body: BODY });
    for (let nth = 0; nth < MESSAGES; nth += 1) await connection.ask(post, 201);
  }
  const admin = tenantToken(TENANT, 'admin', 'admin');
  await connection.ask(requestBytes('POST', ENTITIES, { token: admin, body: ENTITY }), 201);
  for (let nth = 0; nth < OF_ENTITY; nth += 1) {
    const body = { values: { title: `Offer ${nth}`, amount: nth } };
    await connection.ask(requestBytes('POST', RECORDS, { token: admin, body }), 201);
  }
  connection.close();
};

/** Waits until `processes` processes serve. The metrics of any process name all of them. */
const serving = async ({ port }: Child, processes: number): Promise<void> => {
  const connection = await Connection.open(port);
  const scrape = requestBytes('GET', '/metrics');
  for (;;) {
    const found = (await connection.ask(scrape)).match(/^workflow_build_info\{.*\} (\d+)$/gm) ?? [];
    const count = found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    if (count >= processes) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  connection.close();
};
