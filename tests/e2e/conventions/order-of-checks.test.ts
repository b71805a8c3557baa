import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Client } from '../../support/client.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, say, USERS } from '../../support/world.ts';

/**
 * Decisions, section 2: credential 401, kind and role 403, body 413, 415, 400 and tenant_mismatch, existence 404,
 * participation and ownership 403, state 409. Each request is wrong in several ways; the first one applies.
 */
describe('The order of checks', () => {
  const here = forSuite(async () => {
    const { id, ...start } = await adaAndBen();
    const { ada, tenant } = start;
    const live = `${BASE}/${id}/messages/${(await say(ada, id, 'x')).id}`;
    const gone = `${BASE}/${id}/messages/${(await say(ada, id, 'y')).id}`;
    await ada.api.delete(gone);
    return { ...start, out: await tenant.person('Out'), live, gone };
  });

  const BIG = 'x'.repeat(1024 * 1024 + 1);
  const text = { 'content-type': 'text/plain' };
  const elsewhere = { body: 'x', tenant_id: 'elsewhere' };
  const lost = `${BASE}/${randomUUID()}/messages/${randomUUID()}`;

  const json = (value: unknown): string => JSON.stringify(value);
  const people = (): Readonly<Record<string, Client>> => ({
    nobody: here().world.anybody,
    platform: here().world.platform,
    ada: here().ada.api,
    ben: here().ben.api,
    out: here().out.api,
  });
  const paths = (): Readonly<Record<string, string>> => ({
    lost,
    live: here().live,
    gone: here().gone,
    malformed: `${BASE}/x/messages/y`,
    user: `${USERS}/${here().ben.id}`,
    nouser: `${USERS}/x`,
  });

  const wrong = json({ body: 7 });
  const fine = json({ body: 'x' });
  for (const [what, who, path, raw, status, error, headers] of [
    ['no credential before a large body', 'nobody', 'lost', BIG, 401, 'unauthenticated'],
    ['the credential before a wrong type', 'platform', 'lost', 'x', 401, 'invalid_credential', text],
    ['the role before a large body', 'ada', 'user', BIG, 403, 'admin_required'],
    ['the role before an unknown user', 'ada', 'nouser', json({ role: 7 }), 403, 'admin_required'],
    ['the size before the type', 'ada', 'lost', BIG, 413, 'payload_too_large', text],
    ['the type before the JSON', 'ada', 'lost', '{', 415, 'unsupported_media_type', text],
    ['broken JSON before an unknown id', 'ada', 'lost', '{', 400, 'malformed_json'],
    ['a wrong body before an unknown id', 'ada', 'lost', wrong, 400, 'validation_failed'],
    ['a blank body before an unknown id', 'ada', 'lost', json({ body: ' ' }), 400, 'validation_failed'],
    ['a wrong body before a malformed id', 'ada', 'malformed', wrong, 400, 'validation_failed'],
    ['a blank body before a malformed id', 'ada', 'malformed', json({ body: ' ' }), 400, 'validation_failed'],
    ['tenant_id before a wrong body', 'ada', 'lost', json({ ...elsewhere, body: 7 }), 403, 'tenant_mismatch'],
    ['tenant_id before an unknown id', 'ada', 'lost', json(elsewhere), 403, 'tenant_mismatch'],
    ['a wrong body before participation', 'out', 'live', wrong, 400, 'validation_failed'],
    ['an unknown conversation before participation', 'out', 'lost', fine, 404, 'not_found'],
    ['participation before ownership', 'out', 'live', fine, 403, 'not_a_participant'],
    ['ownership before the state', 'ben', 'gone', fine, 403, 'not_the_sender'],
    ['a wrong body before ownership', 'ben', 'gone', json({ body: '' }), 400, 'validation_failed'],
    ['the state after everything else', 'ada', 'gone', fine, 409, 'invalid_transition'],
  ] as const) {
    it(`puts ${what}`, async () => {
      const options = { raw, ...(headers && { headers }) };
      const answer = await people()[who]?.request('PATCH', paths()[path] ?? '', undefined, options);
      expect([answer?.status, answer?.error]).to.deep.equal([status, error]);
    });
  }

  it('puts a malformed Idempotency-Key before an unknown id', async () => {
    const { ada } = here();
    for (const path of [lost, `${BASE}/x/messages/y`]) {
      const headers = { 'idempotency-key': 'é' };
      const answer = await ada.api.patch(path, { body: 'x' }, { headers });
      expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
    }
  });
});
