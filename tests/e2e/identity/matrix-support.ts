import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { SCOPES } from '../../../domain/identity/scopes.ts';
import { activeExtension, bearerOf, loadExtension, mintToken, TEST_TOKEN } from '../../support/delegation.ts';
import { impersonate } from '../../support/impersonate.ts';
import { routesOf } from '../../support/openapi-validator.ts';
import { newPartner, partnerToken } from '../../support/partners.ts';
import { randomName } from '../../support/server.ts';
import type { Member, TestTenant, World } from '../../support/world.ts';
import { defineEntity, JOBS, startJob } from '../workflow/support.ts';

/** `METHOD path` of every route in the OpenAPI document. */
export const servedRoutes = async (world: World): Promise<string[]> => {
  return [...routesOf((await world.anybody.get('/openapi.json')).json)];
};

/** Method and path of a route, with unknown ids as parameters. */
export const requestTo = (route: string): { method: string; path: string; body: object | undefined } => {
  const [method = '', template = ''] = route.split(' ');
  const path = template.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    if (name === 'token') return 'x'.repeat(43);
    return name.endsWith('id') ? randomUUID() : 'no_such_thing';
  });
  return { method, path, body: method === 'GET' || method === 'DELETE' ? undefined : {} };
};

/** The access token of a new public link. */
export const linkTokenOf = async (tenant: TestTenant): Promise<string> => {
  const entity = randomName('parcel');
  await defineEntity(tenant, entity);
  const job = await startJob(tenant.admin, entity);
  const made = await tenant.admin.api.post(`${JOBS}/${job}/links`, { page_slug: 'status' });
  return made.as(z.looseObject({ token: z.string() }), 201).token;
};

export const testTokenOf = async (admin: Member): Promise<string> =>
  (await admin.api.post(TEST_TOKEN)).as(bearerOf(3600), 201).token;

export const KINDS = [
  'tenant',
  'platform',
  'impersonation',
  'extension',
  'link',
  'apiToken',
  'test',
  'partner',
] as const;
export type Kind = (typeof KINDS)[number];

/** A valid credential of each kind with all rights; those of tenants belong to `home`. */
export const oneOfEach = async (world: World, home: TestTenant): Promise<Record<Kind, string>> => {
  await activeExtension(home.admin.api, 'all', { scopes: SCOPES });
  return {
    tenant: home.admin.token,
    platform: world.platform.token ?? '',
    impersonation: (await impersonate(world, home.id)).token,
    extension: await loadExtension(home.admin.api, 'all'),
    link: await linkTokenOf(home),
    apiToken: (await mintToken(home.admin.api, { scopes: ['admin:*'] })).token,
    test: await testTokenOf(home.admin),
    partner: partnerToken((await newPartner(world)).id),
  };
};
