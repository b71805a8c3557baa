import { z } from 'zod';
import type { InvoiceNow, Invoices } from '../../../application/billing/invoices.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { Invoice } from '../../../domain/billing/invoice-view.ts';
import { partnerScope } from '../../../domain/partners/partner.ts';
import { invoiceById, invoicesOf, invoicesProjection } from '../../../projections/billing/invoices.ts';
import { listName } from '../../http/cursor.ts';
import type { Reply, Route } from '../../http/route.ts';
import { idParams } from '../../http/schemas.ts';
import { INVOICE_PAGE_HEADERS, invoicePage } from '../../pages/invoice-page.ts';
import { billed } from '../partners/partner-portal.ts';
import { found, listReply, pageQuery } from '../replies.ts';
import { partnerRoute } from '../route-kinds.ts';
import { windowFields, windowOf } from './billing-window.ts';
import { INVOICE_STATES, invoiceView, viewOfInvoice } from './invoice-views.ts';

interface Deps {
  readonly clock: Clock;
  readonly invoices: Invoices;
  readonly readModels: ReadModels;
}

/** Invoices of a partner's customers (decisions, section 10). The partner is the credential's. */

const BASE = '/api/v1/partner-portal/billing/invoices';
const READS = [invoicesProjection.name];

const filterQuery = z.object({
  /** An unknown customer selects nothing. */
  customer_id: z.string().max(200).optional(),
  state: z.enum(INVOICE_STATES).optional(),
  ...pageQuery.shape,
});

const generation = z.object({ customer_id: z.string().min(1).max(200), ...windowFields });

const reply = (status: number, { invoice, position }: InvoiceNow): Reply => ({
  status,
  body: viewOfInvoice(invoice),
  position,
});

export const invoiceRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader(invoicesProjection.name);

  const find = async (partnerId: string, id: string): Promise<Invoice> =>
    found(await invoiceById(reader, partnerScope(partnerId), id));

  return billed([
    partnerRoute({
      method: 'get',
      path: BASE,
      operationId: 'listInvoices',
      summary: 'Invoices, newest first',
      query: filterQuery,
      responses: { 200: z.array(invoiceView) },
      reads: READS,
      handle: ({ principal: { partnerId }, query: { limit, cursor, ...filter } }) =>
        listReply(
          { limit, cursor },
          (page) => invoicesOf(reader, partnerScope(partnerId), filter, page),
          viewOfInvoice,
          listName(filter.customer_id, filter.state),
        ),
    }),

    partnerRoute({
      method: 'post',
      path: `${BASE}/generate`,
      operationId: 'generateInvoice',
      summary:
        'Freeze the statement of a window, this calendar month unless given; 200 when that was done before',
      body: generation,
      responses: { 200: invoiceView, 201: invoiceView },
      errors: ['window_overlap', 'nothing_to_invoice'],
      handle: async ({ principal: { partnerId }, body: { customer_id, ...given }, context }) => {
        const window = windowOf(given, deps.clock.now());
        const made = await deps.invoices.generate(partnerId, customer_id, window, context);
        return reply(made.isNew ? 201 : 200, made);
      },
    }),

    partnerRoute({
      method: 'get',
      path: `${BASE}/:id`,
      operationId: 'getInvoice',
      summary: 'One invoice',
      params: idParams,
      responses: { 200: invoiceView },
      reads: READS,
      handle: async ({ principal, params }) => ({
        status: 200,
        body: viewOfInvoice(await find(principal.partnerId, params.id)),
      }),
    }),

    partnerRoute({
      method: 'get',
      path: `${BASE}/:id/page`,
      operationId: 'printInvoice',
      summary: 'One invoice as a page to print for the customer: with retail amounts alone',
      params: idParams,
      responses: { 200: null },
      produces: 'text/html',
      reads: READS,
      handle: async ({ principal, params }) => ({
        status: 200,
        headers: INVOICE_PAGE_HEADERS,
        body: invoicePage(await find(principal.partnerId, params.id)),
      }),
    }),

    partnerRoute({
      method: 'patch',
      path: `${BASE}/:id`,
      operationId: 'changeInvoice',
      summary: 'Refused: an invoice is frozen',
      params: idParams,
      body: z.object({}),
      responses: { 200: invoiceView },
      errors: ['invoice_locked'],
      reads: READS,
      handle: ({ principal, params }) => deps.invoices.change(principal.partnerId, params.id),
    }),

    partnerRoute({
      method: 'post',
      path: `${BASE}/:id/issue`,
      operationId: 'issueInvoice',
      summary: 'Hand the invoice to the upstream billing system; 202 while that does not answer',
      params: idParams,
      responses: { 200: invoiceView, 202: invoiceView },
      errors: ['invoice_locked', 'upstream_refused'],
      reads: READS,
      handle: async ({ principal, params, context }) => {
        const issued = await deps.invoices.issue(principal.partnerId, params.id, context);
        return reply(issued.invoice.state === 'issued' ? 200 : 202, issued);
      },
    }),

    partnerRoute({
      method: 'post',
      path: `${BASE}/:id/void`,
      operationId: 'voidInvoice',
      summary: 'Void an invoice that is not issued: its window is free again',
      params: idParams,
      responses: { 200: invoiceView },
      errors: ['invoice_locked'],
      reads: READS,
      handle: async ({ principal, params, context }) =>
        reply(200, await deps.invoices.void(principal.partnerId, params.id, context)),
    }),
  ]);
};
