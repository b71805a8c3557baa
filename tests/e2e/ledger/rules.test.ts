import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { committed, createMany, edit, preview as previewBulk } from '../bulk/support.ts';
import { change, create, issuesOf, remove } from '../entities/support.ts';
import { publicPath, published as publishedForm, send } from '../forms/support.ts';
import { defineEntity, move as moveJob, startJob } from '../workflows/support.ts';
import {
  allEntries,
  allFailures,
  entriesOf,
  failuresOf,
  makeRule,
  movesOf,
  previewed,
  RULES,
  rule,
  SALE,
  withSales,
} from './rules-support.ts';
import { ACCOUNTS, CHART, ENTRIES, entitle, LOCK, refused } from './support.ts';

const FIXED = (amount: number | string) => [
  { account_code: '1000', side: 'debit', amount: { fixed: amount } },
  { account_code: '4000', side: 'credit', amount: { fixed: amount } },
];

describe('Posting rules', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;
  before(async () => {
    world = await startWorld();
    ({ tenant, entity } = await withSales(world));
  });
  after(endWorld);

  const api = () => tenant.admin.api;
  const off = (id: string) => api().patch(`${RULES}/${id}`, { active: false });
  const today = () => new Date().toISOString().slice(0, 10);

  describe('are made', () => {
    it('by any person, with what they say', async () => {
      const operator = await tenant.person('Olga');
      const body = {
        ...SALE,
        active: false,
        when: 'payload.values.total > 0',
        date: 'values.day',
        lines: [
          { account_code: '1200', side: 'debit', amount: { path: 'values.total' }, memo: 'gross' },
          { account_code: '2100', side: 'credit', amount: { percent: 19, path: 'values.total' } },
          { account_code: '3000', side: 'credit', amount: { fixed: '0.05' } },
          { account_code: '4000', side: 'credit', amount: { remainder: true } },
        ],
      };
      const made = (await operator.api.post(RULES, body)).as(rule, 201);
      const { id: _id, created_at, updated_at, ...rest } = made;
      expect(rest).to.deep.equal(body);
      expect(updated_at).to.equal(created_at);
      expect((await operator.api.get(RULES)).as(rule.array())[0]).to.deep.equal(made);
    });

    it('active, and of drafts, unless said otherwise', async () => {
      const { mode: _mode, ...body } = SALE;
      const made = (await api().post(RULES, body)).as(rule, 201);
      expect(made).to.include({ active: true, mode: 'draft' });
      await off(made.id);
    });

    it('of what can be said only', async () => {
      const line = (amount: unknown) => [{ account_code: '1200', side: 'debit', amount }, SALE.lines[1]];
      const bad: readonly (readonly [object, string])[] = [
        [{ source_kind: 'entity.moved' }, 'source_kind'],
        [{ source_kind: 'message.created' }, 'source_kind'],
        [{ mode: 'posted' }, 'mode'],
        [{ name: '' }, 'name'],
        [{ name: '  ' }, 'name'],
        [{ active: 'yes' }, 'active'],
        [{ lines: [SALE.lines[0]] }, 'lines'],
        [{ lines: Array.from({ length: 101 }, () => SALE.lines[0]) }, 'lines'],
        [{ lines: line({}) }, 'lines.0.amount'],
        [{ lines: line({ path: '' }) }, 'lines.0.amount'],
        [{ lines: line({ path: 'values..total' }) }, 'lines.0.amount'],
        [{ lines: line({ path: 'values.total', fixed: 1 }) }, 'lines.0.amount'],
        [{ lines: line({ path: 'values.total', sign: -1 }) }, 'lines.0.amount'],
        [{ lines: line({ percent: 19 }) }, 'lines.0.amount'],
        ...[0, -1, 100.5, 0.0000001, '19', null].map((percent): readonly [object, string] => [
          { lines: line({ percent, path: 'values.total' }) },
          'lines.0.amount',
        ]),
        ...[0, -5, 1.5, 2 ** 53, '0', '0.00', '-1', '1e3', ' 1', '1,5', '', '12.345', '0.001'].map(
          (fixed): readonly [object, string] => [{ lines: line({ fixed }) }, 'lines.0.amount'],
        ),
        [{ lines: line({ remainder: false }) }, 'lines.0.amount'],
        [{ lines: line({ remainder: true }) }, 'lines.1.amount'],
        [{ lines: line({ path: 'totals.retail' }) }, 'lines.0.amount.path'],
        [{ lines: line({ path: 'payload.values.total' }) }, 'lines.0.amount.path'],
        [{ date: 'when' }, 'date'],
        [{ when: 'values.total > 0' }, 'when'],
        [{ when: 'payload.values.total >' }, 'when'],
        [{ when: '' }, 'when'],
      ];
      for (const [body, path] of bad) {
        const answer = await api().post(RULES, { ...SALE, ...body });
        expect(answer.status, `${JSON.stringify(body)} ${answer.text}`).to.equal(400);
        expect(issuesOf(answer.json)[0], JSON.stringify(body)).to.match(
          new RegExp(`^${path.replaceAll('.', '\\.')}`),
        );
      }
      for (const unknown of [{ priority: 1 }, { id: randomUUID() }]) {
        expect((await api().post(RULES, { ...SALE, ...unknown })).error).to.equal('validation_failed');
      }
      const inLine = { ...SALE, lines: [{ ...SALE.lines[0], credit: 5 }, SALE.lines[1]] };
      expect((await api().post(RULES, inLine)).error).to.equal('validation_failed');
    });

    it('with accounts that are there and active', async () => {
      const other = (code: string) => ({ lines: [{ ...SALE.lines[0], account_code: code }, SALE.lines[1]] });
      expect(refused(await api().post(RULES, { ...SALE, ...other('nobody') }))).to.deep.equal({
        status: 422,
        error: 'unknown_account',
        details: { line_no: 1, account_code: 'nobody' },
      });
      await api().post(ACCOUNTS, { code: 'gone', name: 'Gone', type: 'Asset', active: false });
      expect((await api().post(RULES, { ...SALE, ...other('GONE') })).error).to.equal('account_inactive');
      const made = await makeRule(api(), { active: false, ...other('1200') });
      const answer = await api().patch(`${RULES}/${made.id}`, other('nobody'));
      expect(refused(answer)).to.deep.include({ status: 422, error: 'unknown_account' });
    });

    it('once for one key', async () => {
      const options = { headers: { 'idempotency-key': randomUUID() } };
      const body = { ...SALE, active: false };
      const [one, two] = await Promise.all([0, 1].map(() => api().post(RULES, body, options)));
      expect(two?.json).to.deep.equal(one?.json);
      const { id } = rule.parse(one?.json);
      const all = (await api().get(`${RULES}?limit=200`)).as(rule.array());
      expect(all.filter((each) => each.id === id)).to.have.length(1);
    });
  });

  it('are changed, and equal values change nothing', async () => {
    const made = await makeRule(api(), { active: false, when: 'true' });
    const same = (await api().patch(`${RULES}/${made.id}`, { ...SALE, active: false })).as(rule);
    expect(same).to.deep.equal(made);
    const changed = (
      await api().patch(`${RULES}/${made.id}`, { name: 'New', when: null, date: 'values.day', mode: 'draft' })
    ).as(rule);
    const { when: _when, ...rest } = made;
    expect(changed).to.deep.equal({
      ...rest,
      name: 'New',
      date: 'values.day',
      mode: 'draft',
      updated_at: changed.updated_at,
    });
    expect((await api().patch(`${RULES}/${made.id}`, { source_kind: 'job.transition' })).status).to.equal(
      400,
    );
    expect((await api().patch(`${RULES}/${made.id}`, { colour: 'red' })).status).to.equal(400);
    for (const id of [randomUUID(), 'x', made.id.toUpperCase()]) {
      const answer = await api().patch(`${RULES}/${id}`, { name: 'New' });
      expect(refused(answer)).to.deep.equal({ status: 404, error: 'not_found' });
    }
  });

  it('are listed newest first, in pages', async () => {
    const { tenant: other } = await withSales(world);
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await makeRule(other.admin.api, { name }));
    const first = await other.admin.api.get(`${RULES}?limit=2`);
    expect(first.as(rule.array())).to.deep.equal([made[2], made[1]]);
    const next = /<([^>]+)>; rel="next"/.exec(first.header('link') ?? '')?.[1] ?? '';
    expect((await other.admin.api.get(next)).as(rule.array())).to.deep.equal([made[0]]);
  });

  it('know their sources', async () => {
    const source = z.strictObject({
      kind: z.string(),
      title: z.string().min(1),
      payload: z.array(z.strictObject({ path: z.string(), type: z.string() })).min(1),
    });
    const sources = (await api().get(`${RULES}/sources`)).as(z.array(source));
    expect(sources.map(({ kind }) => kind)).to.deep.equal([
      'job.transition',
      'job.admin_override',
      'form.submitted',
      'entity.created',
      'entity.updated',
      'entity.deleted',
      'partner_invoice.issued',
    ]);
    const invoice = sources.find(({ kind }) => kind === 'partner_invoice.issued');
    expect(invoice?.payload.map(({ path }) => path).join(' ')).to.equal(
      'invoice_id number customer.id customer.name window.from window.to revision currency ' +
        'totals.wholesale totals.retail totals.margin upstream_ref issued_at',
    );
  });

  describe('make entries', () => {
    it('of what happens from then on, posted under the rule’s name', async () => {
      await create(tenant.admin, entity, { total: 1 });
      const made = await makeRule(api());
      await create(tenant.admin, entity, { total: 1234 });
      await create(tenant.admin, entity, { total: 1235 });
      const entries = await entriesOf(api(), made, 2);
      expect(entries.map(movesOf)).to.deep.equal([
        ['1200 1234 0', '4000 0 1234'],
        ['1200 1235 0', '4000 0 1235'],
      ]);
      const [one] = entries;
      expect(one).to.deep.include({ state: 'posted', memo: 'Sales', currency: 'EUR', date: today() });
      expect(one?.source).to.include({ kind: 'entity.created', rule_id: made.id });
      await off(made.id);
      await create(tenant.admin, entity, { total: 1236 });
      const again = (await api().patch(`${RULES}/${made.id}`, { active: true })).as(rule);
      await create(tenant.admin, entity, { total: 1237 });
      const after = await entriesOf(api(), again, 3);
      expect(after.map(({ total_debit }) => total_debit)).to.deep.equal([1234, 1235, 1237]);
      await off(made.id);
    });

    it('as drafts, where the rule says so', async () => {
      const made = await makeRule(api(), { mode: 'draft' });
      await create(tenant.admin, entity, { total: 5 });
      const [draft] = await entriesOf(api(), made, 1);
      expect(draft).to.include({ state: 'draft', number: null });
      await off(made.id);
    });

    it('where the condition holds; what cannot be evaluated does not hold', async () => {
      const made = await makeRule(api(), {
        when: `payload.entity_name == "${entity}" && payload.values.total >= 100 && !has(payload.values.title)`,
      });
      const unevaluable = await makeRule(api(), { when: 'payload.values > 3' });
      for (const total of [99, 100, 101]) await create(tenant.admin, entity, { total });
      await create(tenant.admin, entity, { total: 500, title: 'not this one' });
      await create(tenant.admin, entity, {});
      await create(tenant.admin, entity, { total: 102 });
      const entries = await entriesOf(api(), made, 3);
      expect(entries.map(({ total_debit }) => total_debit)).to.deep.equal([100, 101, 102]);
      expect(await entriesOf(api(), unevaluable, 0)).to.deep.equal([]);
      await off(made.id);
      await off(unevaluable.id);
    });

    it('of decimal texts, percentages and remainders, exactly', async () => {
      const made = await makeRule(api(), {
        lines: [
          { account_code: '1200', side: 'debit', amount: { path: 'values.gross' } },
          { account_code: '2100', side: 'credit', amount: { percent: 12.5, path: 'values.gross' } },
          { account_code: '4000', side: 'credit', amount: { remainder: true } },
        ],
      });
      const gross = ['0.20', '0.60', '1.00', '0.12', '90071992547409.91', '10.5', '7'];
      for (const each of gross) await create(tenant.admin, entity, { gross: each });
      const entries = await entriesOf(api(), made, gross.length);
      expect(entries.map(movesOf)).to.deep.equal([
        // 2.5, 7.5 and 12.5 go to the even neighbour.
        ['1200 20 0', '2100 0 2', '4000 0 18'],
        ['1200 60 0', '2100 0 8', '4000 0 52'],
        ['1200 100 0', '2100 0 12', '4000 0 88'],
        ['1200 12 0', '2100 0 2', '4000 0 10'],
        ['1200 9007199254740991 0', '2100 0 1125899906842624', '4000 0 7881299347898367'],
        ['1200 1050 0', '2100 0 131', '4000 0 919'],
        ['1200 700 0', '2100 0 88', '4000 0 612'],
      ]);
      await off(made.id);
    });

    it('without lines of zero, and none at all where all are zero', async () => {
      const made = await makeRule(api(), {
        lines: [
          ...SALE.lines,
          { account_code: '2100', side: 'credit', amount: { percent: 1, path: 'values.total' } },
        ],
      });
      for (const total of [0, 10, 0]) await create(tenant.admin, entity, { total });
      const [one] = await entriesOf(api(), made, 1);
      expect(movesOf(one as NonNullable<typeof one>)).to.deep.equal(['1200 10 0', '4000 0 10']);
      expect(await failuresOf(api(), made, 0)).to.deep.equal([]);
      await off(made.id);
    });

    it('on the day that the payload names, in the tenant’s time zone', async () => {
      const { tenant: far, entity: things } = await withSales(world);
      await world.platform.patch(`/super/tenants/${far.id}`, { timezone: 'Pacific/Kiritimati' });
      const day = await makeRule(far.admin.api, { date: 'values.day', name: 'day' });
      await create(far.admin, things, { total: 1, day: '2028-02-29' });
      const [leap] = await entriesOf(far.admin.api, day, 1);
      expect(leap?.date).to.equal('2028-02-29');
      await far.admin.api.patch(`${RULES}/${day.id}`, { active: false });
      const at = await makeRule(far.admin.api, { date: 'values.at', name: 'at' });
      await create(far.admin, things, { total: 1, at: '2026-12-31T10:30:00Z' });
      await create(far.admin, things, { total: 1, at: '2026-12-31T09:30:00Z' });
      const dates = (await entriesOf(far.admin.api, at, 2)).map(({ date }) => date);
      expect(dates).to.deep.equal(['2027-01-01', '2026-12-31']);
    });

    it('of each kind of source, with the data that webhooks get', async () => {
      const kinds = [
        'entity.created',
        'entity.updated',
        'entity.deleted',
        'job.transition',
        'job.admin_override',
      ];
      const rules = new Map<string, string>();
      for (const source_kind of kinds) {
        const { id } = await makeRule(api(), { source_kind, name: source_kind, lines: FIXED(7) });
        rules.set(source_kind, id);
      }
      const { id: changed } = await makeRule(api(), {
        source_kind: 'entity.updated',
        name: 'changed',
        when: 'payload.version == 2 && payload.values.total == 12',
        lines: FIXED('0.09'),
      });
      const flow = `flow_${entity}`;
      await defineEntity(tenant, flow);
      const job = await startJob(tenant.admin, flow);
      expect((await moveJob(tenant.admin, job, 'submit')).status).to.equal(200);
      const forced = await api().post(`/api/v1/tenant/jobs/${job}/override`, {
        to_state: 'draft',
        reason: 'Back again',
      });
      expect(forced.status).to.equal(200);
      const made = await create(tenant.admin, entity, { total: 11 });
      expect((await change(tenant.admin, made, { total: 12 })).status).to.equal(200);
      expect((await remove(tenant.admin, made)).status).to.equal(204);
      const counts = { 'entity.created': 2, 'entity.updated': 1, 'entity.deleted': 1, 'job.transition': 1 };
      for (const [kind, id] of rules) {
        const count = Object.entries(counts).find(([each]) => each === kind)?.[1] ?? 1;
        const entries = await entriesOf(api(), { id }, count);
        expect(entries.every(({ source }) => source.kind === kind)).to.equal(true);
        await off(id);
      }
      expect((await entriesOf(api(), { id: changed }, 1)).map(movesOf)).to.deep.equal([
        ['1000 9 0', '4000 0 9'],
      ]);
      await off(changed);
    });

    it('each of its own where several match, and none of one another’s', async () => {
      const rules = [];
      for (const name of ['one', 'two']) rules.push(await makeRule(api(), { name }));
      const before = (await allEntries(api())).length;
      await create(tenant.admin, entity, { total: 5 });
      for (const each of rules) await entriesOf(api(), each, 1);
      expect(await allEntries(api())).to.have.length(before + 2);
      for (const { id } of rules) await off(id);
    });

    it('of a bulk commit, each row once and in the order of the rows', async () => {
      const ids = await createMany(tenant.admin, entity, 50, (i) => ({ title: `${i}` }));
      const made = await makeRule(api(), { source_kind: 'entity.updated' });
      const session = await previewBulk(tenant.admin, entity, edit({ total: 3 }), ids);
      expect((await committed(tenant.admin, session.id)).result?.succeeded).to.equal(50);
      const entries = await entriesOf(api(), made, 50);
      expect(new Set(entries.map(({ source }) => source.id)).size).to.equal(50);
      const numbers = entries.map(({ number }) => number ?? 0);
      expect(numbers).to.deep.equal(numbers.map((_, nth) => (numbers[0] ?? 0) + nth));
      await off(made.id);
    }).timeout(60_000);
  });

  describe('are previewed', () => {
    const preview = async (id: string, payload: unknown) => api().post(`${RULES}/${id}/preview`, { payload });

    it('with the entry that they would make, and nothing of it is saved', async () => {
      const made = await makeRule(api(), {
        active: false,
        when: 'payload.values.total > 1',
        date: 'values.day',
        lines: [
          { account_code: '1200', side: 'debit', amount: { path: 'values.total' }, memo: 'gross' },
          { account_code: '2100', side: 'credit', amount: { percent: 10, path: 'values.total' } },
          { account_code: '4000', side: 'credit', amount: { remainder: true } },
        ],
      });
      const before = await allEntries(api());
      const payload = { values: { total: 105, day: '2026-03-04' } };
      const name = (code: string) => CHART.find((each) => each.code === code)?.name ?? '';
      expect((await preview(made.id, payload)).as(previewed)).to.deep.equal({
        matches: true,
        entry: {
          state: 'posted',
          date: '2026-03-04',
          memo: 'Sales',
          currency: 'EUR',
          lines: [
            {
              line_no: 1,
              account_code: '1200',
              account_name: name('1200'),
              debit: 105,
              credit: 0,
              memo: 'gross',
            },
            { line_no: 2, account_code: '2100', account_name: name('2100'), debit: 0, credit: 10 },
            { line_no: 3, account_code: '4000', account_name: name('4000'), debit: 0, credit: 95 },
          ],
          total_debit: 105,
          total_credit: 105,
          source: { kind: 'entity.created', rule_id: made.id },
        },
      });
      expect((await preview(made.id, { values: { total: 1 } })).as(previewed)).to.deep.equal({
        matches: false,
      });
      expect((await preview(made.id, {})).as(previewed)).to.deep.equal({ matches: false });
      expect(await allEntries(api())).to.deep.equal(before);
      expect(await failuresOf(api(), made, 0)).to.deep.equal([]);
    });

    it('without an entry, where there is nothing to write down', async () => {
      const made = await makeRule(api(), { active: false });
      expect((await preview(made.id, { values: { total: 0 } })).as(previewed)).to.deep.equal({
        matches: true,
      });
    });

    it('with what they would fail with', async () => {
      const made = await makeRule(api(), { active: false, date: 'values.day' });
      const day = '2026-03-04';
      const bad: readonly (readonly [object, string])[] = [
        [{ day }, 'payload.values.total invalid_amount'],
        [{ day, total: 1.5 }, 'payload.values.total invalid_amount'],
        [{ day, total: '1.005' }, 'payload.values.total invalid_amount'],
        [{ day, total: '1e3' }, 'payload.values.total invalid_amount'],
        [{ day, total: '90071992547409.92' }, 'payload.values.total invalid_amount'],
        [{ day, total: true }, 'payload.values.total invalid_amount'],
        [{ day, total: -1 }, 'payload.values.total negative_amount'],
        [{ day, total: '-0.01' }, 'payload.values.total negative_amount'],
        [{ total: 1 }, 'payload.values.day invalid_date'],
        [{ total: 1, day: '2027-02-29' }, 'payload.values.day invalid_date'],
        [{ total: 1, day: 20260304 }, 'payload.values.day invalid_date'],
      ];
      for (const [values, issue] of bad) {
        const answer = await preview(made.id, { values });
        expect(refused(answer), JSON.stringify(values)).to.deep.include({
          status: 422,
          error: 'constraint_violated',
        });
        expect(issuesOf(answer.json)).to.deep.equal([issue]);
      }
      await api().request('PUT', LOCK, { locked_through: '2026-03-31' });
      expect((await preview(made.id, { values: { total: 1, day } })).error).to.equal('period_locked');
      await api().request('PUT', LOCK, { locked_through: null });
      const uneven = await makeRule(api(), {
        active: false,
        lines: [...FIXED(5).slice(0, 1), ...FIXED(4).slice(1)],
      });
      expect(refused(await preview(uneven.id, {}))).to.deep.equal({
        status: 422,
        error: 'unbalanced',
        details: { total_debit: 5, total_credit: 4, difference: 1, currency: 'EUR' },
      });
    });

    it('with a payload, of a rule that is there', async () => {
      const made = await makeRule(api(), { active: false });
      for (const body of [{}, { payload: null }, { payload: [] }, { payload: {}, more: 1 }]) {
        expect((await api().post(`${RULES}/${made.id}/preview`, body)).error).to.equal('validation_failed');
      }
      expect((await preview(randomUUID(), {})).error).to.equal('not_found');
      const odd = JSON.parse('{"values": {"__proto__": {"total": 5}, "constructor": 1}}');
      const proto = await makeRule(api(), {
        active: false,
        lines: [{ ...SALE.lines[0], amount: { path: 'values.__proto__.total' } }, SALE.lines[1]],
      });
      // A name that is there is a name like any other; one that is not leads nowhere.
      expect((await preview(proto.id, odd)).as(previewed).entry?.total_debit).to.equal(5);
      expect((await preview(proto.id, { values: {} })).error).to.equal('constraint_violated');
    });
  });

  it('do not apply while the tenant has no ledger, and fail at nothing', async () => {
    const { tenant: other, entity: things } = await withSales(world);
    const made = await makeRule(other.admin.api);
    await entitle(world, other, false);
    for (let nth = 0; nth < 3; nth += 1) await create(other.admin, things, { total: 1 });
    await entitle(world, other);
    await create(other.admin, things, { total: 2 });
    const entries = await entriesOf(other.admin.api, made, 1);
    expect(entries.map(({ total_debit }) => total_debit)).to.deep.equal([2]);
    expect(await allFailures(other.admin.api)).to.deep.equal([]);
    expect((await other.admin.api.get(`${ENTRIES}?limit=1`)).status).to.equal(200);
  });

  it('are of one tenant alone', async () => {
    const { tenant: other, entity: things } = await withSales(world);
    const made = await makeRule(api());
    const theirs = await makeRule(other.admin.api);
    await create(other.admin, things, { total: 9 });
    await entriesOf(other.admin.api, theirs, 1);
    expect(await entriesOf(api(), made, 0)).to.deep.equal([]);
    expect((await other.admin.api.patch(`${RULES}/${made.id}`, { name: 'x' })).status).to.equal(404);
    await off(made.id);
  });

  it('are of forms too', async () => {
    const form = await publishedForm(tenant, [{ key: 'total', type: 'integer' }]);
    const made = await makeRule(api(), { source_kind: 'form.submitted' });
    const answer = await send(world.anybody, publicPath(tenant, form), { total: 42 });
    expect(answer.status, answer.text).to.equal(201);
    expect((await entriesOf(api(), made, 1)).map(movesOf)).to.deep.equal([['1200 42 0', '4000 0 42']]);
    await off(made.id);
  });
});
