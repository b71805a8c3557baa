import { expect } from 'chai';
import type { Client } from '../../support/client.ts';
import { eventually, freeLeases, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import { at } from '../entities/support.ts';
import {
  allEntries,
  allFailures,
  FAILURES,
  type Failure,
  failure,
  makeRule,
  withSales,
} from './rules-support.ts';
import { ENTRIES, entry, LOCK } from './support.ts';

const ROUNDS = 3;
const WRITERS = 6;

/** Creates records, runs `act` after `some` of them, and continues until `act` ends. @returns the number of records */
const writeAround = async (
  api: Client,
  entity: string,
  some: number,
  act: () => Promise<void>,
): Promise<number> => {
  let created = 0;
  let isOver = false;
  const enough = Promise.withResolvers<void>();
  const acting = enough.promise.then(act).finally(() => {
    isOver = true;
  });
  const writing = Array.from({ length: WRITERS }, async () => {
    while (!isOver) {
      expect((await api.post(at(entity), { values: { total: 1 } })).status).to.equal(201);
      created += 1;
      if (created >= some) enough.resolve();
    }
  });
  await Promise.all([acting, ...writing]);
  return created;
};

describe('kill -9 during a period lock', () => {
  let world: World;
  let worker: Server;
  const startWorker = (dataDir: string) => startServer({ dataDir, env: { ROLE: 'worker' } });
  before(async () => {
    const dataDir = await newDataFolder();
    worker = await startWorker(dataDir);
    world = await startWorld({ dataDir, env: { ROLE: 'api' } });
  });
  after(endWorld);

  it('leaves each event of a rule with its entry, or a failure that a retry resolves', async () => {
    const { tenant, entity } = await withSales(world);
    const { api } = tenant.admin;
    await makeRule(api);
    const lock = async (locked_through: string | null): Promise<void> => {
      expect((await api.request('PUT', LOCK, { locked_through })).status).to.equal(200);
    };
    const seen = new Map<string, 'posted' | Failure>();
    /** Waits until each created record has an outcome in the newest entries or failures, which `seen` keeps. */
    const outcomes = (count: number) =>
      eventually(
        'an outcome of each event',
        async () => {
          const answers = [
            await api.get(`${ENTRIES}?limit=200`),
            await api.get(`${FAILURES}?limit=200`),
          ] as const;
          // The api node may not have noticed the new worker yet.
          if (answers.some(({ status }) => status === 503)) return false;
          const entries = answers[0].as(entry.array());
          const failures = answers[1].as(failure.array());
          for (const each of failures) {
            if (seen.get(each.event_id) !== 'posted') seen.set(each.event_id, each);
          }
          for (const { number, source } of entries) if (number !== null) seen.set(source.id ?? '', 'posted');
          return seen.size >= count && entries.every(({ state }) => state !== 'draft');
        },
        20_000,
      );

    let created = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      created += await writeAround(api, entity, 5 + 4 * round, async () => {
        await lock('2100-01-01');
        await worker.kill();
      });
      freeLeases(world.server.dataDir);
      worker = await startWorker(world.server.dataDir);
      await outcomes(created);
      const open = [...seen.values()].filter((each) => each !== 'posted');
      for (const each of open) expect(each, `round ${round}`).not.to.have.property('resolved_at');
      await lock(null);
      for (const { id, event_id } of open) {
        const retried = (await api.post(`${FAILURES}/${id}/retry`)).as(failure);
        expect(retried, `round ${round}`).to.have.property('resolved_at');
        seen.set(event_id, 'posted');
      }
    }
    const entries = await allEntries(api);
    expect(new Set(entries.map(({ source }) => source.id)).size).to.equal(entries.length);
    const numbers = entries.map(({ number }) => number ?? 0).sort((a, b) => a - b);
    expect(numbers).to.deep.equal(Array.from({ length: created }, (_, nth) => nth + 1));
    for (const each of await allFailures(api)) expect(each).to.have.property('resolved_at');
  }).timeout(240_000);
});
