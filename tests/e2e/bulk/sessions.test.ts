import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { define, read } from '../entities/support.ts';
import { type Crates, crates } from './session-support.ts';
import {
  BULK,
  bodyOf,
  cancel,
  commit,
  DELETE,
  edit,
  preview,
  readSession,
  SESSIONS,
  session,
  sessions,
  transition,
} from './support.ts';

const refusal = z.object({ details: z.object({ state: z.string(), allowed: z.array(z.string()) }) });

describe('Bulk sessions', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;
  let records: Crates['records'];

  before(async () => {
    world = await sharedWorld();
    ({ tenant, entity, records } = await crates(world));
  });
  after(endWorld);

  const refused = async (id: string, state: string, allowed: string[]) => {
    for (const act of [commit, cancel]) {
      const answer = await act(tenant.admin, id);
      expect([answer.status, answer.error]).to.deep.equal([409, 'invalid_transition']);
      expect(refusal.parse(answer.json).details).to.deep.equal({ state, allowed });
    }
  };

  it('go from previewed to cancelled or committed only', async () => {
    const [row] = await records('state');
    const ids = [row?.id ?? ''];
    const one = await preview(tenant.admin, entity, edit({ n: 1 }), ids);
    const cancelled = (await cancel(tenant.admin, one.id)).as(session);
    expect(cancelled.status).to.equal('cancelled');
    expect(cancelled).to.have.property('cancelled_at');
    await refused(one.id, 'cancelled', []);
    const two = await preview(tenant.admin, entity, edit({ n: 1 }), ids);
    expect((await commit(tenant.admin, two.id)).as(session).status).to.equal('committed');
    await refused(two.id, 'committed', []);
    expect((await read(tenant.admin, { entity_name: entity, id: row?.id ?? '' })).version).to.equal(2);
  });

  it('let exactly one of a concurrent commit and cancel win', async () => {
    for (let round = 0; round < 8; round += 1) {
      const [row] = await records(`race ${round}`);
      const made = await preview(tenant.admin, entity, edit({ n: round + 1 }), [row?.id ?? '']);
      const answers = await Promise.all([
        commit(tenant.admin, made.id),
        cancel(tenant.admin, made.id),
        commit(tenant.admin, made.id),
        cancel(tenant.admin, made.id),
      ]);
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409]);
      const { status } = await readSession(tenant.admin, made.id);
      const now = await read(tenant.admin, { entity_name: entity, id: row?.id ?? '' });
      expect(now.version).to.equal(status === 'committed' ? 2 : 1);
    }
  });

  it('are listed newest first, in pages', async () => {
    const other = await world.tenant();
    const own = await define(other.admin, { key: 'n', type: 'integer' });
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.unshift((await preview(other.admin, own, DELETE, 'true')).id);
    const first = await other.admin.api.get(`${SESSIONS}?limit=3`);
    const next = /^<([^>]+)>/.exec(first.header('link') ?? '')?.[1] ?? '';
    const second = await other.admin.api.get(next);
    const found = [...first.as(sessions), ...second.as(sessions)].map(({ id }) => id);
    expect(found).to.deep.equal(made);
    expect(second.header('link')).to.equal(undefined);
  });

  it('are for admins; a session of another tenant is not found', async () => {
    const [row] = await records('mine');
    const made = await preview(tenant.admin, entity, DELETE, [row?.id ?? '']);
    const operator = await tenant.person('Op');
    const other = await world.tenant();
    const routes: [string, string, unknown?][] = [
      ['POST', `${BULK}/preview`, bodyOf(entity, DELETE, [row?.id ?? ''])],
      ['GET', SESSIONS],
      ['GET', `${SESSIONS}/${made.id}`],
      ['POST', `${SESSIONS}/${made.id}/commit`],
      ['POST', `${SESSIONS}/${made.id}/cancel`],
      ['GET', `${SESSIONS}/${made.id}/errors.csv`],
    ];
    for (const [method, path, body] of routes) {
      const answer = await operator.api.request(method, path, body);
      expect([answer.status, answer.error], path).to.deep.equal([403, 'admin_required']);
      if (path === SESSIONS) continue;
      expect((await other.admin.api.request(method, path, body)).status, path).to.equal(404);
    }
    // Another tenant's record id gives the same row result as an unknown one.
    const theirs = await define(other.admin, { key: 'n', type: 'integer' });
    const unknown = randomUUID();
    for (const operation of [DELETE, edit({ n: 1 }), transition('send')]) {
      const { errors } = (await preview(other.admin, theirs, operation, [row?.id ?? '', unknown])).preview;
      expect(errors.map(({ record_id, ...rest }) => rest)).to.deep.equal([
        { current_state: '', code: 'record_not_found', message: errors[0]?.message },
        { current_state: '', code: 'record_not_found', message: errors[0]?.message },
      ]);
    }
    const filtered = await preview(other.admin, theirs, DELETE, `id == "${row?.id}"`);
    expect(filtered.preview.total_resolved).to.equal(0);
    for (const id of [randomUUID(), 'nonsense']) {
      expect((await tenant.admin.api.get(`${SESSIONS}/${id}`)).status).to.equal(404);
      expect((await commit(tenant.admin, id)).status).to.equal(404);
    }
  });
});
