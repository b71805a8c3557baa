import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { forSuite } from '../../support/suite.ts';
import {
  ACCOUNTS,
  drafted,
  ENTRIES,
  entry,
  move,
  olgaWithBooks,
  posted,
  read,
  refused,
  withBooks,
} from './support.ts';

const MAX = Number.MAX_SAFE_INTEGER;

const RAW = { 'content-type': 'application/json' };

describe('Ledger entries', () => {
  const here = forSuite(olgaWithBooks);

  const draft = (body: object) =>
    here().admin.api.post(ENTRIES, { date: '2026-03-15', lines: move('1000', '4000', 100), ...body });

  describe('a draft', () => {
    it('is refused when it is too large to post', async () => {
      const line = { account_code: '1000', memo: '\u0001'.repeat(90) };
      const lines = Array.from({ length: 1000 }, (_, nth) => ({
        ...line,
        ...(nth % 2 === 0 ? { debit: 1 } : { credit: 1 }),
      }));
      expect(refused(await draft({ lines }))).to.deep.equal({
        status: 413,
        error: 'payload_too_large',
        details: { limit: 504 * 1024 },
      });
    });

    it('is created with lines, by any person', async () => {
      const { admin, operator } = here();
      const made = (
        await operator.api.post(ENTRIES, {
          date: '2026-03-15',
          memo: 'A sale',
          lines: [
            { account_code: '1000', debit: 70, memo: 'in cash' },
            { account_code: '1200', debit: 30, credit: 0 },
            { account_code: '4000', debit: 0, credit: 100, currency: 'EUR' },
          ],
        })
      ).as(entry, 201);
      expect(made).to.deep.include({
        number: null,
        state: 'draft',
        date: '2026-03-15',
        memo: 'A sale',
        currency: 'EUR',
        total_debit: 100,
        total_credit: 100,
        source: { kind: 'manual' },
        lines: [
          { line_no: 1, account_code: '1000', account_name: 'Cash', debit: 70, credit: 0, memo: 'in cash' },
          { line_no: 2, account_code: '1200', account_name: 'Receivables', debit: 30, credit: 0 },
          { line_no: 3, account_code: '4000', account_name: 'Sales', debit: 0, credit: 100 },
        ],
      });
      expect(made).not.to.have.any.keys('posted_at', 'reversal_of', 'reversed_by');
      expect(await read(admin.api, made.id)).to.deep.equal(made);
    });

    it('takes its own currency, and real days only', async () => {
      const { admin } = here();
      expect((await drafted(admin.api, { currency: 'JPY' })).currency).to.equal('JPY');
      expect((await drafted(admin.api, { date: '2028-02-29' })).date).to.equal('2028-02-29');
      for (const date of [
        '2027-02-29',
        '2026-13-01',
        '2026-3-15',
        '2026-03-15T00:00:00Z',
        '',
        20260315,
        null,
      ]) {
        expect((await draft({ date })).status, JSON.stringify(date)).to.equal(400);
      }
      for (const currency of ['eur', 'EURO', 'EUP', '', 1]) {
        expect((await draft({ currency })).status, JSON.stringify(currency)).to.equal(400);
      }
      expect((await admin.api.post(ENTRIES, { lines: move('1000', '4000', 1) })).status).to.equal(400);
    });

    it('refuses invalid amounts', async () => {
      const { world, admin } = here();
      const wrong: object[] = [
        { debit: 0 },
        {},
        { debit: 1, credit: 1 },
        { debit: -1 },
        { debit: 0.5 },
        { debit: '1' },
        { debit: '0.1' },
        { debit: '1e3' },
        { debit: -0 },
        { debit: true },
        { debit: 1e21 },
        { debit: MAX + 1 },
        { debit: null },
        { debit: 1, cents: 1 },
        { debit: 1, memo: 'a\u0000b' },
      ];
      for (const line of wrong) {
        const lines = [
          { account_code: '1000', ...line },
          { account_code: '4000', credit: 1 },
        ];
        const answer = await draft({ lines });
        expect(answer.status, JSON.stringify(line)).to.equal(400);
        expect(answer.error).to.equal('validation_failed');
      }
      expect((await draft({ lines: move('1000', '4000', 0) })).status, 'all zero').to.equal(400);
      for (const none of ['9007199254740993', '9007199254740990.6', '1e400', '-1e3', 'NaN', '01']) {
        const text = `{"date":"2026-03-15","lines":[{"account_code":"1000","debit":${none}},{"account_code":"4000","credit":${none}}]}`;
        const raw = {
          method: 'POST',
          headers: { ...RAW, authorization: `Bearer ${admin.token}` },
          body: text,
        };
        expect((await fetch(`${world.server.base}${ENTRIES}`, raw)).status, none).to.equal(400);
      }
      const fraction = await draft({ lines: move('1000', '4000', 0.5) });
      expect(refused(fraction).details).to.have.property('field', 'lines.0.debit');
    });

    it('has 2 to 1,000 lines', async () => {
      const { admin } = here();
      const of = (pairs: number) => Array.from({ length: pairs }, () => move('1000', '4000', 1)).flat();
      expect((await draft({ lines: [] })).status).to.equal(400);
      expect((await draft({ lines: of(1).slice(1) })).status).to.equal(400);
      expect((await draft({ lines: [...of(500), { account_code: '1000', debit: 1 }] })).status).to.equal(400);
      const largest = (await draft({ lines: of(500) })).as(entry, 201);
      const { lines } = (await admin.api.post(`${ENTRIES}/${largest.id}/post`)).as(entry);
      expect(lines).to.have.length(1000);
    });

    it('accepts totals up to 2^53 - 1', async () => {
      const { admin } = here();
      const largest = await posted(admin.api, { currency: 'XTS', lines: move('1000', '4000', MAX) });
      expect(largest.total_debit).to.equal(MAX);
      const lines = [...move('1000', '4000', MAX), ...move('1000', '4000', 1)];
      expect(refused(await draft({ lines }))).to.deep.include({ status: 400, error: 'validation_failed' });
    });

    it('refuses unbalanced lines, with the difference', async () => {
      const lines = [
        { account_code: '1000', debit: 101 },
        { account_code: '4000', credit: 100 },
      ];
      expect(refused(await draft({ lines }))).to.deep.equal({
        status: 422,
        error: 'unbalanced',
        details: { total_debit: 101, total_credit: 100, difference: 1, currency: 'EUR' },
      });
    });

    it('refuses another currency, and unknown or inactive accounts', async () => {
      const { admin } = here();
      const mixed = [
        { account_code: '1000', debit: 1, currency: 'USD' },
        { account_code: '4000', credit: 1 },
      ];
      expect(refused(await draft({ lines: mixed }))).to.deep.include({
        status: 422,
        error: 'mixed_currency',
      });
      expect(refused(await draft({ lines: move('1000', '9999', 1) }))).to.deep.equal({
        status: 422,
        error: 'unknown_account',
        details: { line_no: 2, account_code: '9999' },
      });
      expect(refused(await draft({ lines: move('__proto__', '4000', 1) }))).to.include({
        error: 'unknown_account',
      });
      await admin.api.post(ACCOUNTS, { code: 'OLD', name: 'Old', type: 'Asset', active: false });
      expect(refused(await draft({ lines: move('old', '4000', 1) }))).to.deep.include({
        status: 422,
        error: 'account_inactive',
      });
    });

    it('names accounts in upper or lower case', async () => {
      const { admin } = here();
      await admin.api.post(ACCOUNTS, { code: 'Bank.Main', name: 'Bank', type: 'Asset' });
      const made = await drafted(admin.api, { lines: move('bank.MAIN', '4000', 1) });
      expect(made.lines[0]).to.include({ account_code: 'Bank.Main', account_name: 'Bank' });
    });

    it('can be changed, even out of balance until it is posted', async () => {
      const { admin } = here();
      const { id } = await drafted(admin.api, { memo: 'as it was' });
      const lines = [
        { account_code: '1000', debit: 5 },
        { account_code: '4000', credit: 4 },
      ];
      const changed = (await admin.api.patch(`${ENTRIES}/${id}`, { lines, date: '2026-04-01' })).as(entry);
      expect(changed).to.deep.include({
        date: '2026-04-01',
        memo: 'as it was',
        total_debit: 5,
        total_credit: 4,
      });
      expect(await read(admin.api, id)).to.deep.equal(changed);
      expect(refused(await admin.api.post(`${ENTRIES}/${id}/post`))).to.deep.equal({
        status: 422,
        error: 'unbalanced',
        details: { total_debit: 5, total_credit: 4, difference: 1, currency: 'EUR' },
      });
      expect((await read(admin.api, id)).state).to.equal('draft');
      const mixed = [
        { account_code: '1000', debit: 1, currency: 'EUR' },
        { account_code: '4000', credit: 1 },
      ];
      expect((await admin.api.patch(`${ENTRIES}/${id}`, { lines: mixed, currency: 'USD' })).error).to.equal(
        'mixed_currency',
      );
      expect((await admin.api.patch(`${ENTRIES}/${id}`, { lines: move('1000', 'x', 1) })).error).to.equal(
        'unknown_account',
      );
      expect((await admin.api.patch(`${ENTRIES}/${id}`, { lines: [] })).status).to.equal(400);
      const same = await admin.api.patch(`${ENTRIES}/${id}`, {});
      expect(same.as(entry)).to.deep.equal(changed);
    });

    it('is discarded', async () => {
      const { admin } = here();
      const { id } = await drafted(admin.api, {});
      expect((await admin.api.delete(`${ENTRIES}/${id}`)).status).to.equal(204);
      for (const answer of [
        await admin.api.get(`${ENTRIES}/${id}`),
        await admin.api.patch(`${ENTRIES}/${id}`, {}),
        await admin.api.delete(`${ENTRIES}/${id}`),
        await admin.api.post(`${ENTRIES}/${id}/post`),
        await admin.api.post(`${ENTRIES}/${id}/reverse`, {}),
      ]) {
        expect(answer.status).to.equal(404);
      }
    });
  });

  it('are not found under an unknown id', async () => {
    const { admin } = here();
    for (const id of [randomUUID(), 'no-id', 'A0000000-0000-4000-8000-000000000000']) {
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/post'],
        ['POST', '/reverse'],
      ] as const) {
        const answer = await admin.api.request(
          method,
          `${ENTRIES}/${id}${path}`,
          method === 'GET' ? undefined : {},
        );
        expect(answer.status, `${method} ${id}${path}`).to.equal(404);
      }
    }
  });

  describe('the list', () => {
    it('is filtered by state, days and account, newest date first, in pages', async () => {
      const { world } = here();
      const books = await withBooks(world);
      const { api } = books.admin;
      const dates = ['2026-01-31', '2026-02-01', '2026-02-01', '2026-02-28', '2026-03-01'];
      for (const date of dates) await posted(api, { date });
      const open = await drafted(api, { date: '2026-02-10', lines: move('5000', '2100', 7) });
      const list = async (query: string) => (await api.get(`${ENTRIES}?${query}`)).as(entry.array());
      expect((await list('')).map(({ date }) => date)).to.deep.equal([
        '2026-03-01',
        '2026-02-28',
        '2026-02-10',
        '2026-02-01',
        '2026-02-01',
        '2026-01-31',
      ]);
      expect((await list('from=2026-02-01&to=2026-02-28')).map(({ number }) => number)).to.deep.equal([
        4,
        null,
        3,
        2,
      ]);
      expect((await list('from=2026-02-01&to=2026-02-01')).map(({ number }) => number)).to.deep.equal([3, 2]);
      expect(await list('state=draft')).to.deep.equal([open]);
      expect(await list('account=5000')).to.deep.equal([open]);
      expect(await list('account=1000&state=draft')).to.deep.equal([]);
      expect(await list('account=nobody')).to.deep.equal([]);
      expect(
        (await list('account=1000&state=posted&to=2026-02-01')).map(({ number }) => number),
      ).to.deep.equal([3, 2, 1]);
      for (const query of [
        'state=open',
        'from=2026-02-30',
        'from=2026-02-02&to=2026-02-01',
        'limit=x',
        'cursor=x',
      ]) {
        expect((await api.get(`${ENTRIES}?${query}`)).status, query).to.equal(400);
      }
      const seen: string[] = [];
      let path: string | undefined = `${ENTRIES}?limit=2&from=2026-02-01`;
      while (path !== undefined) {
        const page = await api.get(path);
        seen.push(...page.as(entry.array()).map(({ id }) => id));
        path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
      }
      expect(seen).to.deep.equal((await list('from=2026-02-01')).map(({ id }) => id));
      expect(seen).to.have.length(5);
    });

    it('shows a posted entry once, with its new state', async () => {
      const { world } = here();
      const books = await withBooks(world);
      const { api } = books.admin;
      const done = await posted(api);
      await api.post(`${ENTRIES}/${done.id}/reverse`, { date: done.date });
      const states = (await api.get(ENTRIES)).as(entry.array()).map(({ state }) => state);
      expect(states).to.deep.equal(['posted', 'reversed']);
      expect((await api.get(`${ENTRIES}?state=draft`)).json).to.deep.equal([]);
      const drilled = (
        await api.get(`${ENTRIES}?account=4000&from=2026-03-15&to=2026-03-15&state=reversed`)
      ).as(entry.array());
      expect(drilled.map(({ id }) => id)).to.deep.equal([done.id]);
    });
  });
});
