import { expect } from 'chai';
import type { DocumentReader } from '../../../domain/core/projection.ts';
import { lastNumber, postedEntries } from '../../../projections/ledger/ledger-entries.ts';
import { recordedBefore } from '../../../projections/ledger/ledger-recorded.ts';
import {
  presentBalanceSheet,
  presentProfitAndLoss,
  presentTrialBalance,
} from '../../support/ledger-reports.ts';
import { books, TENANT } from './support.ts';

/** The result without recorded amounts: the caller must read the whole journal. */
const NOTHING = { sums: [], chart: [], next: 0 };

describe('Recorded amounts', () => {
  it('are summed by month, so that a report as of a position reads one month of the journal', async () => {
    const { reader, post, open, nextMonth, end } = books();
    post(1, '2026-01-15');
    post(2, '2026-02-28');
    const march = end();
    nextMonth();
    open('C');
    post(3, '2026-01-15');
    const april = end();
    nextMonth();
    post(4, '2026-03-15');
    const recordedAt = async (position: string) => {
      const { sums, chart, next } = await recordedBefore(reader, TENANT, 'EUR', position, end());
      const days = sums.map(({ recorded, period, account, buckets }) => [recorded, period, account, buckets]);
      return { days, codes: chart.map(({ code }) => code), next };
    };
    expect(await recordedAt(march)).to.deep.equal({ days: [], codes: [], next: 0 });
    const ofMarch = [
      ['2026-03', '2026-01', 'a', { 15: [5, 0] }],
      ['2026-03', '2026-01', 'b', { 15: [0, 5] }],
      ['2026-03', '2026-02', 'a', { 28: [5, 0] }],
      ['2026-03', '2026-02', 'b', { 28: [0, 5] }],
    ];
    const inApril = await recordedAt(april);
    expect(inApril.days).to.have.deep.members(ofMarch);
    expect(inApril).to.deep.include({ codes: ['A', 'B'], next: 4 });
    const inMay = await recordedAt(end());
    expect(inMay.days).to.have.deep.members([
      ...ofMarch,
      ['2026-04', '2026-01', 'a', { 15: [5, 0] }],
      ['2026-04', '2026-01', 'b', { 15: [0, 5] }],
    ]);
    expect(inMay).to.deep.include({ codes: ['A', 'B', 'C'], next: 6 });
    expect((await recordedBefore(reader, TENANT, 'USD', end(), end())).sums).to.deep.equal([]);
  });

  it('exclude a batch in progress, which a store without transactions shows in part', async () => {
    const { reader, post, nextMonth, end, documents } = books();
    post(1, '2026-01-15');
    nextMonth();
    post(2, '2026-01-15');
    const folded = end();
    post(3, '2026-01-15');
    post(4, '2026-02-28');
    nextMonth();
    post(5, '2026-03-15');
    // The start of the new month is written, but the postings just before it are not.
    for (const account of ['a', 'b']) documents('recorded', TENANT).delete(`2026-04.EUR.2026-02.${account}`);
    const { sums, next } = await recordedBefore(reader, TENANT, 'EUR', end(), folded);
    expect([sums.map(({ recorded }) => recorded), next]).to.deep.equal([['2026-03', '2026-03'], 3]);
    expect(await recordedBefore(reader, TENANT, 'EUR', end(), undefined)).to.deep.equal(NOTHING);
  });

  it('are empty when a generation that lags takes over during the read', async () => {
    const [known, behind] = [books(), books()];
    for (const { post } of [known, behind]) post(1, '2026-01-15');
    known.post(2, '2026-01-15');
    known.nextMonth();
    known.post(3, '2026-01-15');
    const reader: DocumentReader = { ...behind.reader, find: known.reader.find };
    const place = known.end();
    expect(await recordedBefore(reader, TENANT, 'EUR', place, place)).to.deep.equal(NOTHING);
    expect((await recordedBefore(known.reader, TENANT, 'EUR', place, place)).next).to.equal(4);
  });
});

describe('Reports of the ledger', () => {
  it('read chart and balances together, so that each posting is included wholly or not at all', async () => {
    const { reader, post } = books();
    post(1, '2026-01-15');
    post(2, '2026-03-15');
    let together = 0;
    const apart = (): never => {
      throw new Error('read apart from the rest');
    };
    const watched: DocumentReader = {
      ...reader,
      get: apart,
      find: apart,
      findAll: (tenantId, queries) => {
        together += 1;
        return reader.findAll(tenantId, queries);
      },
    };
    const range = { currency: 'EUR', from: '2026-02-01', to: '2026-03-31' };
    const report = await presentTrialBalance(watched, TENANT, range);
    expect(report.accounts.map(({ opening_debit, debit }) => [opening_debit, debit])).to.deep.equal([
      [5n, 5n],
      [0n, 0n],
    ]);
    await presentProfitAndLoss(watched, TENANT, range);
    await presentBalanceSheet(watched, TENANT, { currency: 'EUR', asOf: '2026-03-31' });
    expect(together).to.equal(3);
  });

  it('leave postings after the start of an export to the next export', async () => {
    const { reader, post } = books();
    expect(await lastNumber(reader, TENANT)).to.equal(0);
    post(1, '2026-01-15');
    post(2, '2026-03-15');
    const last = await lastNumber(reader, TENANT);
    post(3, '2026-01-01');
    const page = { limit: 10, after: undefined };
    const { docs } = await postedEntries(reader, TENANT, last, page);
    expect(docs.map(({ number }) => number)).to.deep.equal([1, 2]);
    expect((await postedEntries(reader, TENANT, 0, page)).docs).to.deep.equal([]);
  });
});
