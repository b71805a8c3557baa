import { z } from 'zod';
import { DomainError, notFound } from '../errors.ts';
import { defineEvent, type EventOf } from '../event.ts';

/** The chart of accounts (decisions, section 9, Account). It lives in the journal's stream. */

export const ACCOUNT_TYPES = ['Asset', 'Liability', 'Equity', 'Revenue', 'Expense'] as const;
export type AccountType = (typeof ACCOUNT_TYPES)[number];

export const ACCOUNT_CODE = /^[A-Za-z0-9._-]{1,32}$/;

// Events

const account = z.object({
  /** Never changes, whatever becomes of the code. */
  account_id: z.string(),
  code: z.string(),
  name: z.string(),
  type: z.enum(ACCOUNT_TYPES),
  category: z.string().optional(),
});

export const AccountOpened = defineEvent('AccountOpened', account.extend({ active: z.boolean() }));
/** With all that the account is from now on. */
export const AccountChanged = defineEvent(
  'AccountChanged',
  account.extend({ active: z.boolean(), previous_code: z.string() }),
);

export const accountEvents = [AccountOpened, AccountChanged] as const;
export type AccountEvent = EventOf<(typeof accountEvents)[number]>;

// State

export interface Account {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly type: AccountType;
  readonly category?: string | undefined;
  readonly active: boolean;
  /** A line was posted to it: its code and its type stay. */
  readonly used: boolean;
  /** ms */
  readonly openedAt: number;
  readonly changedAt: number;
}

/** By {@link accountKey}. */
export type Chart = Readonly<Record<string, Account>>;

/** Codes are equal without regard to case. The prefix keeps codes apart from what every object has (`constructor`). */
export const accountKey = (code: string): string => `#${code.toLowerCase()}`;

/** The account that a line names; undefined for none. */
export const accountOf = (chart: Chart, code: string): Account | undefined => chart[accountKey(code)];

export const evolveChart = (chart: Chart, event: AccountEvent, at: number): Chart => {
  const { account_id: id, code, name, type, category, active } = event.data;
  const now = { id, code, name, type, category, active };
  switch (event.type) {
    case 'AccountOpened':
      return { ...chart, [accountKey(code)]: { ...now, used: false, openedAt: at, changedAt: at } };
    case 'AccountChanged': {
      const { [accountKey(event.data.previous_code)]: before, ...others } = chart;
      return {
        ...others,
        [accountKey(code)]: {
          ...now,
          used: before?.used ?? false,
          openedAt: before?.openedAt ?? at,
          changedAt: at,
        },
      };
    }
    default:
      return event satisfies never;
  }
};

// Commands

export interface OpenAccount {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly type: AccountType;
  readonly category?: string | undefined;
  readonly active: boolean;
}

/** `category: null` takes it away. */
export interface ChangeAccount {
  readonly code?: string | undefined;
  readonly name?: string | undefined;
  readonly category?: string | null | undefined;
  readonly type?: AccountType | undefined;
  readonly active?: boolean | undefined;
}

// Decide

const taken = (): DomainError =>
  new DomainError('already_exists', 'An account with this code exists.', { field: 'code' });

const inUse = (field: string): DomainError =>
  new DomainError('in_use', `Lines are posted to the account: its ${field} stays.`, { field });

/** @throws `already_exists` */
export const openAccount = (chart: Chart, command: OpenAccount): readonly AccountEvent[] => {
  if (accountOf(chart, command.code) !== undefined) throw taken();
  const { id, category, ...rest } = command;
  return [
    {
      type: 'AccountOpened',
      data: { account_id: id, ...rest, ...(category === undefined ? {} : { category }) },
    },
  ];
};

/** Equal values change nothing. @throws `not_found`, `already_exists`, `in_use` */
export const changeAccount = (
  chart: Chart,
  code: string,
  command: ChangeAccount,
): readonly AccountEvent[] => {
  const before = accountOf(chart, code);
  if (before === undefined) throw notFound();
  const category = command.category === undefined ? before.category : (command.category ?? undefined);
  const after = {
    code: command.code ?? before.code,
    name: command.name ?? before.name,
    type: command.type ?? before.type,
    active: command.active ?? before.active,
  };
  if (before.used && after.code !== before.code) throw inUse('code');
  if (before.used && after.type !== before.type) throw inUse('type');
  const holder = accountOf(chart, after.code);
  if (holder !== undefined && holder.id !== before.id) throw taken();
  const isEqual =
    after.code === before.code &&
    after.name === before.name &&
    after.type === before.type &&
    after.active === before.active &&
    category === before.category;
  if (isEqual) return [];
  return [
    {
      type: 'AccountChanged',
      data: {
        account_id: before.id,
        ...after,
        ...(category === undefined ? {} : { category }),
        previous_code: before.code,
      },
    },
  ];
};

/** Accounts by code. */
export const chartInOrder = (chart: Chart): readonly Account[] =>
  Object.keys(chart)
    .sort()
    .flatMap((key) => chart[key] ?? []);
