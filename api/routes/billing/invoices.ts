import { z } from 'zod';
import type { Invoices } from '../../../application/billing/invoices.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { Invoice } from '../../../domain/billing/invoice-view.ts';
import { partnerScope } from '../../../domain/partners/partner.ts';
import { invoiceById, invoicesOf, invoicesProjection } from '../../../projections/billing/invoices.ts';
import { listName } from '../../http/cursor.ts';
import type { Route } from '../../http/route.ts';
import { idParams } from '../../http/schemas.ts';
import { INVOICE_PAGE_HEADERS, invoicePage } from '../../pages/invoice-page.ts';
import { billed } from '../partners/partner-portal.ts';
import { found, list, listReply, ok, one, pageQuery, textAnswer, written } from '../replies.ts';
import { partnerRoute } from '../route-kinds.ts';
import { windowFields, windowOf } from './billing-window.ts';
import { INVOICE_STATES, invoiceView, viewOfInvoice } from './invoice-views.ts';

interface Deps {
  readonly clock: Clock;
  readonly invoices: Invoices;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/partner-portal/billing/invoices';
const READS = [invoicesProjection.name];

const filterQuery = z.object({
  customer_id: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Invoices of this customer; an unknown customer has none.' }),
  state: z.enum(INVOICE_STATES).optional().meta({ description: 'Only of this state.' }),
  ...pageQuery.shape,
});

const generation = z.object({ customer_id: z.string().min(1).max(200), ...windowFields });

const reply = written('invoice', viewOfInvoice);

/** Invoices of a partner's customers (decisions, section 10). The credential names the partner. */
export const invoiceRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader(invoicesProjection.name);

  const find = async (partnerId: string, id: string): Promise<Invoice> =>
    found(await invoiceById(reader, partnerScope(partnerId), id));

  return billed([
    partnerRoute({
      ...list(invoiceView, filterQuery),
      path: BASE,
      operationId: 'listInvoices',
      summary: 'Invoices, newest first',
      description: 'Invoices of all states, with their frozen lines.',
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
        'Generate an invoice: freeze the statement of a window, by default this calendar month; 200 when the invoice exists',
      description:
        'Freezes the lines of a customer’s statement. The same window again answers 200 with the same ' +
        'invoice; a window that overlaps another one is 409 `window_overlap`.',
      body: generation,
      responses: { 200: invoiceView, 201: invoiceView },
      errors: ['window_overlap', 'nothing_to_invoice', 'constraint_violated', 'read_model_behind'],
      handle: async ({ principal: { partnerId }, body: { customer_id, ...given }, context }) => {
        const window = windowOf(given, deps.clock.now());
        const made = await deps.invoices.generate(partnerId, customer_id, window, context);
        return reply(made.isNew ? 201 : 200, made);
      },
    }),

    partnerRoute({
      ...one('get', invoiceView, idParams),
      path: `${BASE}/:id`,
      operationId: 'getInvoice',
      summary: 'One invoice',
      description: 'Lines and texts are as they were when the invoice was generated.',
      reads: READS,
      handle: async ({ principal, params }) => ok(viewOfInvoice(await find(principal.partnerId, params.id))),
    }),

    partnerRoute({
      ...textAnswer('text/html'),
      path: `${BASE}/:id/page`,
      operationId: 'printInvoice',
      summary: 'One invoice as a printable page for the customer, with retail amounts only',
      description:
        'An HTML page without scripts. It shows retail amounts and no wholesale ones, so it may be handed ' +
        'to the customer.',
      params: idParams,
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
      summary: 'Always refused: an invoice cannot be changed',
      description: 'Always 409 `invoice_locked`: void the invoice and generate another one.',
      params: idParams,
      body: z.object({}),
      responses: {},
      errors: ['invoice_locked'],
      reads: READS,
      handle: ({ principal, params }) => deps.invoices.change(principal.partnerId, params.id),
    }),

    partnerRoute({
      method: 'post',
      path: `${BASE}/:id/issue`,
      operationId: 'issueInvoice',
      summary: 'Issue the invoice: send it to the upstream billing system; 202 while that does not answer',
      description:
        'The request makes one call. While the upstream does not answer, the invoice is `issuing`, and ' +
        'the server retries in the background with the same key. Issuing again changes nothing.',
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
      ...one('post', invoiceView, idParams),
      path: `${BASE}/:id/void`,
      operationId: 'voidInvoice',
      summary: 'Void an invoice that is not issued, so that its window can be invoiced again',
      description:
        'Only a generated invoice can be voided. The next invoice of its window has a higher `revision`.',
      errors: ['invoice_locked'],
      reads: READS,
      handle: async ({ principal, params, context }) =>
        reply(200, await deps.invoices.void(principal.partnerId, params.id, context)),
    }),
  ]);
};
