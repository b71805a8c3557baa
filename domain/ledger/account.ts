import { z } from 'zod';
import { isSameJson } from '../core/canonical-json.ts';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';

/** The chart of accounts (decisions, section 9, Account), part of the journal's stream. */

export const ACCOUNT_TYPES = ['Asset', 'Liability', 'Equity', 'Revenue', 'Expense'] as const;
export type AccountType = (typeof ACCOUNT_TYPES)[number];

/** Begins with a letter or digit, so that no code is `.` or `..`, which have a meaning in URL paths. */
export const ACCOUNT_CODE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
/** Codes of existing accounts: earlier versions allowed each of these characters at the start. */
export const EXISTING_CODE = /^[A-Za-z0-9._-]{1,32}$/;

/** Maximum bytes of a name as JSON without quotes; postings reserve this size (decision 29). */
export const MAX_NAME_BYTES = 300;

// Events

const account = z.object({
  /** Never changes, unlike the code. */
  account_id: z.string(),
  code: z.string(),
  name: z.string(),
  type: z.enum(ACCOUNT_TYPES),
  category: z.string().optional(),
  active: z.boolean(),
});

export const AccountOpened = defineEvent('AccountOpened', account);
/** Holds the whole account after the change. */
export const AccountChanged = defineEvent('AccountChanged', account.extend({ previous_code: z.string() }));

export const accountEvents = [AccountOpened, AccountChanged] as const;
export type AccountEvent = EventOf<(typeof accountEvents)[number]>;

// State

type AccountFacts = Readonly<Omit<z.output<typeof account>, 'account_id'>>;

export interface Account extends AccountFacts {
  readonly id: string;
  /** Set by the first posted line; code and type are fixed from then on. */
  readonly used: boolean;
  /** ms */
  readonly openedAt: number;
  readonly changedAt: number;
}

/**
 * A tenant's accounts as JSON, in groups by a hash of their code. A change copies only one group and the map of groups:
 * if each change copied all accounts, folding a large chart would be slow.
 */
export type Chart = Readonly<Record<string, Readonly<Record<string, Account>>>>;

/** With the largest quota, 5,000 accounts, a group has about 20 accounts. */
const GROUPS = 256;

/** Codes compare without case. The prefix separates codes from keys like `constructor`. */
const keyOf = (code: string): string => `#${code.toLowerCase()}`;

/** This function must never change, because stored snapshots hold the groups. */
const groupOf = (key: string): string => {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (hash * 31 + key.charCodeAt(at)) % 65_521;
  return `g${hash % GROUPS}`;
};

/** The account of a code; undefined when there is none. */
export const accountOf = (chart: Chart, code: string): Account | undefined => {
  const key = keyOf(code);
  return chart[groupOf(key)]?.[key];
};

export const accountsIn = (chart: Chart): readonly Account[] =>
  Object.values(chart).flatMap((group) => Object.values(group));

export const countOf = (chart: Chart): number => accountsIn(chart).length;

/** Adds an account, or replaces the account with the same code. */
export const withAccount = (chart: Chart, account: Account): Chart => {
  const key = keyOf(account.code);
  const group = groupOf(key);
  return { ...chart, [group]: { ...chart[group], [key]: account } };
};

const withoutAccount = (chart: Chart, code: string): Chart => {
  const key = keyOf(code);
  const group = groupOf(key);
  const { [key]: _removed, ...others } = chart[group] ?? {};
  return { ...chart, [group]: others };
};

const factsOf = ({ account_id: id, code, name, type, category, active }: z.output<typeof account>) => {
  return { id, code, name, type, category, active };
};

export const withOpened = (chart: Chart, data: z.output<typeof account>, at: number): Chart =>
  withAccount(chart, { ...factsOf(data), used: false, openedAt: at, changedAt: at });

export const withChanged = (
  chart: Chart,
  data: z.output<typeof AccountChanged.schema>,
  at: number,
): Chart => {
  const { previous_code: previous } = data;
  const { used = false, openedAt = at } = accountOf(chart, previous) ?? {};
  const rest = previous === data.code ? chart : withoutAccount(chart, previous);
  return withAccount(rest, { ...factsOf(data), used, openedAt, changedAt: at });
};

// Commands

export type OpenAccount = AccountFacts & { readonly id: string };

/** `category: null` removes the category. */
export type ChangeAccount = {
  readonly [K in keyof AccountFacts]?: AccountFacts[K] | (K extends 'category' ? null : never) | undefined;
};

// Decide

const taken = (): DomainError =>
  new DomainError('already_exists', 'An account with this code already exists.', { field: 'code' });

const inUse = (field: string): DomainError =>
  new DomainError('in_use', `Lines are posted to the account: its ${field} cannot be changed.`, { field });

/**
 * @param checkCount called with the number of accounts; throws when the plan allows no further account
 * @throws `already_exists`, and the errors of `checkCount`
 */
export const openAccount = (
  chart: Chart,
  command: OpenAccount,
  checkCount: (used: number) => void = () => undefined,
): readonly AccountEvent[] => {
  if (accountOf(chart, command.code) !== undefined) throw taken();
  checkCount(countOf(chart));
  const { id, category, ...rest } = command;
  return decided(AccountOpened, { account_id: id, ...rest, category });
};

/** Equal values change nothing. @throws `not_found`, `already_exists`, `in_use` */
export const changeAccount = (
  chart: Chart,
  code: string,
  command: ChangeAccount,
): readonly AccountEvent[] => {
  const before = accountOf(chart, code);
  if (before === undefined) throw notFound();
  const { category = before.category } = command;
  const after = {
    code: command.code ?? before.code,
    name: command.name ?? before.name,
    type: command.type ?? before.type,
    active: command.active ?? before.active,
    category: category ?? undefined,
  };
  if (before.used && after.code !== before.code) throw inUse('code');
  if (before.used && after.type !== before.type) throw inUse('type');
  const holder = accountOf(chart, after.code);
  if (holder !== undefined && holder.id !== before.id) throw taken();
  if (isSameJson({ ...before, ...after }, before)) return [];
  return decided(AccountChanged, { account_id: before.id, ...after, previous_code: before.code });
};
