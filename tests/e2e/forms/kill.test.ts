import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { at, records } from '../entities/support.ts';
import { type Form, publicPath, published, send, submissionsIn, submitted } from './support.ts';

describe('Submissions and kill -9', () => {
  let world: World;
  let tenant: TestTenant;
  let form: Form;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    form = await published(tenant, [{ key: 'name', type: 'text', required: true }]);
  });
  after(endWorld);

  const allRecords = async () => {
    const found: string[] = [];
    for (let next: string | undefined = `${at(form.entity_name)}?limit=200`; next !== undefined; ) {
      const answer = await tenant.admin.api.get(next);
      found.push(...answer.as(records).map(({ id }) => id));
      next = /^<([^>]+)>/.exec(answer.header('link') ?? '')?.[1];
    }
    return found.sort();
  };

  it('are one record and one event each, acknowledged or repeated', async () => {
    const path = publicPath(tenant, form);
    const acknowledged = new Set<string>();
    const asked: string[] = [];
    for (const killAfter of [5, 40, 90]) {
      const ids = Array.from({ length: 150 }, (_, i) => `${killAfter}-${i}`);
      asked.push(...ids);
      let arrived = 0;
      await Promise.all(
        ids.map(async (id) => {
          try {
            (await send(world.anybody, path, { name: id }, id)).as(submitted, 201);
          } catch (error) {
            // Only the connection may fail: a wrong answer is not a kill.
            if (error instanceof TypeError) return;
            throw error;
          }
          acknowledged.add(id);
          arrived += 1;
          if (arrived === killAfter) world.server.signal('SIGKILL');
        }),
      );
      await world.server.exited;
      await world.restart();
      await world.ready();

      const found = await eventually('an event for each record', async () => {
        const ids = await allRecords();
        const events = submissionsIn(world.server, tenant.id);
        return events.length === ids.length ? { ids, events } : undefined;
      });
      expect(found.events.map(({ data }) => data.entity_id).sort()).to.deep.equal(found.ids);
      const there = found.events.map(({ data }) => data.submission_id);
      expect(new Set(there).size).to.equal(there.length);
      for (const id of acknowledged) expect(there, id).to.include(id);
      for (const { data } of found.events) expect(data.values).to.deep.equal({ name: data.submission_id });
    }

    const again = await Promise.all(asked.map((id) => send(world.anybody, path, { name: 'again' }, id)));
    expect(again.every(({ status }) => status === 201)).to.equal(true);
    const events = submissionsIn(world.server, tenant.id);
    expect(events.map(({ data }) => data.submission_id).sort()).to.deep.equal([...asked].sort());
    expect((await allRecords()).length).to.equal(asked.length);
  }).timeout(60_000);
});
