import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { InvoiceBook } from '../../application/billing/invoice-book.ts';
import { InvoiceLog } from '../../application/billing/invoice-log.ts';
import { Invoices } from '../../application/billing/invoices.ts';
import { type Pending, runIssueWorker } from '../../application/billing/issue-worker.ts';
import { InvoiceIssuing } from '../../application/billing/issuing.ts';
import type { Statements } from '../../application/billing/statements.ts';
import { type LeaseOptions, pause } from '../../application/lease-holder.ts';
import type { BillingUpstream } from '../../application/ports/billing-upstream.ts';
import type { Invoice } from '../../domain/billing/invoice-view.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import type { DocumentReader, PageEnd } from '../../domain/projection.ts';
import { httpUpstream } from '../../infrastructure/billing/http-upstream.ts';
import { recorder } from '../../infrastructure/billing/recorder.ts';
import { guardedHttp } from '../../infrastructure/http/guarded-http.ts';
import {
  type InvoiceFilter,
  invoiceById,
  invoicesOf,
  invoicesProjection,
  issuingInvoices,
} from '../../projections/invoices.ts';
import type { Core } from './core.ts';
import type { PartnerArea } from './partners.ts';

/** Invoices of partners and how they are handed to the upstream billing system. */
export interface InvoicesArea {
  readonly invoices: Invoices;
  readonly invoiceIssuing: InvoiceIssuing;
}

const PAGE = 200;

const logIn = ({ stores, codec, states }: Core): InvoiceLog =>
  new InvoiceLog({ events: stores.events, codec, states });

const everyInvoice = async (
  reader: DocumentReader,
  scope: string,
  filter: InvoiceFilter,
): Promise<readonly Invoice[]> => {
  const found: Invoice[] = [];
  let after: PageEnd | undefined;
  do {
    const page = await invoicesOf(reader, scope, filter, { limit: PAGE, after });
    found.push(...page.docs);
    after = page.next;
  } while (after !== undefined);
  return found;
};

/** One customer's as the stream has them, a partner's as far as the read model has come. */
export const invoiceBookIn = (core: Core): InvoiceBook => {
  const log = logIn(core);
  const reader = core.readModels.reader(invoicesProjection.name);
  return {
    live: (partnerId, customerId) => log.live(partnerScope(partnerId), customerId),
    allLive: (partnerId) => everyInvoice(reader, partnerScope(partnerId), { state: 'live' }),
  };
};

/** The operator names the upstream: it may be anywhere, also on this machine. */
const upstreamOf = ({ config, logger }: Core): BillingUpstream => {
  const { BILLING_UPSTREAM_URL: url, BILLING_UPSTREAM_TOKEN: token, DATA_DIR } = config;
  if (url === undefined) return recorder({ path: join(DATA_DIR, 'billing') });
  if (url.startsWith('http:')) {
    logger.warn({}, 'BILLING_UPSTREAM_URL: invoices go by plain http, readable on their way');
  }
  const http = guardedHttp({ allowedNetworks: ['0.0.0.0/0', '::/0'], allowHttp: true });
  return httpUpstream({ url, token, http });
};

export const composeInvoices = (
  core: Core,
  { partnerDirectory, statements }: Pick<PartnerArea, 'partnerDirectory'> & { statements: Statements },
): InvoicesArea => {
  const { commands, directory, stores, clock, logger, readModels } = core;
  const log = logIn(core);
  const reader = readModels.reader(invoicesProjection.name);
  const invoiceIssuing = new InvoiceIssuing({
    commands,
    log,
    upstream: upstreamOf(core),
    leases: stores.reads,
    clock,
    logger,
    owner: randomUUID(),
  });
  const invoices = new Invoices({
    commands,
    directory,
    partners: partnerDirectory,
    log,
    statements,
    issuing: invoiceIssuing,
    customerOf: async (partnerId, invoiceId) => {
      const find = () => invoiceById(reader, partnerScope(partnerId), invoiceId);
      let found = await find();
      if (found === undefined) {
        // Another process may have made it a moment ago.
        await readModels.waitFor(undefined, [invoicesProjection.name], await stores.events.head());
        found = await find();
      }
      return found?.customer.id;
    },
    wrote: (position) => readModels.answered(undefined, position),
  });
  return { invoices, invoiceIssuing };
};

/** Goes on with invoices that the upstream has not answered, until aborted. */
export const runInvoiceWork = (
  { readModels, clock, logger }: Core,
  { invoiceIssuing: issuing }: InvoicesArea,
  lease: LeaseOptions,
  signal: AbortSignal,
): Promise<void> => {
  const reader = readModels.reader(invoicesProjection.name);
  const pending = async function* (): AsyncIterable<Pending> {
    let after: PageEnd | undefined;
    do {
      const page = await issuingInvoices(reader, { limit: PAGE, after });
      for (const { scope, customer_id: customerId, invoice_id: invoiceId, since } of page.docs) {
        yield { scope, customerId, invoiceId, since };
      }
      after = page.next;
    } while (after !== undefined);
  };
  return runIssueWorker({ issuing, pending, clock, logger, sleep: pause }, lease, signal);
};
