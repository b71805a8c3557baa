import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { mintToken } from '../../support/delegation.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, sharedWorld, type TestTenant, talk, USERS, type World } from '../../support/world.ts';
import { create, define } from '../entities/support.ts';
import { forgotten, known } from '../erasure/support.ts';
import {
  ACCOUNTS,
  balanceSheet,
  move,
  posted,
  profitAndLoss,
  REPORTS,
  trialBalance,
  withBooks,
} from '../ledger/support.ts';
import { OPEN, subscribe } from '../webhooks/support.ts';
import { defineEntity, JOBS, startJob } from '../workflow/support.ts';

const pastState = z.strictObject({
  stream: z.string(),
  revision: z.int().nonnegative(),
  position: z.string(),
  at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  state: z.unknown(),
});

/** Decisions, section 11: `GET /audit/streams/:stream/state?at=`, and `as_of_position` of reports. */
describe('Time travel', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld(OPEN);
    tenant = await withBooks(world);
    await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'enterprise' });
  });
  after(endWorld);

  const ask = (stream: string, at?: string) =>
    tenant.admin.api.get(
      `/api/v1/tenant/audit/streams/${encodeURIComponent(stream)}/state${
        at === undefined ? '' : `?at=${encodeURIComponent(at)}`
      }`,
    );
  const stateAt = async (stream: string, at?: string) => (await ask(stream, at)).as(pastState);
  const positionOf = (answer: { header(name: string): string | undefined }): string =>
    answer.header('x-event-position') ?? '';

  it('shows a person before and after each change, by position and time, until the person is forgotten', async () => {
    const person = await known(world, tenant);
    const stream = `${tenant.id}.user-${person.id}`;
    const begun = await stateAt(stream);
    expect(begun.state).to.deep.equal({
      exists: true,
      id: person.id,
      email: person.email,
      display_name: person.name,
      role: 'operator',
      status: 'active',
      created_at: begun.at,
    });
    const renamed = await tenant.admin.api.patch(`${USERS}/${person.id}`, {
      display_name: 'Later',
      role: 'admin',
    });
    const now = await stateAt(stream);
    expect(now).to.deep.include({ revision: begun.revision + 2, position: positionOf(renamed) });
    expect(now.state).to.deep.include({ display_name: 'Later', role: 'admin' });
    expect(await stateAt(stream, begun.position)).to.deep.equal(begun);
    expect(await stateAt(stream, positionOf(renamed))).to.deep.equal(now);
    if (now.at !== begun.at) expect(await stateAt(stream, begun.at)).to.deep.equal(begun);
    // `Z` and `+00:00` name the same time.
    const offset = begun.at.replace('Z', '+00:00');
    expect(await stateAt(stream, offset)).to.deep.equal(await stateAt(stream, begun.at));
    expect(await stateAt(stream, '2999-01-01T00:00:00Z')).to.deep.equal(now);
    await forgotten(tenant.admin, person);
    for (const at of [begun.position, now.position, undefined]) {
      const { state } = await stateAt(stream, at);
      expect(state).to.deep.include({ email: '[erased]', display_name: '[erased]' });
    }
    expect((await stateAt(stream)).state).to.deep.include({ status: 'deactivated', forgotten: {} });
    expect((await stateAt(stream, begun.position)).state).to.deep.include({ status: 'active' });
  });

  it('shows streams of every kind as JSON without secrets', async () => {
    const ben = await tenant.person('Ben');
    const chat = await talk(tenant.admin, ben);
    const entity = await define(tenant.admin, { key: 'title', type: 'text' });
    const record = await create(tenant.admin, entity, { title: 'one' });
    const { id: apiToken, token } = await mintToken(tenant.admin.api);
    const { id: hook, secret } = await subscribe(tenant.admin, 'https://hooks.example.com/x');
    const flow = `flow_of_${tenant.id}`;
    await defineEntity(tenant, flow);
    const job = await startJob(tenant.admin, flow, { title: 'x' });
    const link = (await tenant.admin.api.post(`${JOBS}/${job}/links`, { page_slug: 'status' })).as(
      z.looseObject({ id: z.string(), token: z.string() }),
      201,
    );
    const entry = await posted(tenant.admin.api);
    const seen: Record<string, unknown> = {};
    for (const stream of [
      `conversation-${chat}`,
      `schema-${entity}`,
      `record-${record.id}`,
      `record-${job}`,
      `api_token-${apiToken}`,
      'webhooks-main',
      `link-${job}`,
      `workflow-${flow}_flow`,
      'journal-main',
      `entry-${entry.id}`,
    ]) {
      seen[stream] = (await stateAt(`${tenant.id}.${stream}`)).state;
    }
    expect(seen[`conversation-${chat}`]).to.deep.include({ status: 'started', id: chat, last_read_at: null });
    expect(seen[`record-${record.id}`]).to.deep.include({
      status: 'live',
      version: 1,
      values: { title: 'one' },
    });
    expect(seen[`record-${job}`]).to.have.nested.property('job.state');
    expect(seen[`api_token-${apiToken}`]).to.deep.include({ id: apiToken, created_by: tenant.admin.id });
    expect(seen['webhooks-main']).to.have.nested.property('by_id[0].id', hook);
    expect(seen['webhooks-main']).not.to.have.nested.property('by_id[0].secret');
    expect(seen[`link-${job}`]).to.have.nested.property('links[0].id', link.id);
    expect(seen['journal-main']).to.have.nested.property('chart[0].code', '1000');
    expect(seen[`entry-${entry.id}`]).to.deep.include({ status: 'posted', number: entry.number });
    const text = JSON.stringify(seen);
    for (const hidden of [secret, link.token, token, 'hash', 'v1:']) expect(text).not.to.contain(hidden);
  });

  it('answers foreign, unknown and not yet existing streams with the same 404', async () => {
    const other = await world.tenant();
    const ben = await tenant.person('Ben');
    const stream = `${tenant.id}.user-${ben.id}`;
    const { position, at } = await stateAt(stream);
    const early = new Date(Date.parse(at) - 1000).toISOString();
    const answers = [
      await ask(`${tenant.id}.user-${randomUUID()}`),
      await ask(`${other.id}.user-${other.admin.id}`),
      await ask(`platform.tenant-${tenant.id}`),
      await ask(`${tenant.id}.nothing-1`),
      await ask('nothing'),
      await ask('x'.repeat(3000)),
      await ask(stream, early),
      await ask(`${tenant.id}.user-${randomUUID()}`, position),
    ];
    for (const answer of answers) {
      expect(answer.status).to.equal(404);
      expect(answer.text).to.equal(answers[0]?.text);
    }
    expect((await ben.api.get(`/api/v1/tenant/audit/streams/${stream}/state`)).error).to.equal(
      'admin_required',
    );
  });

  it('refuses invalid positions and those after the end of the log', async () => {
    const stream = `${tenant.id}.user-${tenant.admin.id}`;
    for (const at of ['', 'x', '12', '2026-01-01', '2026-13-01T00:00:00Z', '0fffffffffffffff', 'C:1/P:1']) {
      const answer = await ask(stream, at);
      expect([answer.status, answer.error], at).to.deep.equal([400, 'validation_failed']);
      expect(answer.json, at).to.have.nested.property('details.field', 'at');
    }
    for (const path of ['trial-balance', 'trial-balance.csv', 'pnl', 'balance-sheet']) {
      for (const at of ['x', 'not%20one', '0fffffffffffffff', '2026-01-01T00:00:00Z']) {
        const answer = await tenant.admin.api.get(`${REPORTS}/${path}?as_of_position=${at}`);
        expect([answer.status, answer.error], `${path} ${at}`).to.deep.equal([400, 'validation_failed']);
        expect(answer.json).to.have.nested.property('details.field', 'as_of_position');
      }
    }
  });

  it('repeats reports as of an earlier position, without later backdated entries, reversals and names', async () => {
    const books = await withBooks(world);
    const { api } = books.admin;
    const paths = [
      'trial-balance?to=2026-12-31',
      'trial-balance?from=2026-03-01&to=2026-12-31',
      'pnl?from=2026-01-01&to=2026-12-31',
      'balance-sheet?as_of=2026-12-31',
      'trial-balance.csv?from=2026-03-01&to=2026-12-31',
    ];
    const all = async (asOf?: string): Promise<string[]> => {
      const texts: string[] = [];
      for (const path of paths) {
        const answer = await api.get(
          `${REPORTS}/${path}${asOf === undefined ? '' : `&as_of_position=${asOf}`}`,
        );
        expect(answer.status).to.equal(200);
        texts.push(answer.text);
      }
      return texts;
    };
    const told: [string, string[]][] = [];
    const moment = async (answer: { header(name: string): string | undefined }): Promise<void> => {
      told.push([positionOf(answer), await all()]);
    };
    const post = async (date: string, debit: string, credit: string, amount: number): Promise<string> => {
      const { id } = await posted(api, { date, lines: move(debit, credit, amount) });
      // Nothing else writes here, so the position of this change is the end of the log.
      await moment(await api.patch(`${ACCOUNTS}/1000`, { name: `Cash ${told.length}` }));
      return id;
    };
    const first = await post('2026-05-05', '1000', '3000', 700);
    await post('2026-03-03', '5000', '1000', 55);
    await post('2026-01-01', '1200', '4000', 9);
    await moment(await api.post(`/api/v1/tenant/gl/entries/${first}/reverse`, { date: '2026-06-01' }));
    await moment(await api.post(ACCOUNTS, { code: '0001', name: 'First of all', type: 'Asset' }));
    await post('2026-02-02', '0001', '4000', 3);
    for (const [position, texts] of told) expect(await all(position)).to.deep.equal(texts);
    const before = await api.get(`${REPORTS}/trial-balance?as_of_position=${told[0]?.[0]}&to=2026-12-31`);
    expect(before.as(trialBalance).accounts.map(({ code }) => code)).to.deep.equal(['1000', '3000']);
    const empty = await api.get(`${REPORTS}/trial-balance?as_of_position=0000000000000001`);
    expect(empty.as(trialBalance)).to.deep.include({ accounts: [], balanced: true });
    (await api.get(`${REPORTS}/pnl?as_of_position=${told[1]?.[0]}`)).as(profitAndLoss);
    (await api.get(`${REPORTS}/balance-sheet?as_of_position=${told[1]?.[0]}`)).as(balanceSheet);
    expect(
      await eventually('the present', async () => (await all()).join() === told.at(-1)?.[1].join()),
    ).to.equal(true);
  });
});
