import { z } from 'zod';
import type { RateCards } from '../../../application/billing/rate-cards.ts';
import type { Statements } from '../../../application/billing/statements.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import type { RateCard } from '../../../domain/billing/rate-card.ts';
import { SCOPES } from '../../../domain/billing/reconciliation.ts';
import { METERS } from '../../../domain/billing/shapes.ts';
import { CSV_TYPE } from '../../http/csv.ts';
import { decodePosition, listName, nextPosition } from '../../http/cursor.ts';
import type { Reply, Route } from '../../http/route.ts';
import { etagOf, ifMatch } from '../entities/record-requests.ts';
import { billed } from '../partners/partner-portal.ts';
import { download, list, ok, pageQuery, textAnswer } from '../replies.ts';
import { partnerRoute } from '../route-kinds.ts';
import {
  csvOfReconciliation,
  csvOfStatements,
  newRateCard,
  rateCardView,
  reconciliationView,
  statementView,
  usageView,
  viewOfCard,
} from './billing-views.ts';
import { windowFields, windowOf } from './billing-window.ts';

interface Deps {
  readonly events: Pick<EventStore, 'parsePosition'>;
  readonly clock: Clock;
  readonly rateCards: RateCards;
  readonly statements: Statements;
}

const BASE = '/api/v1/partner-portal/billing';
const READS = ['metering', 'invoices'];

const windowQuery = z.object(windowFields);
const reconciliationQuery = windowQuery.extend({
  scope: z
    .enum(SCOPES)
    .default('customer')
    .meta({ description: 'A bucket for each customer or for each meter.' }),
});

const usageQuery = windowQuery.extend({
  meter: z.enum(METERS).meta({ description: 'The meter of the line.' }),
  ...pageQuery.shape,
});

const cardReply = (card: RateCard, position?: Position): Reply => ({
  status: 200,
  body: viewOfCard(card),
  headers: etagOf(card),
  position,
});

/**
 * Partner billing except invoices (decisions, section 10): rate card, statements with their events, and
 * reconciliation. The credential names the partner.
 */
export const billingRoutes = (deps: Deps): Route[] => {
  const statementsOf = (partnerId: string, query: z.output<typeof windowQuery>) =>
    deps.statements.statements(partnerId, windowOf(query, deps.clock.now()));
  const reconciliationOf = (partnerId: string, query: z.output<typeof reconciliationQuery>) =>
    deps.statements.reconciliation(partnerId, windowOf(query, deps.clock.now()), query.scope);

  return billed([
    partnerRoute({
      method: 'get',
      path: `${BASE}/rate-card`,
      operationId: 'getRateCard',
      summary: 'The rate card: prices of each meter; `ETag` is the version',
      description:
        'Prices are decimal strings of minor units. Send the `ETag` as `If-Match` when you replace the ' +
        'card.',
      responses: { 200: rateCardView },
      handle: async ({ principal }) => cardReply(await deps.rateCards.get(principal.partnerId)),
    }),

    partnerRoute({
      method: 'put',
      path: `${BASE}/rate-card`,
      operationId: 'replaceRateCard',
      summary: 'Replace the whole rate card; a meter that is left out has no price',
      description:
        'The new prices apply to all usage that is not invoiced yet. With `If-Match`, a card that was ' +
        'changed in the meantime is 409 `conflict`.',
      body: newRateCard,
      responses: { 200: rateCardView },
      errors: ['conflict'],
      honoursIfMatch: true,
      reads: ['invoices'],
      handle: async ({ principal, body, headers, context }) => {
        const { card, position } = await deps.rateCards.replace(
          principal.partnerId,
          { ...body, ifVersion: ifMatch(headers) },
          context,
        );
        return cardReply(card, position);
      },
    }),

    partnerRoute({
      ...list(statementView, windowQuery),
      path: `${BASE}/statements`,
      operationId: 'listStatements',
      summary:
        'Statements: usage and amounts of each customer in a window, by default this calendar month (UTC)',
      description:
        'One statement for each customer, also without usage. Invoiced usage shows the frozen lines of ' +
        'its invoice; other usage is priced with the current rate card.',
      reads: READS,
      errors: ['constraint_violated'],
      handle: async ({ principal, query }) => ok(await statementsOf(principal.partnerId, query)),
    }),

    partnerRoute({
      ...textAnswer('text/csv'),
      path: `${BASE}/statements.csv`,
      operationId: 'exportStatements',
      expensive: true,
      summary: 'The statements as CSV, one row for each line; amounts in minor units',
      description: 'The same lines as the statements, for a spreadsheet.',
      query: windowQuery,
      reads: READS,
      errors: ['constraint_violated'],
      handle: async ({ principal, query }) =>
        download('statements.csv', CSV_TYPE, csvOfStatements(await statementsOf(principal.partnerId, query))),
    }),

    partnerRoute({
      ...list(usageView, usageQuery),
      path: `${BASE}/statements/:customer_id/usage`,
      operationId: 'listUsage',
      summary:
        'The events that a count consists of, in the order of the log; for active users, each person’s first event in the window',
      description: 'The metered events behind a line of a statement, oldest first.',
      params: z.object({ customer_id: z.string() }),
      reads: ['metering'],
      handle: async ({ principal, params, query }) => {
        const { meter, limit: size, cursor: given, ...rest } = query;
        const window = windowOf(rest, deps.clock.now());
        // The name leaves out the window: the default window moves while a list is read page by page.
        const list = listName('usage', params.customer_id, meter);
        const after = decodePosition(given, (text) => deps.events.parsePosition(text), list);
        const { partnerId } = principal;
        const page = await deps.statements.usage(
          partnerId,
          params.customer_id,
          { meter, window },
          { limit: size, after },
        );
        return { status: 200, body: page.events, next: nextPosition(page.next, list) };
      },
    }),

    partnerRoute({
      method: 'get',
      path: `${BASE}/reconciliation`,
      operationId: 'getReconciliation',
      summary:
        'Reconciliation: sums of the statements by customer or meter, with invoiced and not yet invoiced amounts',
      description:
        'Each bucket adds invoiced and not yet invoiced amounts, so its sums equal those of the ' +
        'statements.',
      query: reconciliationQuery,
      responses: { 200: reconciliationView },
      reads: READS,
      errors: ['constraint_violated'],
      handle: async ({ principal, query }) => ok(await reconciliationOf(principal.partnerId, query)),
    }),

    partnerRoute({
      ...textAnswer('text/csv'),
      path: `${BASE}/reconciliation.csv`,
      operationId: 'exportReconciliation',
      expensive: true,
      summary:
        'The reconciliation as CSV, one row for each bucket and one for the total; amounts in minor units',
      description: 'The same buckets as the reconciliation, for a spreadsheet.',
      query: reconciliationQuery,
      reads: READS,
      errors: ['constraint_violated'],
      handle: async ({ principal, query }) =>
        download(
          'reconciliation.csv',
          CSV_TYPE,
          csvOfReconciliation(await reconciliationOf(principal.partnerId, query)),
        ),
    }),
  ]);
};
