import { expect } from 'chai';
import { z } from 'zod';
import { SCOPES, type Scope } from '../../../domain/identity/scopes.ts';
import type { Client } from '../../support/client.ts';
import { activeExtension, extensionToken, mintToken } from '../../support/delegation.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';

const ID = '01900000-0000-7000-8000-000000000000';
const ENTITIES = '/api/v1/tenant/entities';
const RECORDS = `${ENTITIES}/unknown/records`;
const WORKFLOWS = '/api/v1/tenant/workflows';
const JOBS = '/api/v1/tenant/jobs';

/** Section 3 of the interface decisions: the scope that each route requires of extensions and API tokens. */
const TABLE: readonly (readonly [string, string, Scope])[] = [
  ['GET', ENTITIES, 'data:read'],
  ['GET', `${ENTITIES}/unknown`, 'data:read'],
  ['POST', ENTITIES, 'data:write'],
  ['PATCH', `${ENTITIES}/unknown`, 'data:write'],
  ['GET', RECORDS, 'data:read'],
  ['GET', `${RECORDS}/${ID}`, 'data:read'],
  ['POST', RECORDS, 'data:write'],
  ['PATCH', `${RECORDS}/${ID}`, 'data:write'],
  ['DELETE', `${RECORDS}/${ID}`, 'data:write'],
  ['GET', `${RECORDS}/${ID}/files`, 'files:read'],
  ['GET', JOBS, 'workflow:read'],
  ['GET', `${JOBS}/${ID}`, 'workflow:read'],
  ['POST', `${JOBS}/${ID}/transitions`, 'workflow:execute'],
  ['POST', `${JOBS}/${ID}/override`, 'workflow:admin'],
  ['GET', WORKFLOWS, 'workflow:read'],
  ['GET', `${WORKFLOWS}/unknown`, 'workflow:read'],
  ['POST', WORKFLOWS, 'workflow:admin'],
  ['PUT', `${WORKFLOWS}/unknown`, 'workflow:admin'],
];

const missing = z.object({
  error: z.literal('scope_missing'),
  details: z.object({ required: z.string() }),
});

describe('Scopes', () => {
  let world: World;
  let tenant: TestTenant;
  const clients = new Map<Scope, readonly Client[]>();

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    const { api } = tenant.admin;
    await activeExtension(api, 'all', { scopes: SCOPES });
    for (const scope of SCOPES) {
      const { token } = await mintToken(api, { scopes: [scope] });
      const loaded = extensionToken(tenant.admin, 'all', { scopes: [scope] });
      clients.set(scope, [world.anybody.with(token), world.anybody.with(loaded)]);
    }
  });
  after(endWorld);

  for (const [method, path, required] of TABLE) {
    it(`allow ${method} ${path.replace('/api/v1/tenant', '')} with ${required} or admin:*, and with no other`, async () => {
      for (const [held, both] of clients) {
        for (const client of both) {
          const answer = await client.request(
            method,
            path,
            ['GET', 'DELETE'].includes(method) ? undefined : {},
          );
          if (held === required || held === 'admin:*') {
            expect(answer.status, held).not.to.be.oneOf([401, 403]);
          } else {
            expect(answer.as(missing, 403).details.required, held).to.equal(required);
          }
        }
      }
    });
  }

  it('of an extension’s token are limited to the installed manifest', async () => {
    await activeExtension(tenant.admin.api, 'reader', { scopes: ['data:read'] });
    for (const scopes of [['admin:*'], ['data:write', 'admin:*', 'workflow:admin']]) {
      const client = world.anybody.with(extensionToken(tenant.admin, 'reader', { scopes }));
      for (const [method, path, required] of TABLE) {
        const answer = await client.request(
          method,
          path,
          ['GET', 'DELETE'].includes(method) ? undefined : {},
        );
        expect(answer.as(missing, 403).details.required).to.equal(required);
      }
    }
    const client = world.anybody.with(
      extensionToken(tenant.admin, 'reader', { scopes: ['data:read', 'data:write'] }),
    );
    expect((await client.get(ENTITIES)).status).to.equal(200);
    expect((await client.post(ENTITIES, {})).error).to.equal('scope_missing');
  });
});
