import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { create, issuesOf } from '../entities/support.ts';
import { entriesOf, makeRule, RULES, rule, SALE, salesSuite, withSales } from './rules-support.ts';
import { ACCOUNTS, refused } from './support.ts';

describe('Posting rules', () => {
  const { here, api, off } = salesSuite();

  describe('are created', () => {
    it('by any person, and returned unchanged', async () => {
      const { tenant } = here();
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

    it('active and drafting by default', async () => {
      const { mode: _mode, ...body } = SALE;
      const made = (await api().post(RULES, body)).as(rule, 201);
      expect(made).to.include({ active: true, mode: 'draft' });
      await off(made.id);
    });

    it('with valid content only', async () => {
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

    it('with existing, active accounts', async () => {
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

    it('once for one Idempotency-Key', async () => {
      const options = { headers: { 'idempotency-key': randomUUID() } };
      const body = { ...SALE, active: false };
      const [one, two] = await Promise.all([0, 1].map(() => api().post(RULES, body, options)));
      expect(two?.json).to.deep.equal(one?.json);
      const { id } = rule.parse(one?.json);
      const all = (await api().get(`${RULES}?limit=200`)).as(rule.array());
      expect(all.filter((each) => each.id === id)).to.have.length(1);
    });
  });

  it('change, but not by equal values', async () => {
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
    const { world } = here();
    const { tenant: other } = await withSales(world);
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await makeRule(other.admin.api, { name }));
    const first = await other.admin.api.get(`${RULES}?limit=2`);
    expect(first.as(rule.array())).to.deep.equal([made[2], made[1]]);
    const next = /<([^>]+)>; rel="next"/.exec(first.header('link') ?? '')?.[1] ?? '';
    expect((await other.admin.api.get(next)).as(rule.array())).to.deep.equal([made[0]]);
  });

  it('list their sources', async () => {
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

  it('are separate for each tenant', async () => {
    const { world } = here();
    const { tenant: other, entity: things } = await withSales(world);
    const made = await makeRule(api());
    const theirs = await makeRule(other.admin.api);
    await create(other.admin, things, { total: 9 });
    await entriesOf(other.admin.api, theirs, 1);
    expect(await entriesOf(api(), made, 0)).to.deep.equal([]);
    expect((await other.admin.api.patch(`${RULES}/${made.id}`, { name: 'x' })).status).to.equal(404);
    await off(made.id);
  });
});
