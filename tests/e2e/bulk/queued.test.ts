import { expect } from 'chai';
import { newDataFolder, type Server, startServer } from '../../support/server.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { define, read } from '../entities/support.ts';
import {
  BULK,
  bodyOf,
  cancel,
  commit,
  createMany,
  edit,
  ended,
  preview,
  readSession,
  SESSIONS,
  session,
} from './support.ts';

const ROWS = 1_000;

describe('Bulk commits on two processes', () => {
  let world: World;
  let other: Server;
  let tenant: TestTenant;
  let entity: string;
  let ids: string[];

  before(async () => {
    const dataDir = await newDataFolder();
    other = await startServer({ dataDir });
    world = await startWorld({ dataDir });
    tenant = await world.tenant();
    entity = await define(tenant.admin, { key: 'n', type: 'integer' });
    ids = await createMany(tenant.admin, entity, ROWS, () => ({ n: 0 }));
  });
  after(endWorld);

  it('of up to 999 rows run within the request', async () => {
    const made = await preview(tenant.admin, entity, edit({ n: 1 }), ids.slice(1));
    const answer = await commit(tenant.admin, made.id);
    const done = answer.as(session, 200);
    expect(done.status).to.equal('committed');
    expect(done.result).to.include({ succeeded: 999, skipped: 0, errored: 0 });
    // The answered caller reads its own writes.
    expect((await read(tenant.admin, { entity_name: entity, id: ids.at(-1) ?? '' })).values.n).to.equal(1);
  });

  it('of 1,000 rows are queued, show their progress, and refuse other commands meanwhile', async () => {
    const made = await preview(tenant.admin, entity, edit({ n: 2 }), 'true');
    const started = (await commit(tenant.admin, made.id)).as(session, 202);
    expect(started).to.include({ id: made.id, status: 'committing' });
    expect(started.progress).to.deep.equal({ processed: 0, total: ROWS });
    for (const act of [commit, cancel]) {
      const answer = await act(tenant.admin, made.id);
      expect([answer.status, answer.error]).to.deep.equal([409, 'invalid_transition']);
    }
    const done = await ended(tenant.admin, made.id);
    expect(done.result).to.include({ succeeded: ROWS, skipped: 0, errored: 0 });
    expect(done).to.include({ count_at_preview: ROWS, count_at_commit: ROWS });
    for (const i of [0, 500, ROWS - 1]) {
      expect((await read(tenant.admin, { entity_name: entity, id: ids[i] ?? '' })).values.n).to.equal(2);
    }
  });

  it('let exactly one of concurrent commits and a cancel win', async () => {
    for (const rows of [ids.slice(0, 20), ids]) {
      const n = 3 + rows.length;
      const made = await preview(tenant.admin, entity, edit({ n }), rows);
      const there = tenant.admin.api.at(other);
      const answers = await Promise.all([
        commit(tenant.admin, made.id),
        there.post(`${SESSIONS}/${made.id}/commit`, undefined, {}),
        there.post(`${SESSIONS}/${made.id}/cancel`, undefined, {}),
      ]);
      const won = answers.filter(({ status }) => status !== 409);
      expect(won).to.have.length(1);
      const done = await ended(tenant.admin, made.id);
      const record = await read(tenant.admin, { entity_name: entity, id: rows[0] ?? '' });
      if (done.status === 'committed') expect(record.values.n).to.equal(n);
      else expect(record.values.n).not.to.equal(n);
    }
  });

  it('continue at the other process when their process is killed', async () => {
    const made = await preview(tenant.admin, entity, edit({ n: 9 }), ids);
    (await commit(tenant.admin, made.id)).as(session, 202);
    const there = tenant.admin.api.at(other);
    await world.server.kill();
    let done = (await there.get(`${SESSIONS}/${made.id}`)).as(session);
    const until = performance.now() + 30_000;
    while (done.status === 'committing' && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      done = (await there.get(`${SESSIONS}/${made.id}`)).as(session);
    }
    expect(done.result).to.include({ succeeded: ROWS, errored: 0 });
    await world.restart();
    await world.ready();
    expect((await readSession(tenant.admin, made.id)).status).to.equal('committed');
  }).timeout(60_000);

  it('have one effect for an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'the-preview' };
    const body = bodyOf(entity, edit({ n: 12 }), ids.slice(0, 10));
    const made = (await tenant.admin.api.post(`${BULK}/preview`, body, { headers })).as(session, 201);
    const again = await tenant.admin.api.post(`${BULK}/preview`, body, { headers });
    expect(again.as(session, 201)).to.deep.equal(made);
    const keyed = { headers: { 'idempotency-key': 'the-commit' } };
    const answers = await Promise.all(
      [1, 2].map(() => tenant.admin.api.post(`${SESSIONS}/${made.id}/commit`, undefined, keyed)),
    );
    for (const answer of answers) expect(answer.as(session).status).to.equal('committed');
  });
});
