import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { uploaded } from '../../support/uploads.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  backfill,
  changeOrder,
  defineOrders,
  ENTITIES,
  entitle,
  MODEL,
  newOrder,
  ORDERS,
} from './support.ts';

/** A tenant's corpus, without the ids of its sources. */
const corpusOf = (dataDir: string, tenant: TestTenant): readonly string[] => {
  const db = new DatabaseSync(join(dataDir, 'corpus.db'), { readOnly: true });
  try {
    const rows = db
      .prepare('SELECT kind, title, model, texts, vectors FROM sources WHERE tenant = ? AND buried = 0')
      .all(tenant.id);
    return rows
      .map(({ kind, title, model, texts, vectors }) => {
        const found = vectors instanceof Uint8Array ? new Float32Array(new Uint8Array(vectors).buffer) : [];
        // The last digits of a vector depend on the size of its batch.
        const rounded = Array.from(found, (value) => value.toFixed(3).replace('-0.000', '0.000'));
        return JSON.stringify([kind, title, model, texts, rounded.length, rounded.slice(0, 4)]);
      })
      .toSorted();
  } finally {
    db.close();
  }
};

describe('The corpus of a killed server', function () {
  this.timeout(400_000);
  let world: World;

  before(async () => {
    world = await startWorld({ env: MODEL });
  });
  after(endWorld);

  const LINES = Array.from(
    { length: 400 },
    (_, n) => `Clause ${n} speaks of ${n * 7} things in ${n % 91} ways.`,
  );

  /** The same steps for each tenant, so that all corpora are equal in the end. */
  const steps = (tenant: TestTenant): readonly (() => Promise<unknown>)[] => {
    const { api } = tenant.admin;
    const made: Awaited<ReturnType<typeof newOrder>>[] = [];
    const at = (n: number) => made[n] ?? expect.fail('made before');
    return [
      ...Array.from({ length: 12 }, (_, n) => async () => {
        made.push(await newOrder(api, { name: `Crate ${n}`, promise: `Crate ${n} holds ${n + 100} plums.` }));
      }),
      () => uploaded(api, at(0), LINES.join('\n'), { filename: 'clauses.txt' }),
      async () => {
        for (let n = 1; n <= 30; n += 1) await changeOrder(api, at(3), { promise: `Crate 3, edit ${n}.` });
      },
      () => changeOrder(api, at(4), { promise: LINES.slice(0, 150).join(' ') }),
      () => api.delete(`${ENTITIES}/${ORDERS}/records/${at(5).id}`),
      () => uploaded(api, at(6), 'This one goes with its record.', { filename: 'gone.txt' }),
      () => api.delete(`${ENTITIES}/${ORDERS}/records/${at(6).id}`),
      () => changeOrder(api, at(4), { promise: 'Crate 4 was emptied.' }),
    ];
  };

  it('equals the corpus that one backfill made without a kill', async () => {
    const [killed, calm] = [await world.tenant(), await world.tenant()];
    for (const tenant of [killed, calm]) await defineOrders(tenant);
    await entitle(world, killed);
    // Kills hit the indexing of records, of a large file, of many edits of one record, and of a file before its record
    // is deleted.
    const kills = [8, 12, 13, 16];
    for (const [n, step] of steps(killed).entries()) {
      await step();
      if (!kills.includes(n)) continue;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
      await world.server.kill();
      await world.restart();
      await world.ready();
    }
    // Indexes the tenant `calm` by one backfill.
    for (const step of steps(calm)) await step();
    await entitle(world, calm);
    await backfill(calm.admin.api);
    const expected = corpusOf(world.server.dataDir, calm);
    expect(expected).to.have.length(11);
    await eventually(
      'equal corpora',
      () => JSON.stringify(corpusOf(world.server.dataDir, killed)) === JSON.stringify(expected),
      120_000,
    );
    expect(await backfill(killed.admin.api)).to.deep.equal({ added: 0, updated: 0, skipped: 11 });
  });
});
