import { useState } from 'react';
import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  actions,
  Badge,
  Button,
  Card,
  CheckField,
  type Column,
  ConfirmButton,
  DialogButton,
  DialogForm,
  Empty,
  Failed,
  Money,
  Page,
  PendingCard,
  SelectField,
  TableCard,
  TextField,
  useAction,
  useIsAdmin,
  usePages,
  useRead,
} from '../../kit/index.ts';
import { entriesPath, LedgerLinks } from './range.tsx';
import '../../styles/ledger.css';

type Account = components['schemas']['Account'];

const TYPES = ['Asset', 'Liability', 'Equity', 'Revenue', 'Expense'] as const;
const typeOf = (text: string): Account['type'] => TYPES.find((type) => type === text) ?? 'Asset';

/** The closing balance of each account, debit positive. */
const useBalances = () =>
  useRead(['reports', 'closing'], async (client, signal) => {
    const report = await client.get('/api/v1/tenant/reports/trial-balance', { signal });
    const balances = new Map(
      report.accounts.map(({ code, closing_debit, closing_credit }) => [
        code,
        closing_debit - closing_credit,
      ]),
    );
    return { currency: report.currency, balances };
  });

/** The chart of accounts with the current balances, and the day through which nothing can be posted. */
export default function Accounts() {
  const isAdmin = useIsAdmin();
  const [edited, setEdited] = useState<Account | 'new'>();
  const rows = usePages(['accounts'], (client, limit) =>
    client.items('/api/v1/tenant/gl/accounts', { params: { query: { limit } } }),
  );
  const balances = useBalances();
  const closing = balances.data;
  const columns: readonly Column<Account>[] = [
    {
      key: 'code',
      title: 'Code',
      min: 100,
      grow: 0,
      cell: ({ code }) => <Link href={entriesPath(code, {})}>{code}</Link>,
    },
    { key: 'name', title: 'Name', min: 180, grow: 2, cell: ({ name }) => name },
    { key: 'type', title: 'Type', min: 100, grow: 0, cell: ({ type }) => type },
    { key: 'category', title: 'Category', min: 120, cell: ({ category }) => category ?? '' },
    {
      key: 'active',
      title: 'State',
      min: 100,
      grow: 0,
      cell: ({ active }) => (active ? <Badge tone="ok">Active</Badge> : <Badge>Inactive</Badge>),
    },
    {
      key: 'balance',
      title: 'Balance',
      min: 150,
      align: 'end',
      cell: ({ code }) =>
        closing === undefined ? (
          ''
        ) : (
          <Balance
            minor={closing.balances.get(code) ?? 0}
            currency={closing.currency}
            to={entriesPath(code, {})}
          />
        ),
    },
    ...(isAdmin
      ? [
          actions(80, (account: Account) => (
            <Button
              size="small"
              onClick={() => setEdited(account)}
              aria-label={`Edit account ${account.code}`}
            >
              Edit
            </Button>
          )),
        ]
      : []),
  ];
  return (
    <Page
      title="Accounts"
      about="The chart of accounts. A balance leads to the entries that make it up."
      crumbs={[['/ledger', 'Ledger']]}
      actions={
        isAdmin ? (
          <Button tone="primary" onClick={() => setEdited('new')}>
            New account
          </Button>
        ) : null
      }
    >
      <LedgerLinks />
      <LedgerLock isAdmin={isAdmin} />
      <Failed of={balances} />
      <TableCard
        label="Accounts"
        rows={rows}
        columns={columns}
        rowKey={({ code }) => code}
        empty={
          <Empty title="No accounts yet">
            <p>Entries are posted to accounts. Create the first one, for example 1000 “Cash”.</p>
          </Empty>
        }
      />
      {edited === undefined ? null : (
        <AccountDialog account={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </Page>
  );
}

const Balance = ({ minor, currency, to }: { minor: number; currency: string; to: string }) => (
  <>
    <Money minor={Math.abs(minor)} currency={currency} to={to} />{' '}
    <span className="muted small">{minor === 0 ? '' : minor > 0 ? 'Dr' : 'Cr'}</span>
  </>
);

const AccountDialog = ({ account, onClose }: { account: Account | undefined; onClose: () => void }) => {
  const save = useAction(
    (client, body: components['schemas']['CreateAccountBody']) =>
      account === undefined
        ? client.post('/api/v1/tenant/gl/accounts', { body })
        : client.patch('/api/v1/tenant/gl/accounts/{code}', {
            params: { path: { code: account.code } },
            body: { ...body, code: account.code },
          }),
    { invalidates: [['accounts'], ['reports']], done: 'The account is saved.' },
  );
  return (
    <DialogForm
      title={account === undefined ? 'New account' : `Account ${account.code}`}
      submit={account === undefined ? 'Open account' : 'Save'}
      onClose={onClose}
      onSubmit={(values) =>
        save.mutateAsync({
          code: account?.code ?? values.text('code'),
          name: values.text('name'),
          type: account?.type ?? typeOf(values.text('type')),
          category: values.optional('category') ?? null,
          active: values.flag('active'),
        })
      }
    >
      {account === undefined ? (
        <>
          <TextField
            name="code"
            label="Code"
            required
            maxLength={32}
            hint="Letters, digits, dots, underscores and hyphens."
          />
          <SelectField name="type" label="Type" options={TYPES.map((type) => [type, type])} />
        </>
      ) : null}
      <TextField name="name" label="Name" required maxLength={200} defaultValue={account?.name} />
      <TextField
        name="category"
        label="Category"
        maxLength={100}
        defaultValue={account?.category}
        hint="Groups accounts in your own reports."
      />
      <CheckField
        name="active"
        label="Active"
        hint="Nothing new can be posted to an inactive account."
        defaultChecked={account?.active ?? true}
      />
    </DialogForm>
  );
};

/** Shows and sets the lock of the ledger: the day through which nothing can be posted any more. */
const LedgerLock = ({ isAdmin }: { isAdmin: boolean }) => {
  const lock = useRead(['ledger-lock'], (client, signal) => client.get('/api/v1/tenant/gl/lock', { signal }));
  const change = useAction(
    (client, day: string | null) => client.put('/api/v1/tenant/gl/lock', { body: { locked_through: day } }),
    { invalidates: [['ledger-lock']], done: 'The lock is set.' },
  );
  const through = lock.data?.locked_through ?? null;
  if (lock.data === undefined) return <PendingCard of={lock} what="the lock of the books" />;
  return (
    <Card>
      <div className="row between">
        <span>
          {through === null
            ? 'The books are not locked.'
            : `The books are locked through ${through}: nothing is posted on that day or before.`}
        </span>
        {isAdmin ? (
          <span className="row">
            <DialogButton
              size="small"
              dialog={(close) => (
                <DialogForm
                  title="Lock the books"
                  submit="Lock"
                  onClose={close}
                  onSubmit={(values) => change.mutateAsync(values.text('locked_through'))}
                >
                  <TextField
                    name="locked_through"
                    label="Through"
                    type="date"
                    required
                    defaultValue={through ?? undefined}
                    hint="Nothing is posted or reversed on this day or before."
                  />
                </DialogForm>
              )}
            >
              {through === null ? 'Lock books' : 'Change lock'}
            </DialogButton>
            {through === null ? null : (
              <ConfirmButton
                size="small"
                ask={{
                  title: 'Unlock the books?',
                  consequence: 'Entries can be posted on any day again, also in periods that were reported.',
                  action: 'Unlock',
                  run: () => change.mutateAsync(null),
                }}
              >
                Unlock
              </ConfirmButton>
            )}
          </span>
        ) : null}
      </div>
    </Card>
  );
};
