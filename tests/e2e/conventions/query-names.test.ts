import { expect } from 'chai';
import { z } from 'zod';
import type { Client } from '../../support/client.ts';
import { newPartner, partnerToken } from '../../support/partners.ts';
import { validationFailed } from '../../support/shapes.ts';
import { refusal } from '../../support/socket.ts';
import { forSuite } from '../../support/suite.ts';
import { formWith, MULTIPART } from '../../support/uploads.ts';
import { sharedWorld } from '../../support/world.ts';
import { requestTo } from '../identity/matrix-support.ts';
import { TABLE } from '../identity/matrix-table.ts';

const operations = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        parameters: z.array(z.looseObject({ in: z.string(), name: z.string() })).optional(),
        requestBody: z.looseObject({ content: z.record(z.string(), z.unknown()) }).optional(),
      }),
    ),
  ),
});

/** Routes that ignore unknown parameters: links to which others add parameters, probes, identity providers' answers. */
const OPEN = /^\w+ (\/api\/v1)?\/(auth\/sso\/callback|public\/forms\/.*|health\/.*|metrics|docs(\/.*)?)$/;

describe('Query parameters', () => {
  const here = forSuite(async () => {
    const world = await sharedWorld();
    const tenant = await world.tenant();
    await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'enterprise' });
    await world.platform.patch(`/super/tenants/${tenant.id}`, { entitlements: { ledger: true } });
    const partner = world.anybody.with(partnerToken((await newPartner(world)).id));
    const { paths } = operations.parse((await world.anybody.get('/openapi.json')).json);
    const routes = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        route: `${method.toUpperCase()} ${path}`,
        known: (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name),
        isUpload: operation.requestBody?.content['multipart/form-data'] !== undefined,
      })),
    );
    const clients: Readonly<Record<string, Client>> = {
      public: world.anybody,
      platform: world.platform,
      partner,
      tenant: tenant.admin.api,
    };
    return { world, tenant, routes, clients };
  });

  it('that are misspelt are 400 on every route, which names those that it knows', async () => {
    const { routes, clients } = here();
    expect(routes.length).to.be.greaterThan(60);
    for (const { route, known, isUpload } of routes) {
      const api = clients[TABLE[route]?.family ?? ''] ?? here().world.anybody;
      const { method, path, body } = requestTo(route);
      const names = [...known.map((name) => `${name}s`), 'zzz'];
      const search = names.map((name) => `${name}=1`).join('&');
      const answer = isUpload
        ? await api.request(method, `${path}?${search}`, undefined, {
            raw: new Uint8Array(formWith('x')),
            headers: { 'content-type': MULTIPART },
          })
        : await api.request(method, `${path}?${search}`, body);
      if (OPEN.test(route) || route === 'GET /auth/password-reset') {
        expect(answer.text, route).not.to.contain('unknown_parameter');
        continue;
      }
      const { issues } = answer.as(validationFailed, 400).details;
      expect(
        issues.map((issue) => issue.path),
        route,
      ).to.deep.equal(names);
      for (const { code, message } of issues) {
        expect(code, route).to.equal('unknown_parameter');
        for (const name of known) expect(message, route).to.match(new RegExp(`\\b${name}\\b`));
      }
    }
  }).timeout(60_000);

  it('may name the caller’s own tenant', async () => {
    const { tenant } = here();
    expect((await tenant.admin.api.get(`/api/v1/tenant/me?tenant_id=${tenant.id}`)).status).to.equal(200);
  });

  it('are listed in the error by name only, truncated, and 100 at most', async () => {
    const { tenant } = here();
    const many = Array.from({ length: 150 }, (_, i) => `${'n'.repeat(60)}${i}=secret-value`).join('&');
    const answer = await tenant.admin.api.get(`/api/v1/tenant/users?${many}`);
    const { issues } = answer.as(validationFailed, 400).details;
    expect(issues).to.have.length(100);
    expect(answer.text.length).to.be.lessThan(30_000);
    expect(answer.text).not.to.contain('secret-value');
    for (const odd of ['%00', '%ff', '__proto__=1', 'constructor=1', '=1', '%F0%9F%98%80=%80']) {
      (await tenant.admin.api.get(`/api/v1/tenant/users?${odd}`)).as(validationFailed, 400);
    }
  });

  it('are checked at the handshake of the WebSocket, after the credential', async () => {
    const { world, tenant } = here();
    expect(await refusal(world.server, tenant.admin.token, { query: { afer: 'x' } })).to.include({
      status: 400,
      error: 'validation_failed',
    });
    expect((await refusal(world.server, 'x', { query: { afer: 'x' } })).status).to.equal(401);
  });
});
