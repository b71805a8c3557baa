import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import { createMany, edit, ended, preview, readSession, SESSIONS } from '../bulk/support.ts';
import { create } from '../entities/support.ts';
import { entriesOf, FAILURES, failure, failuresOf, makeRule, withSales } from './rules-support.ts';
import { ENTRIES, entry } from './support.ts';

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

  it('make one entry for each row of a bulk commit, and for each retry', async () => {
    const { tenant, entity } = await withSales(world);
    const { api } = tenant.admin;
    const rows = 250;
    const ids = await createMany(tenant.admin, entity, rows, (i) => ({ title: `${i}` }));
    const rule = await makeRule(api, { source_kind: 'entity.updated' });
    const session = await preview(tenant.admin, entity, edit({ total: 3 }), ids);
    const committing = api.post(`${SESSIONS}/${session.id}/commit`).catch(() => undefined);
    for (const made of [1, 100]) {
      await eventually('entries', async () => {
        const [last] = (await api.get(`${ENTRIES}?limit=1`)).as(entry.array());
        return Number(last?.number ?? 0) >= made;
      });
      await world.server.kill();
      await committing;
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
