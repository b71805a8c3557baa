import { expect } from 'chai';
import { personRoute, tagged } from '../../../api/routes/route-kinds.ts';
import type { TenantRights } from '../../../application/core/commands/principal.ts';
import { admin, serve, type TestServer } from './support.ts';

const NONE: TenantRights = { plan: 'free', entitlements: { ledger: false, assistant: false } };
const ALL: TenantRights = { plan: 'enterprise', entitlements: { ledger: true, assistant: true } };
const NEEDED = { ledger: 402, assistant: 403, webhooks: 403 } as const;
const KINDS = ['ledger', 'assistant', 'webhooks'] as const;

const routes = tagged(
  'Things',
  [...KINDS, undefined].map((entitlement) =>
    personRoute({
      method: 'get',
      path: `/api/v1/${entitlement ?? 'free'}`,
      operationId: `read-${entitlement ?? 'free'}`,
      summary: 'A thing',
      description: 'A route of the tests.',
      ...(entitlement === undefined ? {} : { entitlement }),
      responses: { 204: null },
      handle: async () => ({ status: 204 }),
    }),
  ),
);

describe('Tenant rights that another node has changed', () => {
  const known: { here: TenantRights; stored: TenantRights | undefined; reads: string[] } = {
    here: NONE,
    stored: NONE,
    reads: [],
  };
  let server: TestServer;

  before(async () => {
    server = await serve(routes, {
      authenticate: () => ({ ...admin, rights: known.here }),
      freshRights: async (tenantId) => {
        known.reads.push(tenantId);
        return known.stored;
      },
    });
  });
  after(() => server.close());

  const statusOf = async (kind: string): Promise<number> =>
    (await server.request('GET', `/api/v1/${kind}`, { as: 'admin' })).status;

  it('take effect at once on each route that requires them', async () => {
    for (const kind of KINDS) {
      Object.assign(known, { here: NONE, stored: NONE });
      expect(await statusOf(kind), `${kind} before`).to.equal(NEEDED[kind]);
      known.stored = ALL;
      expect(await statusOf(kind), `${kind} after`).to.equal(204);
      known.stored = undefined;
      expect(await statusOf(kind), `${kind} without the tenant`).to.equal(NEEDED[kind]);
    }
  });

  it('are read from the store only when the cached rights do not suffice', async () => {
    Object.assign(known, { here: ALL, stored: NONE, reads: [] });
    for (const kind of [...KINDS, 'free']) expect(await statusOf(kind)).to.equal(204);
    known.here = NONE;
    expect(await statusOf('free')).to.equal(204);
    expect(known.reads).to.deep.equal([]);
    await statusOf('ledger');
    expect(known.reads).to.deep.equal(['acme']);
  });
});
