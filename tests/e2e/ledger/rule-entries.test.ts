import { expect } from 'chai';
import { committed, createMany, edit, preview as previewBulk } from '../bulk/support.ts';
import { change, create, remove } from '../entities/support.ts';
import { publicPath, published as publishedForm, send } from '../forms/support.ts';
import { defineEntity, move as moveJob, startJob } from '../workflow/support.ts';
import {
  allEntries,
  allFailures,
  entriesOf,
  FIXED,
  failuresOf,
  makeRule,
  movesOf,
  RULES,
  rule,
  SALE,
  salesSuite,
  withSales,
} from './rules-support.ts';
import { ENTRIES, entitle } from './support.ts';

describe('Posting rules', () => {
  const { here, api, off } = salesSuite();
  const today = () => new Date().toISOString().slice(0, 10);

  describe('make entries', () => {
    it('of later events, posted under the rule’s name', async () => {
      const { tenant, entity } = here();
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

    it('as drafts, when the rule says so', async () => {
      const { tenant, entity } = here();
      const made = await makeRule(api(), { mode: 'draft' });
      await create(tenant.admin, entity, { total: 5 });
      const [draft] = await entriesOf(api(), made, 1);
      expect(draft).to.include({ state: 'draft', number: null });
      await off(made.id);
    });

    it('when the condition holds, and not when it cannot be evaluated', async () => {
      const { tenant, entity } = here();
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
      const { tenant, entity } = here();
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
        // 2.5, 7.5 and 12.5 round to the even neighbour.
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

    it('without zero lines, and none when all lines are zero', async () => {
      const { tenant, entity } = here();
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

    it('on the payload’s day, in the tenant’s time zone', async () => {
      const { world } = here();
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

    it('of each source, with the data of webhooks', async () => {
      const { tenant, entity } = here();
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

    it('by each of several matching rules, but not of entries that another rule has made', async () => {
      const { tenant, entity } = here();
      const rules = [];
      for (const name of ['one', 'two']) rules.push(await makeRule(api(), { name }));
      const before = (await allEntries(api())).length;
      await create(tenant.admin, entity, { total: 5 });
      for (const each of rules) await entriesOf(api(), each, 1);
      expect(await allEntries(api())).to.have.length(before + 2);
      for (const { id } of rules) await off(id);
    });

    it('of a bulk commit, each row once and in order', async () => {
      const { tenant, entity } = here();
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

  it('make entries only with the ledger entitlement, and no failures without it', async () => {
    const { world } = here();
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

  it('make entries of submitted forms too', async () => {
    const { world, tenant } = here();
    const form = await publishedForm(tenant, [{ key: 'total', type: 'integer' }]);
    const made = await makeRule(api(), { source_kind: 'form.submitted' });
    const answer = await send(world.anybody, publicPath(tenant, form), { total: 42 });
    expect(answer.status, answer.text).to.equal(201);
    expect((await entriesOf(api(), made, 1)).map(movesOf)).to.deep.equal([['1200 42 0', '4000 0 42']]);
    await off(made.id);
  });
});
