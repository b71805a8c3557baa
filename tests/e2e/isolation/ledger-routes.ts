import type { Attack } from './routes.ts';

/** Attacks on the ledger, with another tenant's entries, accounts and cursors. */

const GL = '/api/v1/tenant/gl';
const REPORTS = '/api/v1/tenant/reports';

const lines = (account: string) => [
  { account_code: account, debit: 5 },
  { account_code: account, credit: 5 },
];

const rule = (account: string) => ({
  name: 'Taken',
  source_kind: 'entity.created',
  mode: 'post',
  lines: [
    { account_code: account, side: 'debit', amount: { fixed: 5 } },
    { account_code: account, side: 'credit', amount: { fixed: 5 } },
  ],
});

const named =
  (path: string): Attack =>
  ({ tenant, account }) => [
    { method: 'GET', path: `${path}?tenant=${tenant}&account=${account}` },
    { method: 'GET', path: `${path}?tenant_id=${tenant}` },
  ];

export const LEDGER_ROUTES: Readonly<Record<string, Attack>> = {
  'GET /api/v1/tenant/gl/accounts': ({ tenant, cursor }) => [
    { method: 'GET', path: `${GL}/accounts?tenant=${tenant}` },
    { method: 'GET', path: `${GL}/accounts?cursor=${cursor}` },
    { method: 'GET', path: `${GL}/accounts?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/gl/accounts': ({ tenant }) => [
    {
      method: 'POST',
      path: `${GL}/accounts`,
      body: { code: 'stolen', name: 'x', type: 'Asset', tenant_id: tenant },
    },
  ],
  'GET /api/v1/tenant/gl/accounts/{code}': ({ account }) => [
    { method: 'GET', path: `${GL}/accounts/${account}` },
    { method: 'GET', path: `${GL}/accounts/${account.toUpperCase()}` },
  ],
  'PATCH /api/v1/tenant/gl/accounts/{code}': ({ account }, own) => [
    { method: 'PATCH', path: `${GL}/accounts/${account}`, body: { name: 'Taken' } },
    { method: 'PATCH', path: `${GL}/accounts/${account}`, body: { code: own.account } },
    { method: 'PATCH', path: `${GL}/accounts/${account}`, body: {} },
  ],
  'GET /api/v1/tenant/gl/entries': ({ tenant, account, cursor }) => [
    { method: 'GET', path: `${GL}/entries?account=${account}` },
    { method: 'GET', path: `${GL}/entries?cursor=${cursor}` },
    { method: 'GET', path: `${GL}/entries?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/gl/entries': ({ account, tenant }) => [
    { method: 'POST', path: `${GL}/entries`, body: { date: '2026-01-31', lines: lines(account) } },
    {
      method: 'POST',
      path: `${GL}/entries`,
      body: { date: '2026-01-31', lines: lines(account), tenant_id: tenant },
    },
  ],
  'GET /api/v1/tenant/gl/entries/{id}': ({ entry, draft }) => [
    { method: 'GET', path: `${GL}/entries/${entry}` },
    { method: 'GET', path: `${GL}/entries/${draft}` },
  ],
  'PATCH /api/v1/tenant/gl/entries/{id}': ({ entry, draft, account }, own) => [
    { method: 'PATCH', path: `${GL}/entries/${draft}`, body: { memo: 'Taken' } },
    { method: 'PATCH', path: `${GL}/entries/${entry}`, body: { memo: 'Taken' } },
    { method: 'PATCH', path: `${GL}/entries/${own.draft}`, body: { lines: lines(account) } },
  ],
  'DELETE /api/v1/tenant/gl/entries/{id}': ({ entry, draft }) => [
    { method: 'DELETE', path: `${GL}/entries/${draft}` },
    { method: 'DELETE', path: `${GL}/entries/${entry}` },
  ],
  'POST /api/v1/tenant/gl/entries/{id}/post': ({ entry, draft }) => [
    { method: 'POST', path: `${GL}/entries/${draft}/post` },
    { method: 'POST', path: `${GL}/entries/${entry}/post` },
  ],
  'POST /api/v1/tenant/gl/entries/{id}/reverse': ({ entry, draft }) => [
    { method: 'POST', path: `${GL}/entries/${entry}/reverse`, body: {} },
    { method: 'POST', path: `${GL}/entries/${draft}/reverse`, body: {} },
  ],
  'GET /api/v1/tenant/gl/posting-rules': ({ tenant, cursor }) => [
    { method: 'GET', path: `${GL}/posting-rules?cursor=${cursor}` },
    { method: 'GET', path: `${GL}/posting-rules?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/gl/posting-rules': ({ account, tenant }, own) => [
    { method: 'POST', path: `${GL}/posting-rules`, body: rule(account) },
    { method: 'POST', path: `${GL}/posting-rules`, body: { ...rule(own.account), tenant_id: tenant } },
  ],
  'GET /api/v1/tenant/gl/posting-rules/{id}': ({ postingRule }) => [
    { method: 'GET', path: `${GL}/posting-rules/${postingRule}` },
  ],
  'GET /api/v1/tenant/gl/posting-rules/sources': ({ tenant }) => [
    { method: 'GET', path: `${GL}/posting-rules/sources?tenant_id=${tenant}` },
  ],
  'PATCH /api/v1/tenant/gl/posting-rules/{id}': ({ postingRule, account }, own) => [
    { method: 'PATCH', path: `${GL}/posting-rules/${postingRule}`, body: { active: false } },
    { method: 'PATCH', path: `${GL}/posting-rules/${postingRule}`, body: rule(own.account) },
    {
      method: 'PATCH',
      path: `${GL}/posting-rules/${own.postingRule}`,
      body: { lines: rule(account).lines },
    },
  ],
  'POST /api/v1/tenant/gl/posting-rules/{id}/preview': ({ postingRule }) => [
    { method: 'POST', path: `${GL}/posting-rules/${postingRule}/preview`, body: { payload: {} } },
  ],
  'GET /api/v1/tenant/gl/posting-failures': ({ tenant, cursor }) => [
    { method: 'GET', path: `${GL}/posting-failures?cursor=${cursor}` },
    { method: 'GET', path: `${GL}/posting-failures?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/gl/posting-failures/{id}/retry': ({ postingFailure }) => [
    { method: 'POST', path: `${GL}/posting-failures/${postingFailure}/retry` },
  ],
  'GET /api/v1/tenant/gl/lock': named(`${GL}/lock`),
  'PUT /api/v1/tenant/gl/lock': ({ tenant }) => [
    { method: 'PUT', path: `${GL}/lock`, body: { locked_through: '2026-12-31', tenant_id: tenant } },
  ],
  'GET /api/v1/tenant/gl/entries.csv': named(`${GL}/entries.csv`),
  'GET /api/v1/tenant/gl/journal.hledger': named(`${GL}/journal.hledger`),
  'GET /api/v1/tenant/reports/trial-balance': named(`${REPORTS}/trial-balance`),
  'GET /api/v1/tenant/reports/trial-balance.csv': named(`${REPORTS}/trial-balance.csv`),
  'GET /api/v1/tenant/reports/pnl': named(`${REPORTS}/pnl`),
  'GET /api/v1/tenant/reports/balance-sheet': named(`${REPORTS}/balance-sheet`),
};
