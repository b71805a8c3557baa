import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import type { Answer, Client } from '../../support/client.ts';
import { BILLING, EXCHANGE, newPartner, partnerToken, type TestPartner } from '../../support/partners.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';

const documentShape = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

interface Call {
  readonly method: string;
  readonly path: string;
  readonly billing: boolean;
}

/** Rules of all partner portal routes. The routes come from the OpenAPI document, so new ones are covered. */
describe('Every route of the partner portal', () => {
  let world: World;
  let home: TestTenant;
  let north: TestPartner;
  let routes: Call[];

  before(async () => {
    world = await sharedWorld();
    home = await world.tenant();
    north = await newPartner(world);
    const { paths } = documentShape.parse((await world.anybody.get('/openapi.json')).json);
    routes = Object.entries(paths)
      .filter(([path]) => path.startsWith('/api/v1/partner-portal/') && path !== EXCHANGE)
      .flatMap(([path, item]) =>
        Object.keys(item).map((method) => ({
          method: method.toUpperCase(),
          path: path.replaceAll(/\{[^}]+\}/g, randomUUID()),
          billing: path.startsWith('/api/v1/partner-portal/billing/'),
        })),
      );
    expect(routes.map(({ method, path }) => `${method} ${path}`)).to.include.members([
      'GET /api/v1/partner-portal/me',
      'PUT /api/v1/partner-portal/billing/profile',
    ]);
  });
  after(endWorld);

  const send = (api: Client, { method, path }: Call, body?: unknown): Promise<Answer> =>
    api.request(method, path, method === 'GET' ? undefined : (body ?? {}));
  const expectEach = async (
    calls: readonly Call[],
    api: Client,
    wanted: readonly [number, string],
    body?: unknown,
  ): Promise<void> => {
    for (const call of calls) {
      const { status, error } = await send(api, call, body);
      expect([status, error], `${call.method} ${call.path}`).to.deep.equal(wanted);
    }
  };

  it('requires a partner’s credential, and refuses tokens of other families', async () => {
    await expectEach(routes, world.anybody, [401, 'unauthenticated']);
    for (const token of [home.admin.token, world.platform.token, 'x']) {
      await expectEach(routes, world.anybody.with(token), [401, 'invalid_credential']);
    }
  });

  it('refuses an unknown partner', async () => {
    const nobody = world.anybody.with(partnerToken('nobody'));
    await expectEach(routes, nobody, [403, 'partner_permission_missing']);
  });

  it('requires the permission for billing', async () => {
    const withoutPermission = world.anybody.with(partnerToken(north.id, { permissions: [`${BILLING}s`] }));
    const billing = routes.filter((call) => call.billing);
    await expectEach(billing, withoutPermission, [403, 'partner_permission_missing']);
  });

  it('refuses `partner_id` in a query or a body', async () => {
    const south = await newPartner(world);
    for (const id of [south.id, north.id]) {
      const withQuery = routes.map((call) => ({ ...call, path: `${call.path}?partner_id=${id}` }));
      await expectEach(withQuery, north.api, [400, 'validation_failed']);
      const withBody = routes.filter(({ method }) => method !== 'GET');
      await expectEach(withBody, north.api, [400, 'validation_failed'], { partner_id: id });
    }
  });
});
