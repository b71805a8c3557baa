import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ChartOfAccounts } from '../../../application/ledger/chart-of-accounts.ts';
import { systemClock } from '../../../infrastructure/identity/ids.ts';
import { causeOf } from '../../support/book.ts';
import type { Answer, Client } from '../../support/client.ts';
import { openLogOf } from '../../support/log-of.ts';
import { startNode } from '../../support/node.ts';
import { sharedWorld, type TestTenant, type World } from '../../support/world.ts';

/** Tenants with a ledger. */

export const GL = '/api/v1/tenant/gl';
export const ACCOUNTS = `${GL}/accounts`;
export const ENTRIES = `${GL}/entries`;
export const LOCK = `${GL}/lock`;
export const REPORTS = '/api/v1/tenant/reports';

const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export const account = z.strictObject({
  code: z.string(),
  name: z.string(),
  type: z.enum(['Asset', 'Liability', 'Equity', 'Revenue', 'Expense']),
  category: z.string().optional(),
  active: z.boolean(),
  created_at: time,
  updated_at: time,
});

export const entryLines = z.array(
  z.strictObject({
    line_no: z.number(),
    account_code: z.string(),
    account_name: z.string(),
    debit: z.number(),
    credit: z.number(),
    memo: z.string().optional(),
  }),
);

export const entry = z.strictObject({
  id: z.uuid(),
  number: z.number().nullable(),
  state: z.enum(['draft', 'posted', 'reversed']),
  date: z.string(),
  memo: z.string(),
  currency: z.string(),
  lines: entryLines,
  total_debit: z.number(),
  total_credit: z.number(),
  source: z.strictObject({ kind: z.string(), id: z.string().optional(), rule_id: z.string().optional() }),
  reversal_of: z.string().optional(),
  reversed_by: z.string().optional(),
  created_at: time,
  posted_at: time.optional(),
});
export type Entry = z.output<typeof entry>;

const sums = {
  opening_debit: z.number(),
  opening_credit: z.number(),
  debit: z.number(),
  credit: z.number(),
  closing_debit: z.number(),
  closing_credit: z.number(),
};
export const trialBalance = z.strictObject({
  currency: z.string(),
  from: z.string().nullable(),
  to: z.string(),
  accounts: z.array(z.strictObject({ code: z.string(), name: z.string(), type: z.string(), ...sums })),
  totals: z.strictObject(sums),
  balanced: z.boolean(),
});
const lines = z.array(z.strictObject({ code: z.string(), name: z.string(), amount: z.number() }));
export const profitAndLoss = z.strictObject({
  currency: z.string(),
  from: z.string(),
  to: z.string(),
  revenue: lines,
  expenses: lines,
  total_revenue: z.number(),
  total_expenses: z.number(),
  net_income: z.number(),
});
export const balanceSheet = z.strictObject({
  currency: z.string(),
  as_of: z.string(),
  assets: lines,
  liabilities: lines,
  equity: lines,
  current_earnings: z.number(),
  total_assets: z.number(),
  total_liabilities: z.number(),
  total_equity: z.number(),
  balanced: z.boolean(),
});

export const refusal = z.looseObject({
  error: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});

export const CHART = [
  { code: '1000', name: 'Cash', type: 'Asset' },
  { code: '1200', name: 'Receivables', type: 'Asset' },
  { code: '2100', name: 'Payables', type: 'Liability' },
  { code: '3000', name: 'Capital', type: 'Equity' },
  { code: '4000', name: 'Sales', type: 'Revenue' },
  { code: '5000', name: 'Rent', type: 'Expense' },
] as const;

export const entitle = async (world: World, tenant: TestTenant, ledger = true): Promise<void> => {
  const answer = await world.platform.patch(`/super/tenants/${tenant.id}`, { entitlements: { ledger } });
  if (answer.status !== 200) throw new Error(`not entitled: ${answer.text}`);
};

/** A tenant with the ledger, and accounts in it. */
export const withBooks = async (
  world: World,
  chart: readonly { code: string; name: string; type: string }[] = CHART,
): Promise<TestTenant> => {
  const tenant = await world.tenant();
  await entitle(world, tenant);
  for (const each of chart) (await tenant.admin.api.post(ACCOUNTS, each)).as(account, 201);
  return tenant;
};

/** Opens an account without the server's checks, as in a data folder of an earlier version. */
export const openedBefore = async (
  { server }: World,
  { id }: TestTenant,
  given: { readonly code: string; readonly name: string },
): Promise<void> => {
  const events = openLogOf(server);
  const node = startNode({ events, clock: systemClock });
  const chart = new ChartOfAccounts(node);
  const context = { cause: causeOf(randomUUID()), priorAttempt: undefined, newId: randomUUID };
  await chart.openAccount(id, { ...given, type: 'Asset', active: true }, context);
  await events.close();
};

/** A tenant with a ledger, its admin, and its operator Olga. */
export const olgaWithBooks = async () => {
  const world = await sharedWorld();
  const tenant = await withBooks(world);
  return { world, tenant, admin: tenant.admin, operator: await tenant.person('Olga') };
};

/** Lines that debit the first account and credit the second. */
export const move = (debit: string, credit: string, amount: number) => [
  { account_code: debit, debit: amount },
  { account_code: credit, credit: amount },
];

export const drafted = async (api: Client, body: object): Promise<Entry> =>
  (await api.post(ENTRIES, { date: '2026-03-15', lines: move('1000', '4000', 100), ...body })).as(entry, 201);

export const posted = async (api: Client, body: object = {}): Promise<Entry> => {
  const { id } = await drafted(api, body);
  return (await api.post(`${ENTRIES}/${id}/post`)).as(entry);
};

export const read = async (api: Client, id: string): Promise<Entry> =>
  (await api.get(`${ENTRIES}/${id}`)).as(entry);

/** Status, code and details of a refusal. */
export const refused = (answer: Answer): { status: number; error: string; details?: unknown } => {
  const { error, details } = refusal.parse(answer.json);
  return { status: answer.status, error, ...(details === undefined ? {} : { details }) };
};
