import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/server.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  ACCOUNTS,
  account,
  drafted,
  ENTRIES,
  entitle,
  entry,
  GL,
  LOCK,
  move,
  openedBefore,
  posted,
  REPORTS,
  refused,
  withBooks,
} from './support.ts';

describe('The chart of accounts', () => {
  let world: World;
  let tenant: TestTenant;
  before(async () => {
    world = await sharedWorld();
    tenant = await withBooks(world, []);
  });
  after(endWorld);

  const open = (body: object) =>
    tenant.admin.api.post(ACCOUNTS, { code: 'X', name: 'An account', type: 'Asset', ...body });

  it('accepts accounts of each type from any person', async () => {
    const operator = await tenant.person('Olga');
    for (const type of ['Asset', 'Liability', 'Equity', 'Revenue', 'Expense']) {
      const made = (await operator.api.post(ACCOUNTS, { code: `t.${type}`, name: type, type })).as(
        account,
        201,
      );
      expect(made).to.include({ code: `t.${type}`, name: type, type, active: true });
      expect(made.updated_at).to.equal(made.created_at);
      expect(made).not.to.have.property('category');
    }
  });

  it('accepts types in their exact spelling only', async () => {
    for (const type of ['asset', 'ASSET', 'Assets', 'Income', '', null, 1]) {
      const answer = await open({ type });
      expect(answer.status, String(type)).to.equal(400);
      expect(answer.error).to.equal('validation_failed');
      expect(refused(answer).details).to.have.property('field', 'type');
    }
  });

  it('accepts codes of 1 to 32 letters, digits, dots, underscores and hyphens, beginning with a letter or digit', async () => {
    const wrong = ['', ' 1', '1 ', 'ä', 'a b', 'x'.repeat(33), '-', '_1', '.', '..', '__proto__', 1000, null];
    for (const code of wrong) {
      expect((await open({ code })).status, JSON.stringify(code)).to.equal(400);
    }
    await open({ code: 'First' });
    for (const code of wrong) {
      const answer = await tenant.admin.api.patch(`${ACCOUNTS}/First`, { code });
      expect(answer.status, JSON.stringify(code)).to.equal(400);
    }
    for (const code of ['x'.repeat(32), '1', 'a-', '0_.', 'constructor', '1..']) {
      expect((await open({ code })).status, code).to.equal(201);
      expect((await tenant.admin.api.patch(`${ACCOUNTS}/${code}`, { name: 'Renamed' })).status).to.equal(200);
    }
  });

  it('keeps older accounts whose code begins with another character', async () => {
    const books = await withBooks(world, []);
    const { api } = books.admin;
    for (const code of ['.', '..', '_cash', '__proto__']) {
      await openedBefore(world, books, { code, name: `Account ${code}` });
    }
    await eventually('the chart', async () => (await api.get(ACCOUNTS)).as(account.array()).length === 4);
    const { lines } = await posted(api, { lines: [...move('.', '_CASH', 1), ...move('__proto__', '..', 2)] });
    expect(lines.map(({ account_name }) => account_name)).to.deep.equal(
      ['.', '_cash', '__proto__', '..'].map((code) => `Account ${code}`),
    );
    const renamed = await api.patch(`${ACCOUNTS}/_cash`, { name: 'Cash' });
    expect(renamed.as(account)).to.include({ code: '_cash', name: 'Cash' });
  });

  it('accepts names of 1 to 200 characters that are not blank, up to 300 bytes in JSON', async () => {
    for (const name of [
      '',
      '  ',
      'x'.repeat(201),
      'é'.repeat(151),
      '\u0001'.repeat(51),
      '"'.repeat(151),
      null,
    ]) {
      expect((await open({ code: 'N', name })).status, JSON.stringify(name)).to.equal(400);
    }
    for (const [nth, name] of ['x'.repeat(200), 'é'.repeat(150), '"'.repeat(150)].entries()) {
      expect((await open({ code: `N${nth}`, name })).status, name).to.equal(201);
    }
  });

  it('has unique codes, ignoring case', async () => {
    (await open({ code: 'Abc' })).as(account, 201);
    for (const code of ['Abc', 'abc', 'ABC']) {
      expect(refused(await open({ code }))).to.deep.equal({
        status: 409,
        error: 'already_exists',
        details: { field: 'code' },
      });
    }
    await open({ code: 'Def' });
    expect((await tenant.admin.api.patch(`${ACCOUNTS}/def`, { code: 'aBC' })).error).to.equal(
      'already_exists',
    );
  });

  it('gives a code to one of many concurrent requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => open({ code: nth % 2 === 0 ? 'Race' : 'rACE' })),
    );
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
    expect(answers.filter(({ error }) => error === 'already_exists')).to.have.length(19);
  });

  it('is changed by code, in upper or lower case', async () => {
    const made = (await open({ code: 'C1', category: 'Current' })).as(account, 201);
    const change = async (path: string, body: object) =>
      (await tenant.admin.api.patch(`${ACCOUNTS}/${path}`, body)).as(account);
    const changed = await change('c1', { name: 'Other', type: 'Expense', category: 'Fixed', active: false });
    expect(changed).to.include({
      code: 'C1',
      name: 'Other',
      type: 'Expense',
      category: 'Fixed',
      active: false,
    });
    expect(changed.created_at).to.equal(made.created_at);
    expect(await change('C1', {})).to.deep.equal(changed);
    expect(await change('C1', { category: null })).not.to.have.property('category');
    expect((await change('C1', { code: 'c1' })).code).to.equal('c1');
    expect((await change('C1', { code: 'C2' })).code).to.equal('C2');
    for (const path of ['C1', 'nobody', 'a%20b', '%00']) {
      expect((await tenant.admin.api.patch(`${ACCOUNTS}/${path}`, { name: 'x' })).status, path).to.equal(404);
    }
    for (const body of [{ type: 'asset' }, { code: 'a b' }, { active: 'no' }, { name: '' }]) {
      expect((await tenant.admin.api.patch(`${ACCOUNTS}/C2`, body)).status).to.equal(400);
    }
  });

  it('fixes code and type once a line is posted', async () => {
    await open({ code: 'U1', type: 'Asset' });
    await open({ code: 'U2', type: 'Revenue' });
    const { id } = await drafted(tenant.admin.api, { lines: move('U1', 'U2', 1) });
    const patch = (body: object) => tenant.admin.api.patch(`${ACCOUNTS}/U1`, body);
    (await patch({ type: 'Expense' })).as(account);
    (await patch({ type: 'Asset' })).as(account);
    await tenant.admin.api.post(`${ENTRIES}/${id}/post`);
    expect((await tenant.admin.api.delete(`${ACCOUNTS}/U1`)).error).to.equal('method_not_allowed');
    for (const body of [{ type: 'Expense' }, { code: 'U3' }, { code: 'u1' }]) {
      expect(refused(await patch(body))).to.deep.include({ status: 409, error: 'in_use' });
    }
    expect((await patch({ code: 'U1', type: 'Asset', name: 'New name', active: false })).status).to.equal(
      200,
    );
  });

  it('is listed by code, in pages', async () => {
    const other = await withBooks(world, []);
    for (const code of ['b', 'A', '10', '2', 'C']) {
      await other.admin.api.post(ACCOUNTS, { code, name: code, type: 'Asset' });
    }
    const seen: string[] = [];
    let path: string | undefined = `${ACCOUNTS}?limit=2`;
    while (path !== undefined) {
      const page = await other.admin.api.get(path);
      seen.push(...page.as(account.array()).map(({ code }) => code));
      path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
    }
    expect(seen).to.deep.equal(['10', '2', 'A', 'b', 'C']);
  });
});

describe('The period lock', () => {
  let world: World;
  let tenant: TestTenant;
  before(async () => {
    world = await sharedWorld();
    tenant = await withBooks(world);
  });
  after(endWorld);

  const lock = (locked_through: unknown) => tenant.admin.api.request('PUT', LOCK, { locked_through });

  it('is open at first, and set by admins', async () => {
    const operator = await tenant.person('Olga');
    expect((await operator.api.get(LOCK)).json).to.deep.equal({ locked_through: null });
    expect((await operator.api.request('PUT', LOCK, { locked_through: '2026-01-31' })).error).to.equal(
      'admin_required',
    );
    expect((await lock('2026-01-31')).json).to.deep.equal({ locked_through: '2026-01-31' });
    expect((await operator.api.get(LOCK)).json).to.deep.equal({ locked_through: '2026-01-31' });
    for (const wrong of ['2026-02-30', '', 1, undefined]) expect((await lock(wrong)).status).to.equal(400);
    expect((await lock(null)).json).to.deep.equal({ locked_through: null });
  });

  it('refuses postings and mirrors up to its day, but not drafts', async () => {
    const { api } = tenant.admin;
    const before = await posted(api, { date: '2026-01-10' });
    await lock('2026-01-31');
    const inside = await drafted(api, { date: '2026-01-31' });
    expect(refused(await api.post(`${ENTRIES}/${inside.id}/post`))).to.deep.equal({
      status: 422,
      error: 'period_locked',
      details: { locked_through: '2026-01-31', date: '2026-01-31' },
    });
    expect((await posted(api, { date: '2026-02-01' })).state).to.equal('posted');
    const reverse = (date: string) => api.post(`${ENTRIES}/${before.id}/reverse`, { date });
    expect((await reverse('2026-01-31')).error).to.equal('period_locked');
    expect((await reverse('2026-02-01')).as(entry, 201).date).to.equal('2026-02-01');
    await api.patch(`${ENTRIES}/${inside.id}`, { memo: 'free' });
    await lock('2026-01-30');
    expect((await api.post(`${ENTRIES}/${inside.id}/post`)).as(entry).memo).to.equal('free');
    await lock('2026-01-31');
    const late = await drafted(api, { date: '2026-01-31' });
    expect((await api.post(`${ENTRIES}/${late.id}/post`)).error).to.equal('period_locked');
  });

  it('holds for concurrent postings', async () => {
    const { api } = tenant.admin;
    await lock(null);
    const drafts = await Promise.all(Array.from({ length: 20 }, () => drafted(api, { date: '2026-05-31' })));
    const [locked, ...answers] = await Promise.all([
      lock('2026-05-31'),
      ...drafts.map(({ id }) => api.post(`${ENTRIES}/${id}/post`)),
    ]);
    expect(locked?.status).to.equal(200);
    for (const answer of answers) {
      if (answer.status !== 200)
        expect(refused(answer)).to.deep.include({ status: 422, error: 'period_locked' });
    }
    await lock(null);
    // Refused entries are drafts again, and can be posted now.
    const left = drafts.filter((_, nth) => answers[nth]?.status !== 200);
    for (const { id } of left) expect((await api.post(`${ENTRIES}/${id}/post`)).status).to.equal(200);
    const numbers = (await api.get(`${ENTRIES}?state=posted&limit=200`))
      .as(entry.array())
      .map(({ number }) => number ?? 0);
    const all = (await api.get(`${ENTRIES}?limit=200`)).as(entry.array());
    const given = all.flatMap(({ number }) => number ?? []).sort((a, b) => a - b);
    expect(given).to.deep.equal(given.map((_, nth) => nth + 1));
    expect(numbers.length).to.be.greaterThan(20);
  });
});

const paths = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

describe('The entitlement of the ledger', () => {
  let world: World;
  let tenant: TestTenant;
  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
  });
  after(endWorld);

  const ID = '01890000-0000-7000-8000-000000000000';
  const CALLS: readonly (readonly [string, string])[] = [
    ['GET', ACCOUNTS],
    ['POST', ACCOUNTS],
    ['GET', `${ACCOUNTS}/1000`],
    ['PATCH', `${ACCOUNTS}/1000`],
    ['GET', ENTRIES],
    ['POST', ENTRIES],
    ['GET', `${ENTRIES}/${ID}`],
    ['PATCH', `${ENTRIES}/${ID}`],
    ['DELETE', `${ENTRIES}/${ID}`],
    ['POST', `${ENTRIES}/${ID}/post`],
    ['POST', `${ENTRIES}/${ID}/reverse`],
    ['GET', `${GL}/posting-rules`],
    ['POST', `${GL}/posting-rules`],
    ['GET', `${GL}/posting-rules/sources`],
    ['GET', `${GL}/posting-rules/${ID}`],
    ['PATCH', `${GL}/posting-rules/${ID}`],
    ['POST', `${GL}/posting-rules/${ID}/preview`],
    ['GET', `${GL}/posting-failures`],
    ['POST', `${GL}/posting-failures/${ID}/retry`],
    ['GET', LOCK],
    ['PUT', LOCK],
    ['GET', `${ENTRIES}.csv`],
    ['GET', '/api/v1/tenant/gl/journal.hledger'],
    ['GET', `${REPORTS}/trial-balance`],
    ['GET', `${REPORTS}/trial-balance.csv`],
    ['GET', `${REPORTS}/pnl`],
    ['GET', `${REPORTS}/balance-sheet`],
  ];

  it('is required on every route of the document', async () => {
    const document = paths.parse((await world.anybody.get('/openapi.json')).json);
    const served = Object.entries(document.paths)
      .filter(([path]) => /\/tenant\/(gl|reports)\//.test(path))
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '*')}`),
      );
    const tried = CALLS.map(
      ([method, path]) => `${method} ${path.replace(ID, '*').replace(/\/1000$/, '/*')}`,
    );
    expect(tried.sort()).to.deep.equal(served.sort());
  });

  it('is required before any other check', async () => {
    const operator = await tenant.person('Olga');
    for (const who of [tenant.admin, operator]) {
      for (const [method, path] of CALLS) {
        const answer = await who.api.request(method, path, method === 'GET' ? undefined : { nonsense: true });
        expect(refused(answer), `${method} ${path}`).to.deep.equal({
          status: 402,
          error: 'not_entitled',
          details: { listing_slug: 'service.ledger' },
        });
      }
    }
  });

  it('applies at once when granted or withdrawn', async () => {
    await entitle(world, tenant);
    expect((await tenant.admin.api.get(ACCOUNTS)).json).to.deep.equal([]);
    await entitle(world, tenant, false);
    expect((await tenant.admin.api.get(ACCOUNTS)).status).to.equal(402);
  });
});
