import { join } from 'node:path';
import type { InvoiceBook } from '../../application/billing/invoice-book.ts';
import { InvoiceLog } from '../../application/billing/invoice-log.ts';
import { Invoices } from '../../application/billing/invoices.ts';
import { type Pending, runIssueWorker } from '../../application/billing/issue-worker.ts';
import { InvoiceIssuing } from '../../application/billing/issuing.ts';
import type { Statements } from '../../application/billing/statements.ts';
import { randomUUID } from '../../application/core/runtime/random.ts';
import { pause, setTimeout } from '../../application/core/runtime/timers.ts';
import type { BillingUpstream } from '../../application/ports/billing-upstream.ts';
import { every } from '../../domain/core/projection.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import { httpUpstream } from '../../infrastructure/billing/http-upstream.ts';
import { recorder } from '../../infrastructure/billing/recorder.ts';
import {
  invoiceById,
  invoicesOf,
  invoicesProjection,
  issuingInvoices,
} from '../../projections/billing/invoices.ts';
import { invoiceRoutes } from '../routes/billing/invoices.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import { upstreamHttp } from './outbound.ts';
import type { PartnersArea } from './partners.ts';

/** Time (ms) that a stop waits for open calls to the upstream. */
const LAST_CALLS_MS = 2000;

/** Reads live (not void) invoices: of one customer from the stream, of a whole partner from the read model. */
export const invoiceBookIn = (core: Core): InvoiceBook => {
  const log = new InvoiceLog(core);
  const reader = core.readModels.reader(invoicesProjection.name);
  return {
    live: (partnerId, customerId) => log.live(partnerScope(partnerId), customerId),
    allLive: (partnerId) =>
      Array.fromAsync(every((page) => invoicesOf(reader, partnerScope(partnerId), { state: 'live' }, page))),
  };
};

const upstreamOf = ({ adapters, config, logger }: Core): BillingUpstream => {
  const { BILLING_UPSTREAM_URL: url, BILLING_UPSTREAM_TOKEN: token, DATA_DIR } = config;
  if (url === undefined) return recorder({ path: join(DATA_DIR, 'billing') });
  if (url.startsWith('http:')) {
    logger.warn({}, 'BILLING_UPSTREAM_URL: invoices are sent unencrypted over plain http');
  }
  return httpUpstream({ url, token, http: upstreamHttp(adapters) });
};

/** Invoices of partners, and issuing them at the upstream billing system. */
export const composeInvoices = (
  core: Core,
  { partnerDirectory }: PartnersArea,
  { statements }: { readonly statements: Statements },
): Area => {
  const { readModels } = core;
  const log = new InvoiceLog(core);
  const reader = readModels.reader(invoicesProjection.name);
  const invoiceIssuing = new InvoiceIssuing({
    ...core,
    log,
    upstream: upstreamOf(core),
    leases: core.stores.reads,
    owner: randomUUID(),
  });
  const invoices = new Invoices({
    ...core,
    partners: partnerDirectory,
    log,
    statements,
    issuing: invoiceIssuing,
    customerOf: async (partnerId, invoiceId) => {
      const find = () => invoiceById(reader, partnerScope(partnerId), invoiceId);
      let found = await find();
      if (found === undefined) {
        // Another process may have just appended the invoice.
        await readModels.waitFor(undefined, [invoicesProjection.name], await core.events.end());
        found = await find();
      }
      return found?.customer.id;
    },
    wrote: (position) => readModels.answered(undefined, position),
  });
  return {
    routes: invoiceRoutes({ ...core, invoices }),
    background: (lease, signal) =>
      runIssueWorker(
        { ...core, issuing: invoiceIssuing, pending: pendingIn(core), sleep: pause },
        lease,
        signal,
      ),
    // Answers the requests that still wait for the upstream after this time: their intent to issue is stored.
    closing: () => {
      setTimeout(() => invoices.stop(), LAST_CALLS_MS).unref();
    },
  };
};

/** Invoices without an answer of the upstream. */
const pendingIn = ({ readModels }: Core): (() => AsyncIterable<Pending>) => {
  const reader = readModels.reader(invoicesProjection.name);
  return async function* () {
    for await (const { scope, customer_id: customerId, invoice_id: invoiceId, since } of every((page) =>
      issuingInvoices(reader, page),
    )) {
      yield { scope, customerId, invoiceId, since };
    }
  };
};
