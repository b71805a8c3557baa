import { z } from 'zod';
import type { Client } from '../../support/client.ts';
import { eventually } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import { sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { define } from '../entities/support.ts';
import { ENTRIES, type Entry, entry, entryLines, GL, withBooks } from './support.ts';

/** The API of posting rules; strict, to detect additional keys. */

export const RULES = `${GL}/posting-rules`;
export const FAILURES = `${GL}/posting-failures`;

const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const amount = z.union([
  z.strictObject({ path: z.string() }),
  z.strictObject({ fixed: z.union([z.number(), z.string()]) }),
  z.strictObject({ percent: z.number(), path: z.string() }),
  z.strictObject({ remainder: z.literal(true) }),
]);

export const rule = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  source_kind: z.string(),
  active: z.boolean(),
  when: z.string().optional(),
  date: z.string().optional(),
  lines: z.array(
    z.strictObject({
      account_code: z.string(),
      side: z.enum(['debit', 'credit']),
      amount,
      memo: z.string().optional(),
    }),
  ),
  mode: z.enum(['draft', 'post']),
  created_at: time,
  updated_at: time,
});
export type Rule = z.output<typeof rule>;

export const failure = z.strictObject({
  id: z.uuid(),
  rule_id: z.uuid(),
  event_id: z.uuid(),
  source_kind: z.string(),
  code: z.string(),
  message: z.string().min(1),
  attempts: z.int().positive(),
  created_at: time,
  resolved_at: time.optional(),
});
export type Failure = z.output<typeof failure>;

export const previewed = z.strictObject({
  matches: z.boolean(),
  entry: z
    .strictObject({
      state: z.enum(['draft', 'posted']),
      date: z.string(),
      memo: z.string(),
      currency: z.string(),
      lines: entryLines,
      total_debit: z.number(),
      total_credit: z.number(),
      source: z.strictObject({ kind: z.string(), rule_id: z.string() }),
    })
    .optional(),
});

/** Debits receivables with a value of the record, credits sales. */
export const SALE = {
  name: 'Sales',
  source_kind: 'entity.created',
  mode: 'post',
  lines: [
    { account_code: '1200', side: 'debit', amount: { path: 'values.total' } },
    { account_code: '4000', side: 'credit', amount: { remainder: true } },
  ],
} as const;

/** Lines of a fixed amount. */
export const FIXED = (amount: number | string) => [
  { account_code: '1000', side: 'debit', amount: { fixed: amount } },
  { account_code: '4000', side: 'credit', amount: { fixed: amount } },
];

export const makeRule = async (api: Client, body: object = {}): Promise<Rule> =>
  (await api.post(RULES, { ...SALE, ...body })).as(rule, 201);

/** A ledger, and an entity whose records have amounts. */
export const withSales = async (world: World): Promise<{ tenant: TestTenant; entity: string }> => {
  const tenant = await withBooks(world);
  const entity = await define(
    tenant.admin,
    { key: 'title', type: 'text' },
    { key: 'total', type: 'integer' },
    { key: 'gross', type: 'decimal' },
    { key: 'day', type: 'date' },
    { key: 'at', type: 'datetime' },
  );
  return { tenant, entity };
};

/** For a suite: a world, a tenant with ledger and sales, its admin's client, and a function that deactivates a rule. */
export const salesSuite = () => {
  const here = forSuite(async () => {
    const world = await sharedWorld();
    return { world, ...(await withSales(world)) };
  });
  const api = (): Client => here().tenant.admin.api;
  const off = (id: string) => api().patch(`${RULES}/${id}`, { active: false });
  return { here, api, off };
};

const pages = async <T>(api: Client, first: string, shape: z.ZodType<T[]>): Promise<T[]> => {
  const all: T[] = [];
  let path: string | undefined = first;
  while (path !== undefined) {
    const page = await api.get(path);
    all.push(...page.as(shape));
    path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
  }
  return all;
};

export const allEntries = (api: Client): Promise<Entry[]> =>
  pages(api, `${ENTRIES}?limit=200`, entry.array());

export const allFailures = (api: Client): Promise<Failure[]> =>
  pages(api, `${FAILURES}?limit=200`, failure.array());

/** Waits for `count` entries of a rule, which are posted a moment later if the rule posts. Sorts them by number. */
export const entriesOf = (
  api: Client,
  { id, mode = 'post' }: Pick<Rule, 'id'> & Partial<Rule>,
  count: number,
  withinMs = 20_000,
): Promise<Entry[]> =>
  eventually(
    `${count} entries of a rule`,
    async () => {
      const found = (await allEntries(api)).filter(({ source }) => source.rule_id === id);
      if (found.length > count) throw new Error(`${found.length} entries and not ${count}`);
      if (mode === 'post' && found.some(({ state }) => state === 'draft')) return undefined;
      return found.length === count && found.sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
    },
    withinMs,
  );

export const failuresOf = (
  api: Client,
  { id }: Pick<Rule, 'id'>,
  count: number,
  withinMs = 20_000,
): Promise<Failure[]> =>
  eventually(
    `${count} failures of a rule`,
    async () => {
      const found = (await allFailures(api)).filter(({ rule_id }) => rule_id === id);
      if (found.length > count) throw new Error(`${found.length} failures and not ${count}`);
      return found.length === count && found;
    },
    withinMs,
  );

/** `account debit credit`, line by line. */
export const movesOf = ({ lines }: Pick<Entry, 'lines'>): string[] =>
  lines.map(({ account_code, debit, credit }) => `${account_code} ${debit} ${credit}`);
