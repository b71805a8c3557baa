import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Client } from '../../support/client.ts';
import {
  BASE,
  type Member,
  say,
  startWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';

/**
 * Decisions, section 2: credential 401, kind and role 403, body 413, 415, 400 and tenant_mismatch, existence 404,
 * participation and ownership 403, state 409. Each request is wrong in several ways; the first one counts.
 */
describe('The order of checks', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;
  let ben: Member;
  let out: Member;
  let live: string;
  let gone: string;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    out = await tenant.person('Out');
    const id = await talk(ada, ben);
    live = `${BASE}/${id}/messages/${(await say(ada, id, 'x')).id}`;
    gone = `${BASE}/${id}/messages/${(await say(ada, id, 'y')).id}`;
    await ada.api.delete(gone);
  });
  after(() => world.end());

  const BIG = 'x'.repeat(1024 * 1024 + 1);
  const text = { 'content-type': 'text/plain' };
  const elsewhere = { body: 'x', tenant_id: 'elsewhere' };
  const lost = `${BASE}/${randomUUID()}/messages/${randomUUID()}`;

  interface Case {
    readonly what: string;
    readonly who: () => Client;
    readonly path: () => string;
    readonly raw: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly status: number;
    readonly error: string;
  }
  const json = (value: unknown): string => JSON.stringify(value);
  const cases: readonly Case[] = [
    {
      what: 'no credential before a large body',
      who: () => world.anybody,
      path: () => lost,
      raw: BIG,
      status: 401,
      error: 'unauthenticated',
    },
    {
      what: 'a wrong family before a wrong type',
      who: () => world.platform,
      path: () => lost,
      raw: 'x',
      headers: text,
      status: 401,
      error: 'invalid_credential',
    },
    {
      what: 'the role before a large body',
      who: () => ada.api,
      path: () => `${USERS}/${ben.id}`,
      raw: BIG,
      status: 403,
      error: 'admin_required',
    },
    {
      what: 'the role before an unknown user',
      who: () => ada.api,
      path: () => `${USERS}/x`,
      raw: json({ role: 7 }),
      status: 403,
      error: 'admin_required',
    },
    {
      what: 'the size before the type',
      who: () => ada.api,
      path: () => lost,
      raw: BIG,
      headers: text,
      status: 413,
      error: 'payload_too_large',
    },
    {
      what: 'the type before the JSON',
      who: () => ada.api,
      path: () => lost,
      raw: '{',
      headers: text,
      status: 415,
      error: 'unsupported_media_type',
    },
    {
      what: 'broken JSON before an unknown id',
      who: () => ada.api,
      path: () => lost,
      raw: '{',
      status: 400,
      error: 'malformed_json',
    },
    {
      what: 'a wrong body before an unknown id',
      who: () => ada.api,
      path: () => lost,
      raw: json({ body: 7 }),
      status: 400,
      error: 'validation_failed',
    },
    {
      what: 'a blank body before an unknown id',
      who: () => ada.api,
      path: () => lost,
      raw: json({ body: ' ' }),
      status: 400,
      error: 'validation_failed',
    },
    {
      what: 'a wrong body before a malformed id',
      who: () => ada.api,
      path: () => `${BASE}/x/messages/y`,
      raw: json({ body: 7 }),
      status: 400,
      error: 'validation_failed',
    },
    {
      what: 'tenant_id before a wrong body',
      who: () => ada.api,
      path: () => lost,
      raw: json({ ...elsewhere, body: 7 }),
      status: 403,
      error: 'tenant_mismatch',
    },
    {
      what: 'tenant_id before an unknown id',
      who: () => ada.api,
      path: () => lost,
      raw: json(elsewhere),
      status: 403,
      error: 'tenant_mismatch',
    },
    {
      what: 'a wrong body before participation',
      who: () => out.api,
      path: () => live,
      raw: json({ body: 7 }),
      status: 400,
      error: 'validation_failed',
    },
    {
      what: 'an unknown conversation before participation',
      who: () => out.api,
      path: () => lost,
      raw: json({ body: 'x' }),
      status: 404,
      error: 'not_found',
    },
    {
      what: 'participation before ownership',
      who: () => out.api,
      path: () => live,
      raw: json({ body: 'x' }),
      status: 403,
      error: 'not_a_participant',
    },
    {
      what: 'ownership before the state',
      who: () => ben.api,
      path: () => gone,
      raw: json({ body: 'x' }),
      status: 403,
      error: 'not_the_sender',
    },
    {
      what: 'a wrong body before ownership',
      who: () => ben.api,
      path: () => gone,
      raw: json({ body: '' }),
      status: 400,
      error: 'validation_failed',
    },
    {
      what: 'the state at last',
      who: () => ada.api,
      path: () => gone,
      raw: json({ body: 'x' }),
      status: 409,
      error: 'invalid_transition',
    },
  ];

  for (const { what, who, path, raw, headers, status, error } of cases) {
    it(`puts ${what}`, async () => {
      const answer = await who().request('PATCH', path(), undefined, { raw, ...(headers && { headers }) });
      expect([answer.status, answer.error]).to.deep.equal([status, error]);
    });
  }

  it('puts a malformed Idempotency-Key before an unknown id', async () => {
    for (const path of [lost, `${BASE}/x/messages/y`]) {
      const headers = { 'idempotency-key': 'a b' };
      const answer = await ada.api.patch(path, { body: 'x' }, { headers });
      expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
    }
  });
});
