import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { conversation, liveMessage, uuid } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, NOTIFICATIONS, say, USERS } from '../../support/world.ts';

/** Decisions, sections 1 and 2. */
describe('Requests', () => {
  const here = forSuite(async () => {
    const start = await adaAndBen();
    return { ...start, mid: (await say(start.ada, start.id, 'hello')).id };
  });

  const codeOf = (answer: Answer): [number, string | undefined] => [answer.status, answer.error];
  const messagesPath = (): string => `${BASE}/${here().id}/messages`;

  it('create resources with lower-case UUIDs: version 7, or 5 when derived from a natural key', async () => {
    const { ada, ben, mid } = here();
    expect(uuid.parse(mid).charAt(14)).to.equal('7');
    const started = await ada.api.post(BASE, { participant_user_ids: [ben.id] });
    expect(started.as(conversation).id.charAt(14)).to.equal('5');
    expect(ada.id.charAt(14)).to.equal('7');
  });

  it('may have unknown keys, which are ignored', async () => {
    const { ada, ben, id } = here();
    const answer = await ada.api.post(messagesPath(), {
      body: 'x',
      colour: 'red',
      sender_user_id: ben.id,
      id,
    });
    const sent = answer.as(liveMessage, 201);
    expect(sent.sender_user_id).to.equal(ada.id);
    expect(sent.id).not.to.equal(id);
    const poisoned = '{"body":"x","__proto__":{"tenant_id":"other"},"constructor":1}';
    (await ada.api.post(messagesPath(), undefined, { raw: poisoned })).as(liveMessage, 201);
  });

  const calls = (): readonly (readonly [string, string, Record<string, unknown>])[] => [
    ['POST', BASE, { participant_user_ids: [here().ben.id] }],
    ['POST', messagesPath(), { body: 'x' }],
    ['PATCH', `${messagesPath()}/${here().mid}`, { body: 'y' }],
    ['POST', `${BASE}/${here().id}/read`, {}],
    ['POST', `${NOTIFICATIONS}/mark-read`, { all: true }],
    ['GET', BASE, {}],
    ['GET', messagesPath(), {}],
    ['GET', NOTIFICATIONS, {}],
    ['GET', `${NOTIFICATIONS}/unread-count`, {}],
    ['GET', USERS, {}],
    ['GET', '/api/v1/tenant/me', {}],
  ];

  it('are refused with 403 for another tenant_id in body or query, whatever else is wrong', async () => {
    const { world, tenant, ada } = here();
    const other = (await world.tenant()).id;
    for (const [method, path, body] of calls()) {
      for (const named of [other, 'nobody', '', 7, {}, [other]]) {
        if (method === 'GET') break;
        const answer = await ada.api.request(method, path, { ...body, tenant_id: named });
        expect(codeOf(answer), `${method} ${path} ${JSON.stringify(named)}`).to.deep.equal([
          403,
          'tenant_mismatch',
        ]);
      }
      const inQuery = await ada.api.request(
        method,
        `${path}?tenant_id=${other}`,
        method === 'GET' ? undefined : body,
      );
      expect(codeOf(inQuery), `${method} ${path}?tenant_id`).to.deep.equal([403, 'tenant_mismatch']);
    }
    const twice = await ada.api.get(`${BASE}?tenant_id=${tenant.id}&tenant_id=${other}`);
    expect(codeOf(twice)).to.deep.equal([403, 'tenant_mismatch']);
    const invalid = await ada.api.post(messagesPath(), { body: 7, tenant_id: other });
    expect(codeOf(invalid)).to.deep.equal([403, 'tenant_mismatch']);
    const nowhere = await ada.api.post(`${BASE}/${randomUUID()}/messages`, { body: 'x', tenant_id: other });
    expect(codeOf(nowhere)).to.deep.equal([403, 'tenant_mismatch']);
  });

  it('may have the caller’s own tenant_id, or null', async () => {
    const { tenant, ada } = here();
    for (const [method, path, body] of calls()) {
      const own = await ada.api.request(
        method,
        `${path}?tenant_id=${tenant.id}`,
        method === 'GET' ? undefined : { ...body, tenant_id: tenant.id },
      );
      expect(own.status, `${method} ${path}`).to.be.lessThan(300);
      if (method === 'GET') continue;
      expect((await ada.api.request(method, path, { ...body, tenant_id: null })).status).to.be.lessThan(300);
    }
  });

  it('with malformed ids get the same bytes as with unknown ones', async () => {
    const { tenant, ada, id, mid } = here();
    const malformed = [
      'x',
      '1',
      'null',
      '%20',
      '%00',
      '%',
      '%zz',
      '..%2f..',
      id.toUpperCase(),
      `${id}0`,
      "'--",
      '😀',
      '%C3',
    ];
    const nameless = (answer: Answer) =>
      [...answer.headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
    for (const [method, pathOf, body] of [
      ['GET', (one: string) => `${BASE}/${one}/messages`, undefined],
      ['GET', (one: string) => `${BASE}/${one}/messages?before=x&after=y`, undefined],
      ['POST', (one: string) => `${BASE}/${one}/messages`, { body: ' ' }],
      ['POST', (one: string) => `${BASE}/${one}/messages`, { body: 'x' }],
      ['POST', (one: string) => `${BASE}/${one}/messages`, { body: '' }],
      ['POST', (one: string) => `${BASE}/${one}/read`, undefined],
      ['PATCH', (one: string) => `${messagesPath()}/${one}`, { body: 'x' }],
      ['PATCH', (one: string) => `${messagesPath()}/${one}`, { body: 7 }],
      ['PATCH', (one: string) => `${BASE}/${one}/messages/${mid}`, { body: 'x' }],
      ['DELETE', (one: string) => `${messagesPath()}/${one}`, undefined],
    ] as const) {
      const unknown = await ada.api.request(method, pathOf(randomUUID()), body);
      for (const one of malformed) {
        const answer = await ada.api.request(method, pathOf(one), body);
        const where = `${method} ${pathOf(one)} ${JSON.stringify(body)}`;
        expect([answer.status, answer.text], where).to.deep.equal([unknown.status, unknown.text]);
        expect(nameless(answer)).to.deep.equal(nameless(unknown));
      }
    }
    for (const one of malformed) {
      const answer = await tenant.admin.api.patch(`${USERS}/${one}`, { role: 'admin' });
      expect(codeOf(answer), one).to.deep.equal([404, 'not_found']);
    }
  });

  for (const [method, path, allowed] of [
    ['DELETE', BASE, 'GET, HEAD, OPTIONS, POST'],
    ['PUT', `${NOTIFICATIONS}/mark-read`, 'OPTIONS, POST'],
    ['PATCH', '/auth/login', 'OPTIONS, POST'],
    ['POST', '/openapi.json', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/super/tenants/x', 'GET, HEAD, OPTIONS, PATCH'],
  ] as const) {
    it(`get 405 with Allow for ${method} ${path}`, async () => {
      const { ada } = here();
      const answer = await ada.api.request(method, path);
      expect(codeOf(answer)).to.deep.equal([405, 'method_not_allowed']);
      expect(answer.header('allow')).to.equal(allowed);
    });
  }

  it('get 404 for unknown paths', async () => {
    const { ada } = here();
    for (const path of ['/nowhere', '/api/v1', '/api/v1/tenant', `${BASE}/`, `${BASE}//messages`, '/%']) {
      expect(codeOf(await ada.api.get(path)), path).to.deep.equal([404, 'not_found']);
    }
  });

  it('keep a valid X-Request-Id and replace an invalid one', async () => {
    const { world, ada } = here();
    for (const given of ['a', 'A.b-c_9', 'x'.repeat(128)]) {
      const answer = await ada.api.get(BASE, { headers: { 'x-request-id': given } });
      expect(answer.header('x-request-id')).to.equal(given);
    }
    for (const given of ['', 'a b', 'x'.repeat(129), 'é', 'a/b', '<script>']) {
      const answer = await ada.api.get(BASE, { headers: { 'x-request-id': given } });
      expect(uuid.parse(answer.header('x-request-id'))).to.be.a('string');
    }
    const refused = await world.anybody.get(BASE, { headers: { 'x-request-id': 'mine' } });
    expect(refused.header('x-request-id')).to.equal('mine');
  });
});
