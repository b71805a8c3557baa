import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { ChartOfAccounts } from '../../../application/ledger/chart-of-accounts.ts';
import { accountsOf } from '../../../projections/ledger/ledger.ts';
import type { Reply, Route } from '../../http/route.ts';
import { listReply, pagedList } from '../replies.ts';
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
  readonly readModels: ReadModels;
}

/** The chart of accounts and the lock of the ledger (decisions, section 9). */

const lockView = z.object({ locked_through: day.nullable() });

const reply = (
  status: number,
  { account, position }: Awaited<ReturnType<ChartOfAccounts['openAccount']>>,
): Reply => ({ status, body: viewOfAccount(account), position });

export const ledgerAccountRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('ledger');

  return ledgerRoutes([
    personRoute({
      ...pagedList(accountView),
      path: `${GL}/accounts`,
      operationId: 'listAccounts',
      summary: 'The chart of accounts, by code',
      reads: LEDGER_READS,
      handle: ({ principal, query }) =>
        listReply(query, (page) => accountsOf(reader, principal.tenantId, page), viewOfAccountDoc),
    }),

    personRoute({
      method: 'post',
      path: `${GL}/accounts`,
      operationId: 'createAccount',
      summary: 'Open an account; codes are unique without regard to case',
      body: newAccount,
      responses: { 201: accountView },
      errors: ['already_exists'],
      handle: async ({ principal, body: { category, ...given }, context }) => {
        const account = { ...given, category: category ?? undefined };
        return reply(201, await deps.chart.openAccount(principal.tenantId, account, context));
      },
    }),

    personRoute({
      method: 'patch',
      path: `${GL}/accounts/:code`,
      operationId: 'changeAccount',
      summary: 'Rename, recategorize or deactivate an account; code and type stay once a line was posted',
      params: z.object({ code: existingCode }),
      body: accountChange,
      responses: { 200: accountView },
      errors: ['already_exists', 'in_use'],
      handle: async ({ principal, params, body, context }) =>
        reply(200, await deps.chart.changeAccount(principal.tenantId, params.code, body, context)),
    }),

    personRoute({
      method: 'get',
      path: `${GL}/lock`,
      operationId: 'getBooksLock',
      summary: 'Through which day the ledger is locked',
      responses: { 200: lockView },
      handle: async ({ principal }) => ({
        status: 200,
        body: { locked_through: await deps.chart.lockedThrough(principal.tenantId) },
      }),
    }),

    adminRoute({
      method: 'put',
      path: `${GL}/lock`,
      operationId: 'lockBooks',
      summary: 'Lock the ledger through a day, or unlock it; nothing is posted on it or before',
      body: lockView,
      responses: { 200: lockView },
      handle: async ({ principal: { tenantId }, body, context }) => {
        const { lockedThrough, position } = await deps.chart.lock(tenantId, body.locked_through, context);
        return { status: 200, body: { locked_through: lockedThrough }, position };
      },
    }),
  ]);
};
