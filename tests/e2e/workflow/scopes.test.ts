import { expect } from 'chai';
import type { Answer, Client } from '../../support/client.ts';
import { activeExtension, loadExtension, mintToken } from '../../support/delegation.ts';
import { randomName } from '../../support/server.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { defineEntity, EXPENSES, JOBS, job, readJob, startJob, WORKFLOWS } from './support.ts';

/** Decisions, section 3: rights on workflows, jobs and links. */
describe('Scopes of workflows and jobs', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    await defineEntity(tenant, 'order');
  });
  after(endWorld);

  const begin = () => startJob(tenant.admin, 'order');
  const holding = async (...scopes: string[]): Promise<Client> =>
    world.anybody.with((await mintToken(tenant.admin.api, { scopes })).token);

  type Call = (api: Client, id: string) => Promise<Answer>;
  const link = (api: Client, id: string) => api.post(`${JOBS}/${id}/links`, { page_slug: 'status' });
  const CALLS: readonly (readonly [string, string, Call])[] = [
    ['listing workflows', 'workflow:read', (api) => api.get(WORKFLOWS)],
    ['reading a workflow', 'workflow:read', (api) => api.get(`${WORKFLOWS}/order_flow`)],
    ['listing jobs', 'workflow:read', (api) => api.get(JOBS)],
    ['reading a job', 'workflow:read', (api, id) => api.get(`${JOBS}/${id}`)],
    ['listing links', 'workflow:read', (api, id) => api.get(`${JOBS}/${id}/links`)],
    [
      'a transition',
      'workflow:execute',
      (api, id) => api.post(`${JOBS}/${id}/transitions`, { event_name: 'submit' }),
    ],
    ['making a link', 'workflow:execute', link],
    [
      'revoking a link',
      'workflow:execute',
      async (api, id) => {
        const { json } = await link(tenant.admin.api, id);
        return api.delete(`${JOBS}/${id}/links/${(json as { id: string }).id}`);
      },
    ],
    [
      'an override',
      'workflow:admin',
      (api, id) => api.post(`${JOBS}/${id}/override`, { to_state: 'paid', reason: 'x' }),
    ],
    [
      'creating a workflow',
      'workflow:admin',
      (api) => api.post(WORKFLOWS, { name: randomName('w'), ...EXPENSES }),
    ],
    ['saving a draft', 'workflow:admin', (api) => api.request('PUT', `${WORKFLOWS}/order_flow`, EXPENSES)],
    ['publishing', 'workflow:admin', (api) => api.post(`${WORKFLOWS}/order_flow/publish`)],
  ];
  const SCOPES = ['workflow:read', 'workflow:execute', 'workflow:admin'];

  for (const [what, scope, call] of CALLS) {
    it(`${what} needs ${scope} only`, async () => {
      const id = await begin();
      const others = [...SCOPES.filter((each) => each !== scope), 'data:read', 'data:write', 'forms:admin'];
      const refused = await call(await holding(...others), id);
      expect([refused.status, refused.error]).to.deep.equal([403, 'scope_missing']);
      expect(refused.json).to.have.nested.property('details.required', scope);
      for (const scopes of [[scope], ['admin:*']]) {
        const { status } = await call(await holding(...scopes), await begin());
        expect(status, scopes.join()).to.be.within(200, 204);
      }
    });
  }

  it('let an API token act as an operator in transitions and guards, with admin:* as an admin', async () => {
    const id = await begin();
    const approve = (api: Client) => api.post(`${JOBS}/${id}/transitions`, { event_name: 'approve' });
    const [some, all] = [await holding('workflow:execute', 'workflow:admin'), await holding('admin:*')];
    (await some.post(`${JOBS}/${id}/transitions`, { event_name: 'submit' })).as(job);
    const refused = await approve(some);
    expect([refused.status, refused.error]).to.deep.equal([403, 'forbidden']);
    (await approve(all)).as(job);
    const { history } = await readJob(tenant.admin, id);
    expect(history.map(({ actor }) => actor.kind)).to.deep.equal(['api_token', 'api_token']);
  });

  it('apply to an extension', async () => {
    const extension = randomName('ext').replace('_', '-');
    await activeExtension(tenant.admin.api, extension, { scopes: ['workflow:execute'] });
    const api = world.anybody.with(await loadExtension(tenant.admin.api, extension));
    const id = await begin();
    (await api.post(`${JOBS}/${id}/transitions`, { event_name: 'submit' })).as(job);
    expect((await api.get(`${JOBS}/${id}`)).error).to.equal('scope_missing');
    expect((await readJob(tenant.admin, id)).history[0]?.actor).to.deep.equal({
      kind: 'extension',
      id: extension,
    });
  });

  it('refuse requests without a credential', async () => {
    const id = await begin();
    for (const [, , call] of CALLS.filter(([what]) => what !== 'revoking a link')) {
      expect((await call(world.anybody, id)).error).to.equal('unauthenticated');
    }
  });
});
