import { expect } from 'chai';
import { newDataFolder, type Server, startServer } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import { committed, createMany, edit, ended, preview, readSession, SESSIONS } from '../bulk/support.ts';
import { at, create } from '../entities/support.ts';
import {
  allEntries,
  entriesOf,
  FAILURES,
  failure,
  failuresOf,
  makeRule,
  withSales,
} from './rules-support.ts';

/** Expects one entry per event, and no other. */
const eachOnce = (sources: readonly (string | undefined)[], count: number): void => {
  expect(sources).to.have.length(count);
  expect(new Set(sources).size, 'one entry for a rule and an event').to.equal(count);
};

describe('Posting rules and kill -9', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(endWorld);

  it('make one entry for each event, at any moment of a crash', async () => {
    const { tenant, entity } = await withSales(world);
    const { api } = tenant.admin;
    const posting = await makeRule(api);
    const drafting = await makeRule(api, { name: 'Drafts', mode: 'draft' });
    const failing = await makeRule(api, { name: 'Fails', date: 'values.day' });
    let answered = 0;
    for (let round = 0; round < 4; round += 1) {
      let isDead = false;
      const writing = Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let nth = 0; nth < 40 && !isDead; nth += 1) {
            const answer = await api.post(at(entity), { values: { total: 1 } }).catch(() => undefined);
            if (answer?.status === 201) answered += 1;
          }
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 500));
      await world.server.kill();
      isDead = true;
      await writing;
      await world.restart();
      await world.ready();
    }
    // Unanswered ones may exist as well.
    const found: unknown[] = [];
    let path: string | undefined = `${at(entity)}?limit=200`;
    while (path !== undefined) {
      const page = await api.get(path);
      // A list.
      found.push(...(page.json as unknown[]));
      path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
    }
    const count = found.length;
    expect(count).to.be.at.least(Math.max(answered, 20));
    const posted = await entriesOf(api, posting, count, 60_000);
    eachOnce(
      posted.map(({ source }) => source.id),
      count,
    );
    eachOnce(
      (await entriesOf(api, drafting, count, 60_000)).map(({ source }) => source.id),
      count,
    );
    eachOnce(
      (await failuresOf(api, failing, count, 60_000)).map(({ event_id }) => event_id),
      count,
    );
    const numbers = (await allEntries(api)).flatMap(({ number }) => number ?? []).sort((a, b) => a - b);
    expect(numbers).to.deep.equal(Array.from({ length: count }, (_, nth) => nth + 1));
  }).timeout(240_000);

  it('make one entry for each row of a bulk commit, and for each retry', async () => {
    const { tenant, entity } = await withSales(world);
    const { api } = tenant.admin;
    const rows = 1_200;
    const ids = await createMany(tenant.admin, entity, rows, (i) => ({ title: `${i}` }));
    const rule = await makeRule(api, { source_kind: 'entity.updated' });
    const session = await preview(tenant.admin, entity, edit({ total: 3 }), ids);
    await api.post(`${SESSIONS}/${session.id}/commit`);
    for (let round = 0; round < 3; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 150 + Math.random() * 250));
      await world.server.kill();
      await world.restart();
      await world.ready();
    }
    const done = await readSession(tenant.admin, session.id);
    if (done.status === 'committing') await ended(tenant.admin, session.id, 60_000);
    eachOnce(
      (await entriesOf(api, rule, rows, 90_000)).map(({ source }) => source.id),
      rows,
    );

    await api.patch(`/api/v1/tenant/gl/posting-rules/${rule.id}`, { active: false });
    const failing = await makeRule(api, { name: 'Fails', date: 'values.day' });
    await Promise.all(Array.from({ length: 30 }, () => create(tenant.admin, entity, { total: 7 })));
    const failures = await failuresOf(api, failing, 30);
    await api.patch(`/api/v1/tenant/gl/posting-rules/${failing.id}`, { date: null });
    const asked = Promise.all(
      failures.map(({ id }) => api.post(`${FAILURES}/${id}/retry`).catch(() => undefined)),
    );
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 40));
    await world.server.kill();
    await asked;
    await world.restart();
    await world.ready();
    for (const { id } of failures) {
      expect((await api.post(`${FAILURES}/${id}/retry`)).as(failure)).to.have.property('resolved_at');
    }
    eachOnce(
      (await entriesOf(api, failing, 30)).map(({ source }) => source.id),
      30,
    );
  }).timeout(240_000);
});

describe('Posting rules on two processes', () => {
  let world: World;
  let other: Server;
  before(async () => {
    const dataDir = await newDataFolder();
    other = await startServer({ dataDir });
    world = await startWorld({ dataDir });
  });
  after(endWorld);

  it('make one entry for each event of either process, after any crash', async () => {
    const { tenant, entity } = await withSales(world);
    const { api } = tenant.admin;
    const rule = await makeRule(api.at(other));
    const nodes = [api, api.at(other)];
    const write = (count: number, on: readonly (typeof api)[]) =>
      Promise.all(
        Array.from({ length: count }, (_, nth) =>
          on[nth % on.length]?.post(at(entity), { values: { total: 1 } }),
        ),
      );
    await write(60, nodes);
    eachOnce(
      (await entriesOf(api, rule, 60)).map(({ source }) => source.id),
      60,
    );
    await write(60, nodes);
    await other.kill();
    await write(20, [api]);
    eachOnce(
      (await entriesOf(api, rule, 140, 60_000)).map(({ source }) => source.id),
      140,
    );
    const bulk = await preview(tenant.admin, entity, edit({ title: 'x' }), 'total == 1');
    const updated = await makeRule(api, { source_kind: 'entity.updated' });
    expect((await committed(tenant.admin, bulk.id)).result?.succeeded).to.equal(140);
    await entriesOf(api, updated, 140, 60_000);
  }).timeout(180_000);
});
