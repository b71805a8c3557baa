import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { create } from '../entities/support.ts';
import {
  entriesOf,
  FAILURES,
  failure,
  failuresOf,
  makeRule,
  movesOf,
  RULES,
  SALE,
  withSales,
} from './rules-support.ts';
import { ACCOUNTS, LOCK, refused } from './support.ts';

describe('A failure of a posting rule', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;
  before(async () => {
    world = await sharedWorld();
  });
  beforeEach(async () => {
    ({ tenant, entity } = await withSales(world));
  });
  after(endWorld);

  const api = () => tenant.admin.api;
  const retry = (id: string, options?: { headers: Record<string, string> }) =>
    api().post(`${FAILURES}/${id}/retry`, undefined, options);
  const lock = (locked_through: string | null) => api().request('PUT', LOCK, { locked_through });
  const account = (code: string, active: boolean) => api().patch(`${ACCOUNTS}/${code}`, { active });
  const oneOf = <T>([one]: readonly T[]): T => {
    if (one === undefined) throw new Error('there is none');
    return one;
  };

  it('is listed with its reason, and affects no source, rule or tenant', async () => {
    const { tenant: other, entity: things } = await withSales(world);
    const failing = await makeRule(api(), { date: 'values.day' });
    const well = await makeRule(api(), {
      name: 'Well',
      lines: [
        { account_code: '1000', side: 'debit', amount: { fixed: 1 } },
        { account_code: '4000', side: 'credit', amount: { fixed: 1 } },
      ],
    });
    const uneven = await makeRule(api(), {
      lines: [
        { account_code: '1000', side: 'debit', amount: { fixed: 2 } },
        { account_code: '4000', side: 'credit', amount: { fixed: 1 } },
      ],
    });
    const theirs = await makeRule(other.admin.api);
    await lock('2026-03-31');
    const all = [
      [{ total: 5, day: '2026-03-31' }, 'period_locked'],
      [{ day: '2026-04-01' }, 'invalid_amount'],
      [{ total: -5, day: '2026-04-01' }, 'negative_amount'],
      [{ total: 5 }, 'invalid_date'],
    ] as const;
    for (const [values] of all) await create(tenant.admin, entity, values);
    await create(tenant.admin, entity, { total: 5, day: '2026-04-01' });
    await create(other.admin, things, { total: 5 });
    await entriesOf(api(), well, 5);
    await entriesOf(api(), failing, 1);
    await entriesOf(other.admin.api, theirs, 1);
    const failures = await failuresOf(api(), failing, 4);
    // The list is newest first.
    expect(failures.map(({ code }) => code)).to.have.members(all.map(([, code]) => code));
    const times = failures.map(({ created_at }) => created_at);
    expect(times).to.deep.equal([...times].sort().reverse());
    for (const each of failures) {
      expect(each).to.include({ source_kind: 'entity.created', attempts: 1, rule_id: failing.id });
      expect(each).not.to.have.property('resolved_at');
    }
    expect((await failuresOf(api(), uneven, 5)).map(({ code }) => code)).to.deep.equal(
      Array.from({ length: 5 }, () => 'unbalanced'),
    );
    expect(await failuresOf(other.admin.api, theirs, 0)).to.deep.equal([]);
  });

  it('of an inactive account counts its attempts, and is resolved by a success', async () => {
    const rule = await makeRule(api());
    await account('1200', false);
    await create(tenant.admin, entity, { total: 5 });
    const { id, event_id } = oneOf(await failuresOf(api(), rule, 1));
    const again = (await retry(id)).as(failure);
    expect(again).to.include({ id, event_id, code: 'account_inactive', attempts: 2 });
    expect(again).not.to.have.property('resolved_at');
    await account('1200', true);
    const resolved = (await retry(id)).as(failure);
    expect(resolved).to.include({ id, event_id, code: 'account_inactive', attempts: 2 });
    expect(resolved).to.have.property('resolved_at');
    const entry = oneOf(await entriesOf(api(), rule, 1));
    expect(entry.source).to.deep.equal({ kind: 'entity.created', id: event_id, rule_id: rule.id });
    expect((await retry(id)).as(failure)).to.deep.equal(resolved);
    await entriesOf(api(), rule, 1);
    expect(await failuresOf(api(), rule, 1)).to.deep.equal([resolved]);
  });

  it('is retried with the present rule', async () => {
    const rule = await makeRule(api());
    await create(tenant.admin, entity, { gross: '1.50' });
    const { id } = oneOf(await failuresOf(api(), rule, 1));
    const lines = [{ ...SALE.lines[0], amount: { path: 'values.gross' } }, SALE.lines[1]];
    await api().patch(`${RULES}/${rule.id}`, { lines, active: false });
    expect((await retry(id)).as(failure)).to.have.property('resolved_at');
    expect(movesOf(oneOf(await entriesOf(api(), rule, 1)))).to.deep.equal(['1200 150 0', '4000 0 150']);
  });

  it('is resolved without an entry when the rule no longer matches', async () => {
    const rule = await makeRule(api());
    await create(tenant.admin, entity, {});
    await create(tenant.admin, entity, { total: -1 });
    const [one, two] = await failuresOf(api(), rule, 2);
    await api().patch(`${RULES}/${rule.id}`, { when: 'payload.values.total > 0' });
    expect((await retry(one?.id ?? '')).as(failure)).to.have.property('resolved_at');
    await api().patch(`${RULES}/${rule.id}`, { source_kind: 'entity.updated' });
    expect((await retry(two?.id ?? '')).as(failure)).to.have.property('resolved_at');
    expect(await entriesOf(api(), rule, 0)).to.deep.equal([]);
  });

  it('gives one entry under 20 concurrent retries and changes of the rule', async () => {
    const rule = await makeRule(api(), { date: 'values.day' });
    await lock('2026-03-31');
    for (let nth = 0; nth < 3; nth += 1) {
      await create(tenant.admin, entity, { total: 5 + nth, day: '2026-03-31' });
    }
    const failures = await failuresOf(api(), rule, 3);
    const [first, ...others] = failures;
    const refusals = await Promise.all(Array.from({ length: 20 }, () => retry(first?.id ?? '')));
    const attempts = refusals.map((answer) => answer.as(failure).attempts).sort((a, b) => a - b);
    expect(attempts).to.deep.equal(Array.from({ length: 20 }, (_, nth) => nth + 2));
    await lock(null);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => [
        retry(first?.id ?? ''),
        ...others.map(({ id }) => retry(id)),
        ...(nth === 10 ? [api().patch(`${RULES}/${rule.id}`, { name: 'Changed', mode: 'draft' })] : []),
      ]).flat(),
    );
    expect(answers.map(({ status }) => status).every((status) => status === 200)).to.equal(true);
    const entries = await entriesOf(api(), { ...rule, mode: 'draft' }, 3);
    expect(new Set(entries.map(({ source }) => source.id)).size).to.equal(3);
    const after = await failuresOf(api(), rule, 3);
    expect(after.every(({ resolved_at }) => resolved_at !== undefined)).to.equal(true);
  }).timeout(60_000);

  it('is retried once for one Idempotency-Key', async () => {
    const rule = await makeRule(api());
    await create(tenant.admin, entity, {});
    const { id } = oneOf(await failuresOf(api(), rule, 1));
    const options = { headers: { 'idempotency-key': randomUUID() } };
    const answers = await Promise.all([0, 1, 2].map(() => retry(id, options)));
    for (const answer of answers) expect(answer.as(failure).attempts).to.equal(2);
    expect((await retry(id)).as(failure).attempts).to.equal(3);
  });

  it('is not found by an unknown id, or in another tenant', async () => {
    for (const id of [randomUUID(), 'x']) {
      expect(refused(await retry(id))).to.deep.equal({ status: 404, error: 'not_found' });
    }
    const rule = await makeRule(api());
    await create(tenant.admin, entity, {});
    const { id } = oneOf(await failuresOf(api(), rule, 1));
    const { tenant: other } = await withSales(world);
    expect((await other.admin.api.post(`${FAILURES}/${id}/retry`)).status).to.equal(404);
  });

  it('is listed in pages', async () => {
    const rule = await makeRule(api());
    for (let nth = 0; nth < 5; nth += 1) await create(tenant.admin, entity, {});
    const all = await failuresOf(api(), rule, 5);
    const first = await api().get(`${FAILURES}?limit=3`);
    const next = /<([^>]+)>; rel="next"/.exec(first.header('link') ?? '')?.[1] ?? '';
    const paged = [...first.as(failure.array()), ...(await api().get(next)).as(failure.array())];
    expect(paged).to.deep.equal(all);
    expect((await api().get(`${FAILURES}?limit=x`)).status).to.equal(400);
  });
});
