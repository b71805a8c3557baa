import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { ChartOfAccounts } from '../../../application/ledger/chart-of-accounts.ts';
import type { LedgerJournal } from '../../../application/ledger/journal.ts';
import { accountByCode, accountsOf } from '../../../projections/ledger/ledger.ts';
import type { Route } from '../../http/route.ts';
import { creation, found, listReply, ok, one, pagedList, written } from '../replies.ts';
import { adminRoute, personRoute } from '../route-kinds.ts';
import {
  accountChange,
  accountView,
  day,
  existingCode,
  GL,
  LEDGER_READS,
  ledgerRoutes,
  newAccount,
  viewOfAccount,
  viewOfAccountDoc,
} from './ledger-views.ts';

interface Deps {
  readonly chart: ChartOfAccounts;
  readonly journal: LedgerJournal;
  readonly readModels: ReadModels;
}

const lockView = z.object({ locked_through: day.nullable() }).meta({ id: 'BooksLock' });

const reply = written('account', viewOfAccount);

/** The chart of accounts and the lock of the ledger (decisions, section 9). */
export const ledgerAccountRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('ledger');

  return ledgerRoutes([
    personRoute({
      ...pagedList(accountView),
      path: `${GL}/accounts`,
      operationId: 'listAccounts',
      summary: 'The chart of accounts, by code',
      description: 'Active and inactive accounts.',
      reads: LEDGER_READS,
      handle: ({ principal, query }) =>
        listReply(query, (page) => accountsOf(reader, principal.tenantId, page), viewOfAccountDoc),
    }),

    personRoute({
      ...creation(accountView, newAccount),
      path: `${GL}/accounts`,
      operationId: 'createAccount',
      summary: 'Create an account; codes are unique, ignoring case',
      description: '`type` is one of `Asset`, `Liability`, `Equity`, `Revenue` and `Expense`, capitalised.',
      errors: ['already_exists', 'quota_exceeded'],
      handle: async ({ principal: { tenantId, rights }, body: { category, ...given }, context }) => {
        const account = { ...given, category: category ?? undefined };
        return reply(201, await deps.chart.openAccount(tenantId, account, context, rights.plan));
      },
    }),

    personRoute({
      ...one('get', accountView, z.object({ code: existingCode })),
      path: `${GL}/accounts/:code`,
      operationId: 'getAccount',
      summary: 'One account; upper and lower case of the code are equal',
      description: 'An active or inactive account. The case of the code is ignored, as in lines.',
      reads: LEDGER_READS,
      handle: async ({ principal, params }) =>
        ok(viewOfAccountDoc(found(await accountByCode(reader, principal.tenantId, params.code)))),
    }),

    personRoute({
      ...one('patch', accountView, z.object({ code: existingCode })),
      path: `${GL}/accounts/:code`,
      operationId: 'changeAccount',
      summary: 'Change an account; code and type cannot change after a line was posted',
      description: 'An inactive account takes no new lines; its history stays in the reports.',
      body: accountChange,
      errors: ['already_exists', 'in_use'],
      handle: async ({ principal, params, body, context }) =>
        reply(200, await deps.chart.changeAccount(principal.tenantId, params.code, body, context)),
    }),

    personRoute({
      method: 'get',
      path: `${GL}/lock`,
      operationId: 'getBooksLock',
      summary: 'The day through which the ledger is locked',
      description: '`locked_through` is null when nothing is locked.',
      responses: { 200: lockView },
      handle: async ({ principal }) =>
        ok({ locked_through: (await deps.journal.load(principal.tenantId)).lockedThrough }),
    }),

    adminRoute({
      method: 'put',
      path: `${GL}/lock`,
      operationId: 'lockBooks',
      summary: 'Lock the ledger through a day, inclusive, or unlock it',
      description:
        'Postings and reversals dated on this day or earlier are 422 `period_locked`. The day may move ' +
        'back; null unlocks.',
      body: lockView,
      responses: { 200: lockView },
      handle: async ({ principal: { tenantId }, body, context }) => {
        const { lockedThrough, position } = await deps.chart.lock(tenantId, body.locked_through, context);
        return { status: 200, body: { locked_through: lockedThrough }, position };
      },
    }),
  ]);
};
