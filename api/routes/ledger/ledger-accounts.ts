import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { ChartOfAccounts } from '../../../application/ledger/chart-of-accounts.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { accountsOf } from '../../../projections/ledger/ledger.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit } from '../../http/schemas.ts';
import { adminRoute, personRoute } from '../route-kinds.ts';
import {
  accountChange,
  accountView,
  day,
  existingCode,
  GL,
  LEDGER_READS,
  LEDGER_TAG,
  newAccount,
  viewOfAccount,
  viewOfAccountDoc,
} from './ledger-views.ts';

interface Deps {
  readonly chart: ChartOfAccounts;
  readonly ids: Ids;
  readonly readModels: ReadModels;
}

/** The chart of accounts and the lock of the ledger (decisions, section 9). */

const lockView = z.object({ locked_through: day.nullable() });

export const ledgerAccountRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('ledger');
  const of = { tag: LEDGER_TAG, entitlement: 'ledger' } as const;

  return [
    personRoute({
      ...of,
      method: 'get',
      path: `${GL}/accounts`,
      operationId: 'listAccounts',
      summary: 'The chart of accounts, by code',
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(accountView) },
      reads: LEDGER_READS,
      handle: async ({ principal, query }) => {
        const after = decodeCursor(query.cursor);
        const page = await accountsOf(reader, principal.tenantId, { limit: query.limit, after });
        return { status: 200, body: page.docs.map(viewOfAccountDoc), next: nextPage(page.next) };
      },
    }),

    personRoute({
      ...of,
      method: 'post',
      path: `${GL}/accounts`,
      operationId: 'createAccount',
      summary: 'Open an account; codes are unique without regard to case',
      body: newAccount,
      responses: { 201: accountView },
      errors: ['already_exists'],
      handle: async (request) => {
        const { category, ...given } = request.body;
        const { account, position } = await deps.chart.openAccount(
          request.principal.tenantId,
          { ...given, category: category ?? undefined },
          contextOf(deps, request),
        );
        return { status: 201, body: viewOfAccount(account), position };
      },
    }),

    personRoute({
      ...of,
      method: 'patch',
      path: `${GL}/accounts/:code`,
      operationId: 'changeAccount',
      summary: 'Rename, recategorize or deactivate an account; code and type stay once a line was posted',
      params: z.object({ code: existingCode }),
      body: accountChange,
      responses: { 200: accountView },
      errors: ['already_exists', 'in_use'],
      handle: async (request) => {
        const { account, position } = await deps.chart.changeAccount(
          request.principal.tenantId,
          request.params.code,
          request.body,
          contextOf(deps, request),
        );
        return { status: 200, body: viewOfAccount(account), position };
      },
    }),

    personRoute({
      ...of,
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
      ...of,
      method: 'put',
      path: `${GL}/lock`,
      operationId: 'lockBooks',
      summary: 'Lock the ledger through a day, or unlock it; nothing is posted on it or before',
      body: lockView,
      responses: { 200: lockView },
      handle: async (request) => {
        const { lockedThrough, position } = await deps.chart.lock(
          request.principal.tenantId,
          request.body.locked_through,
          contextOf(deps, request),
        );
        return { status: 200, body: { locked_through: lockedThrough }, position };
      },
    }),
  ];
};
