import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { ChartOfAccounts } from '../../../application/ledger/chart-of-accounts.ts';
import type { Entries } from '../../../application/ledger/entries.ts';
import type { Posting } from '../../../application/ledger/posting.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { invalid, notFound } from '../../../domain/core/errors.ts';
import { entriesOf, entryById, postedDoc } from '../../../projections/ledger/ledger-entries.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, idParams, limit } from '../../http/schemas.ts';
import { personRoute } from '../route-kinds.ts';
import {
  day,
  entryChange,
  entryView,
  GL,
  LEDGER_READS,
  LEDGER_TAG,
  newEntry,
  reversal,
  viewOfDraft,
  viewOfEntry,
} from './ledger-views.ts';

interface Deps {
  readonly chart: ChartOfAccounts;
  readonly entries: Entries;
  readonly ids: Ids;
  readonly posting: Posting;
  readonly readModels: ReadModels;
}

/** Journal entries (decisions, section 9, Entry). */

const BASE = `${GL}/entries`;
const REFUSALS = ['unbalanced', 'unknown_account', 'account_inactive', 'mixed_currency'];

export const entryFilter = z.object({
  state: z.enum(['draft', 'posted', 'reversed']).optional(),
  from: day.optional(),
  to: day.optional(),
  /** An unknown code selects nothing. */
  account: z.string().max(200).optional(),
});

/** @throws 400 for a range that ends before it begins */
export const requireRange = ({ from, to }: { from?: string | undefined; to?: string | undefined }): void => {
  if (from === undefined || to === undefined || from <= to) return;
  throw invalid([{ path: 'to', code: 'before_from', message: '`to` must not be before `from`.' }]);
};

export const ledgerEntryRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('ledger');
  const of = { tag: LEDGER_TAG, entitlement: 'ledger' } as const;

  return [
    personRoute({
      ...of,
      method: 'get',
      path: BASE,
      operationId: 'listEntries',
      summary: 'Entries, newest date first; both ends of a range are in',
      query: entryFilter.extend({ limit: limit(), cursor }),
      responses: { 200: z.array(entryView) },
      reads: LEDGER_READS,
      handle: async ({ principal, query }) => {
        const { limit: size, cursor: at, ...filter } = query;
        const after = decodeCursor(at);
        requireRange(filter);
        const page = await entriesOf(reader, principal.tenantId, filter, { limit: size, after });
        const chart = await deps.chart.load(principal.tenantId);
        return {
          status: 200,
          body: page.docs.map((doc) => viewOfEntry(doc, chart)),
          next: nextPage(page.next),
        };
      },
    }),

    personRoute({
      ...of,
      method: 'post',
      path: BASE,
      operationId: 'createEntry',
      summary: 'Draft an entry with balanced lines',
      body: newEntry,
      responses: { 201: entryView },
      errors: REFUSALS,
      handle: async (request) => {
        const { tenantId } = request.principal;
        const context = contextOf(deps, request);
        const { draft, position } = await deps.entries.draft(
          tenantId,
          request.body,
          { kind: 'manual' },
          context,
        );
        return { status: 201, body: viewOfDraft(draft, await deps.chart.load(tenantId)), position };
      },
    }),

    personRoute({
      ...of,
      method: 'get',
      path: `${BASE}/:id`,
      operationId: 'getEntry',
      summary: 'One entry with its lines',
      params: idParams,
      responses: { 200: entryView },
      reads: LEDGER_READS,
      handle: async ({ principal, params }) => {
        const doc = await entryById(reader, principal.tenantId, params.id);
        if (doc === undefined) throw notFound();
        return { status: 200, body: viewOfEntry(doc, await deps.chart.load(principal.tenantId)) };
      },
    }),

    personRoute({
      ...of,
      method: 'patch',
      path: `${BASE}/:id`,
      operationId: 'changeEntry',
      summary: 'Change a draft; it may be unbalanced until it is posted',
      params: idParams,
      body: entryChange,
      responses: { 200: entryView },
      errors: ['immutable', 'unknown_account', 'account_inactive', 'mixed_currency'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const context = contextOf(deps, request);
        const { draft, position } = await deps.entries.change(
          tenantId,
          request.params.id,
          request.body,
          context,
        );
        return { status: 200, body: viewOfDraft(draft, await deps.chart.load(tenantId)), position };
      },
    }),

    personRoute({
      ...of,
      method: 'delete',
      path: `${BASE}/:id`,
      operationId: 'discardEntry',
      summary: 'Discard a draft',
      params: idParams,
      responses: { 204: null },
      errors: ['immutable'],
      handle: async (request) => {
        const { principal, params } = request;
        const position = await deps.entries.discard(principal.tenantId, params.id, contextOf(deps, request));
        return { status: 204, position };
      },
    }),

    personRoute({
      ...of,
      method: 'post',
      path: `${BASE}/:id/post`,
      operationId: 'postEntry',
      summary: 'Post a draft: it gets the next number and stays as it is for ever',
      params: idParams,
      responses: { 200: entryView },
      errors: ['immutable', 'unbalanced', 'unknown_account', 'account_inactive', 'period_locked'],
      handle: async (request) => {
        const { principal, params } = request;
        const { posting, position } = await deps.posting.post(
          principal.tenantId,
          params.id,
          contextOf(deps, request),
        );
        return { status: 200, body: viewOfEntry(postedDoc(posting, posting.at), {}), position };
      },
    }),

    personRoute({
      ...of,
      method: 'post',
      path: `${BASE}/:id/reverse`,
      operationId: 'reverseEntry',
      summary: 'Reverse a posted entry by its mirror, which is posted at once',
      params: idParams,
      body: reversal,
      responses: { 201: entryView },
      errors: ['immutable', 'constraint_violated', 'period_locked'],
      handle: async (request) => {
        const { principal, params, body } = request;
        const { posting, position } = await deps.posting.reverse(
          principal.tenantId,
          params.id,
          body,
          contextOf(deps, request),
        );
        return { status: 201, body: viewOfEntry(postedDoc(posting, posting.at), {}), position };
      },
    }),
  ];
};
