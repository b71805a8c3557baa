import { z } from 'zod';
import { listOf } from '../../../domain/core/list-schema.ts';
import { iso } from '../../../domain/core/projection.ts';
import { jsonBytes } from '../../../domain/core/text.ts';
import {
  ACCOUNT_CODE,
  ACCOUNT_TYPES,
  type Account,
  accountOf,
  type Chart,
  EXISTING_CODE,
  MAX_NAME_BYTES,
} from '../../../domain/ledger/account.ts';
import { MAX_LINES, MIN_LINES } from '../../../domain/ledger/content.ts';
import { isDay } from '../../../domain/ledger/dates.ts';
import type { Draft } from '../../../domain/ledger/entry.ts';
import { CURRENCY, isCurrency, MAX_MONEY } from '../../../domain/ledger/money.ts';
import type { AccountDoc } from '../../../projections/ledger/ledger.ts';
import { draftDoc, type EntryDoc } from '../../../projections/ledger/ledger-entries.ts';
import { filledText, text, timestamp, uuid } from '../../http/schemas.ts';
import { shown } from '../replies.ts';
import { tagged } from '../route-kinds.ts';

/** Shapes of the ledger's requests and answers (decisions, section 9). */

/** Makes routes that require the entitlement `ledger`. */
export const ledgerRoutes = (routes: Parameters<typeof tagged>[1]) =>
  tagged('Ledger', routes, { entitlement: 'ledger' });
export const GL = '/api/v1/tenant/gl';
export const REPORTS = '/api/v1/tenant/reports';
export const LEDGER_READS = ['ledger'];

/** A day of the calendar, `YYYY-MM-DD`. */
export const day = z
  .string()
  .refine(isDay, 'This is not a calendar date, YYYY-MM-DD.')
  .meta({ override: { format: 'date' } });

const NO_CURRENCY = 'This is not an ISO 4217 currency code.';
export const currencyCode = z.string().regex(CURRENCY, NO_CURRENCY).refine(isCurrency, NO_CURRENCY);

const accountCode = z
  .string()
  .regex(
    ACCOUNT_CODE,
    'A code has 1 to 32 letters, digits, dots, underscores and hyphens, the first a letter or digit.',
  );

/** A code in a path. */
export const existingCode = z.string().regex(EXISTING_CODE);

/** Minor units of one amount. */
const amount = z.int().min(0).max(MAX_MONEY);

/** A sum of minor units: a whole number with all its digits, however large. */
export const money = z.number().meta({ override: { type: 'integer' } });

/** A value whose JSON has all digits of the sum, also beyond the safe integers. */
const moneyJson = (value: bigint): unknown => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : exactJson.rawJSON(value.toString());
};

// Node 24 has `JSON.rawJSON`; the types of this language level lack it.
const exactJson = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** An answer as text, with its sums as {@link moneyJson}. */
export const moneyText = (answer: unknown): string =>
  JSON.stringify(answer, (_key, value: unknown) => (typeof value === 'bigint' ? moneyJson(value) : value));

const memo = text({ min: 0, max: 500 });

// Accounts

export const accountView = z
  .object({
    code: z.string(),
    name: z.string(),
    type: z.enum(ACCOUNT_TYPES),
    category: z.string().optional(),
    active: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Account' });

/** Whether postings can hold the name (decision 29); two bytes are the quotes of the name's JSON. */
const isNameShortEnough = (name: string): boolean => jsonBytes(name) <= MAX_NAME_BYTES + 2;

const accountName = filledText(200, 'A name must not be blank.').refine(
  isNameShortEnough,
  `A name must have at most ${MAX_NAME_BYTES} bytes as JSON in UTF-8.`,
);

const accountBody = z.object({
  code: accountCode,
  name: accountName,
  type: z.enum(ACCOUNT_TYPES),
  category: text({ max: 100 }).nullish(),
  active: z.boolean(),
});

export const newAccount = accountBody.extend({ active: z.boolean().default(true) });
// Derived from the body without defaults, because zod applies defaults in partial objects too.
export const accountChange = accountBody.partial();

export const viewOfAccountDoc = ({ id: _id, code_key: _key, ...account }: AccountDoc) => account;

export const viewOfAccount = (account: Account) =>
  shown(accountView, {
    ...account,
    created_at: iso(account.openedAt),
    updated_at: iso(account.changedAt),
  });

// Entries

/** Unknown keys are refused, since a typo could cost money. */
const givenLine = z.strictObject({
  account_code: text({ max: 200 }),
  debit: amount.optional(),
  credit: amount.optional(),
  memo: memo.optional(),
  currency: currencyCode.optional(),
});

export const newEntry = z.object({
  date: day,
  memo: memo.optional(),
  currency: currencyCode.optional(),
  lines: listOf(givenLine, { min: MIN_LINES, max: MAX_LINES }),
});

export const entryChange = newEntry.partial();

export const reversal = z.object({ date: day.optional(), memo: memo.optional() });

export const entryView = z
  .object({
    id: uuid,
    number: z.int().nullable(),
    state: z.enum(['draft', 'posted', 'reversed']),
    date: day,
    memo: z.string(),
    currency: z.string(),
    lines: z.array(
      z.object({
        line_no: z.int(),
        account_code: z.string(),
        account_name: z.string(),
        debit: amount,
        credit: amount,
        memo: z.string().optional(),
      }),
    ),
    total_debit: amount,
    total_credit: amount,
    source: z.object({ kind: z.string(), id: z.string().optional(), rule_id: z.string().optional() }),
    reversal_of: uuid.optional(),
    reversed_by: uuid.optional(),
    created_at: timestamp,
    posted_at: timestamp.optional(),
  })
  .meta({ id: 'JournalEntry' });

/** A draft shows its accounts' present names, a posted entry the names at posting. */
export const viewOfEntry = ({ facets: _facets, ...entry }: EntryDoc, chart: Chart) => ({
  ...entry,
  lines: viewOfLines(entry.lines, chart),
});

export const viewOfLines = (lines: EntryDoc['lines'], chart: Chart) =>
  lines.map((line, index) => ({
    line_no: index + 1,
    account_code: line.account_code,
    account_name: line.account_name ?? accountOf(chart, line.account_code)?.name ?? line.account_code,
    debit: line.debit,
    credit: line.credit,
    ...(line.memo === undefined ? {} : { memo: line.memo }),
  }));

export const viewOfDraft = ({ id, content, source, createdAt }: Draft, chart: Chart) =>
  viewOfEntry(draftDoc(id, content, source, iso(createdAt)), chart);
