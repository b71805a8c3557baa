import { expect } from 'chai';
import { MAX_EVENT_BYTES } from '../../../application/ports/event-store.ts';
import { MAX_NAME_BYTES } from '../../../domain/ledger/account.ts';
import { type GivenLine, MAX_LINES, MAX_LINES_BYTES, postedBytes } from '../../../domain/ledger/content.ts';
import { MAX_MONEY } from '../../../domain/ledger/money.ts';
import { refusalCode } from '../../support/eventually.ts';
import { fill, type LedgerNode, move, request, startLedger, TENANT } from './support.ts';

/** The longest JSON that callers can give: control characters take six bytes. */
const MEMO = '\u0001'.repeat(500);
const LONG_NAME = 'é'.repeat(MAX_NAME_BYTES / 2);
const QUOTES = '"'.repeat(MAX_NAME_BYTES / 2);
const DATE = '2026-03-15';
/** Room for metadata, which is longer in requests than in these tests. */
const METADATA_BYTES = 2000;

const openAccounts = async ({ chart }: LedgerNode, count: number, name: string): Promise<string[]> => {
  const codes = Array.from({ length: count }, (_, nth) => `${nth}`.padStart(32, 'A'));
  for (const code of codes) {
    await chart.openAccount(TENANT, { code, name, type: 'Asset', active: true }, request());
  }
  return codes;
};

/** Balanced lines with the largest amounts and the longest memos, over the accounts. */
const largest = (codes: readonly string[]): GivenLine[] => {
  const amount = Math.floor((MAX_MONEY * 2) / MAX_LINES);
  const lines = Array.from({ length: MAX_LINES }, (_, nth) => ({
    account_code: codes[nth % codes.length] ?? '',
    ...(nth % 2 === 0 ? { debit: amount, credit: 0 } : { debit: 0, credit: amount }),
    memo: '',
  }));
  let left = MAX_LINES_BYTES - postedBytes(lines);
  return lines.map((line) => {
    const bytes = Math.min(left, MEMO.length * 6);
    left -= bytes;
    return { ...line, memo: `${MEMO.slice(0, Math.floor(bytes / 6))}${'m'.repeat(bytes % 6)}` };
  });
};

/** Drafts the largest entry, renames its accounts, posts it, renames them again, reverses it. */
const throughTheBooks = async (
  node: LedgerNode,
  codes: readonly string[],
  rename: (name: string) => Promise<void>,
): Promise<void> => {
  const { entries, posting } = node;
  const given = { date: DATE, memo: MEMO, lines: largest(codes) };
  const { draft } = await entries.draft(TENANT, given, { kind: 'manual' }, request());
  await rename(LONG_NAME);
  await posting.post(TENANT, draft.id, request());
  await rename(QUOTES);
  await posting.reverse(TENANT, draft.id, { memo: MEMO }, request());
  const sizes = (await node.events.readAll({ limit: 100_000 }))
    .filter(({ type }) => type === 'EntryPosted' || type === 'EntryReversed')
    .map(({ data, metadata }) => Buffer.byteLength(data) + Buffer.byteLength(metadata));
  expect(sizes).to.have.length(2);
  for (const size of sizes) expect(size).to.be.within(MAX_LINES_BYTES, MAX_EVENT_BYTES - METADATA_BYTES);
};

describe('The largest entry that can be drafted', () => {
  it('is posted and reversed after any renaming of its accounts', async () => {
    const node = startLedger();
    await fill(node);
    const codes = await openAccounts(node, 2, 'N');
    await throughTheBooks(node, codes, async (name) => {
      for (const code of codes) await node.chart.changeAccount(TENANT, code, { name }, request());
    });
  });

  it('is posted and reversed with a different account on each line', async () => {
    const node = startLedger();
    await fill(node);
    const codes = await openAccounts(node, MAX_LINES, LONG_NAME);
    await throughTheBooks(node, codes, async () => undefined);
  }).timeout(60_000);

  it('is refused with one more character, as a new draft and as a change of a draft', async () => {
    const node = startLedger();
    await fill(node);
    const { entries } = node;
    const lines = largest(await openAccounts(node, 3, 'N'));
    const last = lines.at(-1);
    const more = [...lines.slice(0, -1), { ...last, account_code: last?.account_code ?? '', memo: 'm' }];
    const drafting = entries.draft(TENANT, { date: DATE, lines: more }, { kind: 'manual' }, request());
    expect(await refusalCode(drafting)).to.equal('payload_too_large');
    const small = { date: DATE, lines: move('1000', '4000', 1) };
    const { draft } = await entries.draft(TENANT, small, { kind: 'manual' }, request());
    const changing = entries.change(TENANT, draft.id, { lines: more }, request());
    expect(await refusalCode(changing)).to.equal('payload_too_large');
    await entries.change(TENANT, draft.id, { lines }, request());
  });
});
