import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import {
  activeExtension,
  EXTENSIONS,
  loadExtension,
  mintToken,
  TEST_TOKEN,
} from '../../support/delegation.ts';
import { wholeLog } from '../../support/event-log.ts';
import { findIn, findInText } from '../../support/files.ts';
import { impersonate } from '../../support/impersonate.ts';
import { newEntity, newRecord } from '../../support/records.ts';
import { eventually, startServer } from '../../support/server.ts';
import { login, notifications, user, users } from '../../support/shapes.ts';
import { listen } from '../../support/socket.ts';
import { tenantToken } from '../../support/tokens.ts';
import {
  BASE,
  endWorld,
  NOTIFICATIONS,
  say,
  startWorld,
  type TestTenant,
  talk,
  token,
  USERS,
  type World,
} from '../../support/world.ts';
import { DELETE, preview } from '../bulk/support.ts';
import { forget, forgotten, GONE, type Known, known, mark, PASSWORD } from './support.ts';

/** Decisions, section 11: `POST /users/:id/forget`. */
describe('A forgotten person', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await startWorld({ env: { LOG_LEVEL: 'trace' } });
    tenant = await world.tenant();
  });
  after(endWorld);

  const signIn = (email: string, password = PASSWORD) =>
    world.anybody.post('/auth/login', { email, password, tenant: tenant.id });

  it('is deactivated for good: credentials are refused from the next request, and sockets close', async () => {
    const person = await known(world, tenant, 'admin');
    const minted = tenantToken(person);
    const socket = await listen(world.server, person.token);
    expect(await forgotten(tenant.admin, person)).to.deep.include({ id: person.id, role: 'admin', ...GONE });
    for (const credential of [person.token, minted, tenantToken({ ...person, email: 'x@other.example' })]) {
      const answer = await world.anybody.with(credential).get('/api/v1/tenant/me');
      expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
    }
    expect((await socket.closed).code).to.equal(4403);
    expect((await signIn(person.email)).status).to.equal(401);
    const change = await tenant.admin.api.patch(`${USERS}/${person.id}`, { status: 'active' });
    expect([change.status, change.error]).to.deep.equal([409, 'invalid_transition']);
    expect(
      (await world.platform.post(`/super/impersonate/${tenant.id}`, { user_id: person.id })).status,
    ).to.equal(404);
    const listed = (await tenant.admin.api.get(`${USERS}?limit=200`)).as(users);
    expect(listed.filter(({ id }) => id === person.id)).to.have.length(1);
    expect(listed.find(({ id }) => id === person.id)).to.deep.include({ role: 'admin', ...GONE });
  });

  it('loses test tokens and loaded extensions, but not API tokens', async () => {
    const person = await known(world, tenant, 'admin');
    const extId = `ext_${person.id.slice(0, 8)}`;
    await activeExtension(person.api, extId);
    const loaded = await loadExtension(person.api, extId);
    const test = (await person.api.post(TEST_TOKEN)).as(z.looseObject({ token: z.string() }), 201).token;
    const minted = (await mintToken(person.api)).token;
    const entity = await newEntity(tenant);
    const statusOf = async (credential: string) => {
      const path = `/api/v1/tenant/entities/${entity}/records`;
      return (await world.anybody.with(credential).get(path)).status;
    };
    for (const credential of [loaded, test, minted]) expect(await statusOf(credential)).to.equal(200);
    await forgotten(tenant.admin, person);
    expect([await statusOf(loaded), await statusOf(test)]).to.deep.equal([401, 401]);
    expect(await statusOf(minted)).to.equal(200);
    // The extension stays installed; another person loads it.
    expect(await statusOf(await loadExtension(tenant.admin.api, extId))).to.equal(200);
    expect(findInText((await tenant.admin.api.get(EXTENSIONS)).text, person.traces)).to.deep.equal([]);
  });

  it('must exist and must not be the caller; a repeated request gets the same answer', async () => {
    const person = await known(world, tenant);
    const own = await forget(tenant.admin, tenant.admin);
    expect([own.status, own.error]).to.deep.equal([409, 'conflict']);
    const stranger = await (await world.tenant()).person('Stranger');
    for (const id of [randomUUID(), stranger.id, 'no%20id', 'x'.repeat(200), '..%2f..']) {
      const answer = await forget(tenant.admin, { id });
      expect([answer.status, answer.error], id).to.deep.equal([404, 'not_found']);
    }
    expect((await person.api.post(`${USERS}/${stranger.id}/forget`)).error).to.equal('admin_required');
    const first = await forgotten(tenant.admin, person);
    expect(await forgotten(tenant.admin, person)).to.deep.equal(first);
    expect(await Promise.all([1, 2, 3].map(() => forgotten(tenant.admin, person)))).to.deep.equal([
      first,
      first,
      first,
    ]);
    const facts = (await wholeLog(tenant.admin.api)).filter(
      ({ action, subject }) => action === 'user_forgotten' && subject.id === person.id,
    );
    expect(facts).to.have.length(1);
    expect((await tenant.admin.api.get('/api/v1/tenant/me')).as(user.loose()).status).to.equal('active');
  });

  it('frees the e-mail at once, for a new person', async () => {
    const person = await known(world, tenant);
    await forgotten(tenant.admin, person);
    const body = {
      email: person.email.toUpperCase(),
      display_name: 'New',
      role: 'operator',
      password: PASSWORD,
    };
    const next = (await tenant.admin.api.post(USERS, body)).as(user, 201);
    expect(next.id).not.to.equal(person.id);
    expect((await signIn(person.email)).as(login).user.id).to.equal(next.id);
    // A repetition of the request that created the first person restores nothing.
    const again = await tenant.admin.api.post(
      USERS,
      { email: person.email, display_name: person.name, role: 'operator', password: PASSWORD },
      { headers: { 'idempotency-key': person.idempotencyKey } },
    );
    expect(again.as(user, 201)).to.deep.include({ id: person.id, ...GONE });
    await forgotten(tenant.admin, person);
    expect((await signIn(person.email)).as(login).user.id).to.equal(next.id);
  });

  it('is in no file and no answer, whatever the person did', async function () {
    this.timeout(120_000);
    const person = await known(world, tenant);
    const [renamed, second] = [mark('Forgetrenamed'), mark('forgetpassword')];
    const rename = () =>
      tenant.admin.api.patch(
        `${USERS}/${person.id}`,
        { display_name: renamed, password: second, role: 'admin' },
        { headers: { 'idempotency-key': `rename-${person.id}` } },
      );
    await rename();
    const api = world.anybody.with((await signIn(person.email, second)).as(login).token);
    const me = { ...person, name: renamed, api };
    const ben = await tenant.person('Ben');
    const chat = await talk(tenant.admin, me, ben);
    const { readyAt } = await listen(world.server, ben.token);
    const sent = { body: `dear ${token(me)}` };
    const headers = { 'idempotency-key': `mention-${person.id}` };
    await tenant.admin.api.post(`${BASE}/${chat}/messages`, sent, { headers });
    await say(me, chat, `for ${token(ben)}`);
    const minted = await mintToken(api, { name: 'made by who goes' });
    const record = await newRecord(tenant);
    const notes = `/api/v1/tenant/entities/${record.entity}/records/${record.id}/notes`;
    await api.post(notes, { body: `see ${token(ben)}` });
    await tenant.admin.api.post(notes, { body: `see ${token(me)}` }, { headers });
    await preview({ ...me }, record.entity, DELETE, [record.id]);
    await eventually('the notifications', async () => {
      return (await ben.api.get(NOTIFICATIONS)).as(notifications).length === 2;
    });
    await impersonate(world, tenant.id, { user_id: person.id });
    const before = await ben.api.get(NOTIFICATIONS);
    expect(before.text, 'shown as long as it may be').to.contain(person.email);

    await forgotten(tenant.admin, person);
    const traces = { ...person.traces, renamed, password: second };
    expect(await findIn(world.server.dataDir, traces), 'at once').to.deep.equal([]);
    const everything = async (): Promise<string> => {
      const socket = await listen(world.server, ben.token, { after: readyAt });
      const fence = await say(ben, await talk(ben, tenant.admin), 'fence');
      await socket.messages(1).catch(() => undefined);
      await eventually('the fence', () =>
        socket.seen.some((one) => one.kind === 'message' && one.message.id === fence.id),
      );
      socket.close();
      const paths = [
        USERS,
        BASE,
        `${BASE}/${chat}/messages`,
        NOTIFICATIONS,
        notes,
        '/api/v1/tenant/audit/event-log?limit=200',
        '/api/v1/tenant/audit/events?limit=200',
        `/api/v1/tenant/audit/streams/${tenant.id}.user-${person.id}/state`,
        '/api/v1/tenant/api-tokens',
        '/api/v1/tenant/bulk-ops/sessions',
      ];
      const answers: string[] = [JSON.stringify(socket.seen)];
      for (const path of paths) answers.push((await tenant.admin.api.get(path)).text);
      answers.push((await ben.api.get(NOTIFICATIONS)).text);
      const repeated = await tenant.admin.api.post(`${BASE}/${chat}/messages`, sent, { headers });
      answers.push(
        (await rename()).as(user).email,
        repeated.text,
        (await tenant.admin.api.post(notes, sent, { headers })).text,
      );
      return answers.join('\n');
    };
    const shown = await everything();
    expect(findInText(shown, traces)).to.deep.equal([]);
    expect(shown).to.contain('dear @[ erased ](user:').and.to.contain('"actor_email":"[erased]"');
    const records = await world.anybody
      .with(minted.token)
      .get(`/api/v1/tenant/entities/${record.entity}/records`);
    expect(records.status, 'an API token outlives its maker').to.equal(200);
    await world.server.stop();
    expect(await findIn(world.server.dataDir, traces), 'after a stop').to.deep.equal([]);
    const first = world.server.output();
    await world.restart();
    await world.ready();
    for (const name of ['users', 'conversations', 'notifications', 'logins']) {
      await world.platform.post(`/super/projections/${name}/rebuild`);
    }
    expect(findInText(await everything(), traces)).to.deep.equal([]);
    expect(await findIn(world.server.dataDir, traces), 'after a rebuild').to.deep.equal([]);
    for (const output of [first, world.server.output()]) expect(findInText(output, traces)).to.deep.equal([]);
  });

  it('is whole or forgotten under concurrent changes and sign-ins', async function () {
    this.timeout(120_000);
    const people: Known[] = [];
    // One for each change that can be the first.
    for (let nth = 0; nth < 7; nth += 1) people.push(await known(world, tenant));
    const traces: Record<string, string | Buffer> = {};
    await Promise.all(
      people.map(async (person, nth) => {
        const path = `${USERS}/${person.id}`;
        const [name, password] = [mark('Forgetraced'), mark('forgetracedpassword')];
        const racing = [
          () => tenant.admin.api.patch(path, { display_name: name }),
          () => forget(tenant.admin, person),
          () => tenant.admin.api.patch(path, { password }),
          () => signIn(person.email),
          () => forget(tenant.admin, person),
          () => tenant.admin.api.patch(path, { status: 'deactivated' }),
          () => tenant.admin.api.patch(path, { status: 'active' }),
        ];
        const order = racing.map((_, at) => racing[(at + nth) % racing.length]);
        const answers = await Promise.all(order.map((each) => each?.()));
        for (const answer of answers) expect(answer?.status).to.be.oneOf([200, 202, 401, 409]);
        for (const [what, trace] of Object.entries({ ...person.traces, name2: name, password })) {
          traces[`${what} of ${nth}`] = trace;
        }
        const listed = (await tenant.admin.api.get(`${USERS}?limit=200`)).as(users);
        expect(listed.find(({ id }) => id === person.id)).to.deep.include(GONE);
        for (const secret of [PASSWORD, password])
          expect((await signIn(person.email, secret)).status).to.equal(401);
      }),
    );
    expect(await findIn(world.server.dataDir, traces)).to.deep.equal([]);
  });

  it('is forgotten at other nodes too, in requests, sockets and answers', async () => {
    const other = await startServer({ dataDir: world.server.dataDir });
    const there = (bearer: string, path: string) =>
      fetch(`${other.base}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
    const person = await known(world, tenant);
    await eventually('the person is known there', async () => {
      return (await (await there(tenant.admin.token, `${USERS}?limit=200`)).text()).includes(person.name);
    });
    const socket = await listen(other, person.token);
    await forgotten(tenant.admin, person);
    expect((await socket.closed).code).to.equal(4403);
    await eventually('the end of it there', async () => {
      const refused = (await there(person.token, '/api/v1/tenant/me')).status === 401;
      const text = await (await there(tenant.admin.token, `${USERS}?limit=200`)).text();
      return refused && findInText(text, { name: person.name, email: person.email }).length === 0;
    });
    const body = { email: person.email, display_name: 'Next', role: 'operator' };
    const made = await fetch(`${other.base}${USERS}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.admin.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(made.status).to.equal(201);
    await other.stop();
    expect(
      await findIn(world.server.dataDir, { name: person.name, key: person.traces.key ?? '' }),
    ).to.deep.equal([]);
  });

  it('is no longer the oldest admin, and is not recreated as the first admin', async () => {
    const email = `${mark('forgetfirst')}@people.example`;
    const admin = { email, password: PASSWORD, display_name: mark('Forgetfirst') };
    const id = `${tenant.id}x`;
    const headers = { 'idempotency-key': `first-${id}` };
    const body = { id, name: 'X', admin };
    await world.platform.post('/super/tenants', body, { headers });
    const entered = await world.anybody.post('/auth/login', { email, password: PASSWORD, tenant: id });
    const first = world.anybody.with(entered.as(login).token);
    const other = { email: 'other@x.example', display_name: 'Other', role: 'admin', password: PASSWORD };
    const second = (await first.post(USERS, other)).as(user, 201);
    const next = world.anybody.with(
      (await world.anybody.post('/auth/login', { email: other.email, password: PASSWORD, tenant: id })).as(
        login,
      ).token,
    );
    const { user: gone } = entered.as(login);
    (await next.post(`${USERS}/${gone.id}/forget`)).as(user, 202);
    const { api } = await impersonate(world, id);
    expect((await api.get('/api/v1/tenant/me')).as(z.looseObject({ id: z.string() })).id).to.equal(second.id);
    await world.platform.post('/super/tenants', body, { headers });
    await world.server.kill();
    await world.restart();
    await world.ready();
    const people = (await next.get(USERS)).as(users);
    expect(people.map((each) => [each.id, each.status])).to.deep.equal([
      [gone.id, 'deactivated'],
      [second.id, 'active'],
    ]);
    const traces = { email, name: admin.display_name };
    expect(await findIn(world.server.dataDir, traces)).to.deep.equal([]);
  });
});
