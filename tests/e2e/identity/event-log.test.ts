import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import type { Answer, Client } from '../../support/client.ts';
import { EVENT_LOG, type LogLine, logPage, wholeLog } from '../../support/event-log.ts';
import { findIn } from '../../support/files.ts';
import { impersonate } from '../../support/impersonate.ts';
import { eventually } from '../../support/server.ts';
import { listen, refusal } from '../../support/socket.ts';
import {
  BASE,
  endWorld,
  type Member,
  token as mention,
  NOTIFICATIONS,
  say,
  sharedWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';

const ADMIN = 'operations@platform.example';

/** Specification, Authentication 3 and Audit events; decisions, sections 3 and 11. */
describe('The event log', () => {
  let world: World;
  let home: TestTenant;
  let ada: Member;
  let ben: Member;
  let room: string;

  before(async () => {
    world = await sharedWorld();
    home = await world.tenant();
    [ada, ben] = [await home.person('Ada'), await home.person('Ben')];
    room = await talk(ada, ben);
  });
  after(endWorld);

  const newest = async (limit = 1): Promise<LogLine[]> =>
    (await logPage(home.admin.api, `${EVENT_LOG}?limit=${limit}`)).lines;

  /** The lines of a call, oldest first. */
  const linesOf = async (call: () => Promise<Answer>): Promise<{ answer: Answer; lines: LogLine[] }> => {
    const [before] = await newest();
    const answer = await call();
    const lines: LogLine[] = [];
    for (const line of await newest(50)) {
      if (line.position === before?.position) break;
      // Skips lines of earlier requests: a subscriber may append its event for such a request only now.
      if (line.request_id === answer.header('x-request-id')) lines.unshift(line);
    }
    return { answer, lines };
  };

  it('has a line for each event: actor, action, resource and request', async () => {
    const headers = { 'x-request-id': 'a-request' };
    const { answer, lines } = await linesOf(() =>
      ada.api.post(`${BASE}/${room}/messages`, { body: 'hello' }, { headers }),
    );
    expect(lines.map(({ at: _at, ...line }) => line)).to.deep.equal([
      {
        actor: { kind: 'user', id: ada.id, email: ada.email },
        action: 'message_sent',
        subject: { kind: 'conversation', id: room },
        position: answer.header('x-event-position'),
        request_id: 'a-request',
      },
    ]);
  });

  it('without impersonation, has no line for a read, a refusal or a write that changes nothing', async () => {
    for (const call of [
      () => ada.api.get(USERS),
      () => ada.api.get(`${BASE}/${randomUUID()}/messages`),
      () => ada.api.post(`${BASE}/${room}/messages`, { body: '' }),
      () => ada.api.patch(`${USERS}/${ben.id}`, { role: 'admin' }),
      () => home.admin.api.patch(`${USERS}/${home.admin.id}`, { status: 'deactivated' }),
      () => home.admin.api.patch(`${USERS}/${ada.id}`, { display_name: 'Ada' }),
    ]) {
      expect((await linesOf(call)).lines).to.deep.equal([]);
    }
  });

  describe('under impersonation', () => {
    let admin: Client;
    let operator: Client;

    before(async () => {
      admin = (await impersonate(world, home.id)).api;
      operator = (await impersonate(world, home.id, { user_id: ada.id })).api;
    });

    const by = (who: Member, action: string, subject: { kind: string; id: string } | undefined) => ({
      actor: { kind: 'user', id: who.id, email: who.email },
      impersonated_by: ADMIN,
      action,
      subject,
    });
    /** A line without the members that differ between runs. */
    const shown = ({ at: _at, position: _position, request_id: _id, ...line }: LogLine) => line;

    it('has one line for each read, with its resource', async () => {
      for (const [path, action, subject] of [
        ['/api/v1/tenant/me', 'me', undefined],
        [`${USERS}?limit=2`, 'list_users', undefined],
        [`${BASE}/${room}/messages?limit=1`, 'list_messages', { kind: 'conversation', id: room }],
        [NOTIFICATIONS, 'list_notifications', undefined],
      ] as const) {
        const { answer, lines } = await linesOf(() => operator.get(path));
        expect(answer.status).to.equal(200);
        const request = { kind: 'request', id: answer.header('x-request-id') ?? '' };
        expect(lines.map(shown)).to.deep.equal([by(ada, action, subject ?? request)]);
      }
    });

    it('has one line for each refusal of any kind', async () => {
      const request = (answer: Answer) => ({ kind: 'request', id: answer.header('x-request-id') ?? '' });
      const conversation = { kind: 'conversation', id: room };
      const missing = randomUUID();
      for (const [call, status, who, action, subject] of [
        [
          () => operator.patch(`${USERS}/${ben.id}`, { role: 'admin' }),
          403,
          ada,
          'change_user',
          { kind: 'user', id: ben.id },
        ],
        [() => operator.get(`${USERS}?tenant_id=another`), 403, ada, 'list_users', undefined],
        [
          () => admin.post(`${BASE}/${room}/messages`, { body: 'x' }),
          403,
          home.admin,
          'send_message',
          conversation,
        ],
        [
          () => operator.get(`${BASE}/${missing}/messages`),
          404,
          ada,
          'list_messages',
          { kind: 'conversation', id: missing },
        ],
        [() => operator.get(`${BASE}/no-id/messages`), 404, ada, 'list_messages', undefined],
        [
          () => operator.post(`${BASE}/${room}/messages`, { body: '' }),
          400,
          ada,
          'send_message',
          conversation,
        ],
        [() => operator.post(BASE, undefined, { raw: '{' }), 400, ada, 'start_conversation', undefined],
        [() => operator.get(`${USERS}?limit=x`), 400, ada, 'list_users', undefined],
        [() => operator.get(`${USERS}?cursor=x`), 400, ada, 'list_users', undefined],
        [
          () => operator.post(BASE, undefined, { raw: 'x', headers: { 'content-type': 'text/plain' } }),
          415,
          ada,
          'start_conversation',
          undefined,
        ],
        [
          () => admin.patch(`${USERS}/${home.admin.id}`, { status: 'deactivated' }),
          409,
          home.admin,
          'change_user',
          { kind: 'user', id: home.admin.id },
        ],
        [
          () => admin.post(USERS, { email: ada.email, display_name: 'A', role: 'operator' }),
          409,
          home.admin,
          'create_user',
          undefined,
        ],
      ] as const) {
        const { answer, lines } = await linesOf(call);
        expect(answer.status, answer.text).to.equal(status);
        expect(lines.map(shown)).to.deep.equal([by(who, action, subject ?? request(answer))]);
      }
    });

    it('has the events of a write and no further line', async () => {
      const { answer, lines } = await linesOf(() =>
        operator.post(`${BASE}/${room}/messages`, { body: `hello ${mention(ben)}` }),
      );
      expect(answer.status).to.equal(201);
      const conversation = { kind: 'conversation', id: room };
      const [sent, ...more] = lines.map(shown);
      expect(sent).to.deep.equal(by(ada, 'message_sent', conversation));
      // The notification comes later, and also names the admin.
      expect(more.every(({ action }) => action === 'notification_raised')).to.equal(true);
      await eventually('the notification', async () => {
        const found = (await newest(20)).find(
          ({ action, request_id }) =>
            action === 'notification_raised' && request_id === answer.header('x-request-id'),
        );
        return found?.impersonated_by === ADMIN;
      });
    });

    it('has a line for a write without a change, and for a replayed answer', async () => {
      const equal = await linesOf(() => admin.patch(`${USERS}/${ada.id}`, { display_name: 'Ada' }));
      expect(equal.answer.status).to.equal(200);
      expect(equal.lines.map(({ action }) => action)).to.deep.equal(['change_user']);
      const headers = { 'idempotency-key': 'once' };
      const send = () => operator.post(`${BASE}/${room}/messages`, { body: 'once' }, { headers });
      expect((await linesOf(send)).lines.map(({ action }) => action)).to.deep.equal(['message_sent']);
      const again = await linesOf(send);
      expect(again.answer.header('idempotency-replayed')).to.equal('true');
      expect(again.lines.map(({ action }) => action)).to.deep.equal(['send_message']);
    });

    it('has lines for requests with test and extension tokens that were minted under impersonation', async () => {
      const mint = async (path: string): Promise<Client> => {
        const answer = await admin.post(path);
        expect(answer.status, answer.text).to.equal(201);
        return world.anybody.with(z.object({ token: z.string() }).parse(answer.json).token);
      };
      const test = await mint('/api/v1/tenant/api-tokens/test-token');
      const read = await linesOf(() => test.get(USERS));
      const request = { kind: 'request', id: read.answer.header('x-request-id') ?? '' };
      expect(read.lines.map(shown)).to.deep.equal([by(home.admin, 'list_users', request)]);
      const [minted] = await wholeLog(home.admin.api, '&action=api_test_token_generated');
      expect(minted?.impersonated_by).to.equal(ADMIN);
      const manifest = { ext_id: 'viewer', name: 'Viewer', version: '1.0.0', scopes: ['data:read'] };
      await home.admin.api.post('/api/v1/tenant/extensions', manifest);
      await home.admin.api.post('/api/v1/tenant/extensions/viewer/activate');
      const extension = await mint('/api/v1/tenant/extensions/viewer/token');
      const refused = await linesOf(() => extension.get(USERS));
      expect(refused.answer.error).to.equal('tenant_session_required');
      expect(refused.lines).to.have.length(1);
      expect(refused.lines[0]).to.deep.include({
        actor: { kind: 'extension', id: 'viewer', email: home.admin.email },
        impersonated_by: ADMIN,
        action: 'list_users',
      });
    });

    it('has a line for the refusal to mint an API token', async () => {
      const { answer, lines } = await linesOf(() =>
        admin.post('/api/v1/tenant/api-tokens', { name: 'x', scopes: ['admin:*'] }),
      );
      expect(answer.error).to.equal('forbidden');
      expect(lines.map(({ action }) => action)).to.deep.equal(['mint_api_token']);
    });

    it('has a line for reading the log itself', async () => {
      const { lines } = await linesOf(() => admin.get(EVENT_LOG));
      expect(lines.map(({ action }) => action)).to.deep.equal(['list_event_log']);
    });

    it('has a line for an opened socket, and for a refused one', async () => {
      const { token } = await impersonate(world, home.id, { user_id: ben.id });
      const opened = async () => (await wholeLog(home.admin.api, '&action=open_socket')).length;
      const before = await opened();
      const socket = await listen(world.server, token);
      expect(await opened()).to.equal(before + 1);
      socket.close();
      expect((await refusal(world.server, token, { after: 'no position' })).status).to.equal(400);
      expect(await opened()).to.equal(before + 2);
      const own = await listen(world.server, ben.token);
      own.close();
      expect(await opened()).to.equal(before + 2);
    });

    it('holds no text of bodies and queries, and only ids of paths', async () => {
      const secrets = {
        body: 'a body that nobody reads again',
        refused: 'a name that was refused',
        query: 'text-of-a-query-parameter',
        path: 'svc_pat_abcdefgh0123456789',
        address: 'somebody@private.example',
      };
      await operator.post(`${BASE}/${room}/messages`, { body: secrets.body });
      await operator.post(`${BASE}/${randomUUID()}/messages`, { body: secrets.body });
      await admin.post(USERS, { email: 'no address', display_name: secrets.refused, role: 'operator' });
      await operator.get(`${USERS}?token=${secrets.query}&cursor=${secrets.query}`);
      await admin.patch(`${USERS}/${secrets.path}`, { role: 'operator' });
      await admin.patch(`${USERS}/${encodeURIComponent(secrets.address)}`, { role: 'operator' });
      await admin.patch(`${USERS}/${encodeURIComponent(secrets.refused)}`, { role: 'operator' });
      const text = JSON.stringify(await wholeLog(home.admin.api));
      for (const secret of Object.values(secrets)) expect(text).not.to.contain(secret);
      expect(await findIn(world.server.dataDir, secrets)).to.deep.equal([]);
    });
  });

  it('is for admins of the tenant', async () => {
    expect((await ada.api.get(EVENT_LOG)).error).to.equal('admin_required');
    expect((await world.platform.get(EVENT_LOG)).error).to.equal('invalid_credential');
    expect((await world.anybody.get(EVENT_LOG)).error).to.equal('unauthenticated');
    const minted = await home.admin.api.post('/api/v1/tenant/api-tokens', { name: 'x', scopes: ['admin:*'] });
    const { token } = z.object({ token: z.string() }).parse(minted.json);
    expect((await world.anybody.with(token).get(EVENT_LOG)).error).to.equal('tenant_session_required');
  });

  it('separates tenants, also when one id begins with the other', async () => {
    const [one, other] = [await world.tenant(), await world.tenant()];
    const [x, y] = [await one.person('X'), await other.person('Y')];
    await talk(one.admin, x);
    await talk(other.admin, y);
    await (await impersonate(world, one.id)).api.get(USERS);
    const longer = `${one.id}x`;
    await world.platform.post('/super/tenants', { id: longer, name: 'Longer' });
    const people = async (tenant: TestTenant) =>
      new Set((await wholeLog(tenant.admin.api)).map(({ actor }) => actor.id));
    expect(await people(one))
      .to.include(one.admin.id)
      .and.not.include(other.admin.id);
    expect(await people(other))
      .to.include(other.admin.id)
      .and.not.include(one.admin.id);
    const ids = async (tenant: TestTenant) =>
      (await wholeLog(tenant.admin.api)).map(({ position }) => position);
    const [first, second] = [await ids(one), await ids(other)];
    expect(first.filter((position) => second.includes(position))).to.deep.equal([]);
    // A cursor of another tenant gives the caller's own lines from that position on.
    const { next } = await logPage(one.admin.api, `${EVENT_LOG}?limit=1`);
    const { lines } = await logPage(other.admin.api, next ?? '');
    for (const line of lines) expect(second).to.include(line.position);
  });

  it('has pages without gap or duplicate while events are appended', async () => {
    const tenant = await world.tenant();
    const [x, y] = [await tenant.person('X'), await tenant.person('Y')];
    const id = await talk(x, y);
    for (let i = 0; i < 20; i += 1) await say(x, id, `m ${i}`);
    const before = await wholeLog(tenant.admin.api);
    expect(before.map(({ position }) => position)).to.deep.equal(
      before
        .map(({ position }) => position)
        .toSorted()
        .reverse(),
    );
    for (const limit of [1, 3, 7]) {
      const seen: LogLine[] = [];
      let path: string | undefined = `${EVENT_LOG}?limit=${limit}`;
      const start = (await wholeLog(tenant.admin.api)).length;
      while (path !== undefined) {
        const page: Awaited<ReturnType<typeof logPage>> = await logPage(tenant.admin.api, path);
        expect(page.lines.length).to.be.at.most(limit);
        seen.push(...page.lines);
        path = page.next;
        await say(x, id, 'meanwhile');
      }
      expect(seen).to.have.length(start);
      expect(seen.slice(-before.length)).to.deep.equal(before);
    }
  });

  it('is filtered by actor, action and time; unknown values select nothing', async () => {
    await (await impersonate(world, home.id)).api.get(USERS);
    const all = await wholeLog(home.admin.api);
    const filtered = async (query: string) => await wholeLog(home.admin.api, `&${query}`);
    const of = (chosen: (line: LogLine) => boolean) => all.filter(chosen);
    expect(await filtered(`actor=${ada.id}`)).to.deep.equal(of(({ actor }) => actor.id === ada.id));
    for (const action of ['message_sent', 'list_users', 'impersonation_started']) {
      const found = await filtered(`action=${action}`);
      expect(found).to.deep.equal(of((line) => line.action === action));
      expect(found.length, action).to.be.greaterThan(0);
    }
    const middle = all[Math.floor(all.length / 2)]?.at ?? '';
    expect(await filtered(`from=${middle}`)).to.deep.equal(of(({ at }) => at >= middle));
    expect(await filtered(`to=${middle}`)).to.deep.equal(of(({ at }) => at < middle));
    for (const query of ['actor=nobody', 'action=nothing', 'from=2999-01-01T00:00:00Z']) {
      expect(await filtered(query), query).to.deep.equal([]);
    }
    for (const query of ['from=yesterday', 'limit=x', 'cursor=x', `cursor=${'a'.repeat(300)}`]) {
      expect((await home.admin.api.get(`${EVENT_LOG}?${query}`)).error, query).to.equal('validation_failed');
    }
    const users = /cursor=([^>&]+)/.exec((await home.admin.api.get(`${USERS}?limit=1`)).header('link') ?? '');
    const another = await home.admin.api.get(`${EVENT_LOG}?cursor=${users?.[1]}`);
    expect(another.error).to.equal('validation_failed');
  });
});
