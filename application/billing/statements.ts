import type { InvoiceDraft } from '../../domain/billing/invoice.ts';
import { totalsOf } from '../../domain/billing/pricing.ts';
import { type BillingProfile, PROFILE_ID, profileOf, profileStream } from '../../domain/billing/profile.ts';
import type { RateCard } from '../../domain/billing/rate-card.ts';
import { type Reconciliation, reconcile, type Scope } from '../../domain/billing/reconciliation.ts';
import type { FrozenInvoice, Meter, StatementLine, Window } from '../../domain/billing/shapes.ts';
import {
  cutsFor,
  type Priced,
  type Statement,
  type StatementParts,
  statementOf,
  unbilledLines,
} from '../../domain/billing/statement.ts';
import { renderTemplate } from '../../domain/billing/template.ts';
import type { Customer } from '../../domain/billing/tenure.ts';
import { isWithin } from '../../domain/billing/usage.ts';
import { notFound } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import type { Streams } from '../core/commands/streams.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { InvoiceBook } from './invoice-book.ts';
import type { MeteredUsage, UsagePage } from './metered-usage.ts';
import type { RateCards } from './rate-cards.ts';

/** The content of an invoice before it is frozen. */
export type Draft = Omit<InvoiceDraft, 'partner'>;

/** Usage and amounts of partners' customers (decisions, section 10); the partner comes from the credential. */
export class Statements extends WithDeps<{
  readonly streams: Streams;
  readonly usage: MeteredUsage;
  /**
   * Waits until the events of a tenant or the platform are metered up to `through` and up to the tenant's last write
   * that this node has answered.
   * @throws `read_model_behind`, also while a generation of another version answers
   */
  readonly counted: (tenantId: string, through: Position | undefined) => Promise<void>;
  readonly end: () => Promise<Position | undefined>;
  /** The partner's present customers, then former customers with a tenure in the window; oldest tenants first. */
  readonly customersOf: (partnerId: string, window: Window) => Promise<readonly Customer[]>;
  /** Undefined for a tenant that was never the partner's customer. */
  readonly customerOf: (partnerId: string, customerId: string) => Promise<Customer | undefined>;
  readonly invoices: InvoiceBook;
  readonly rateCards: RateCards;
  readonly partners: PartnerDirectory;
  readonly clock: Clock;
}> {
  /**
   * Statements of present customers, oldest first, then of former customers with a tenure or an invoice in the window.
   * Invoices in a currency other than the rate card's currency have a separate statement.
   * @throws `constraint_violated` for an amount that is too large, `read_model_behind`
   */
  async statements(partnerId: string, window: Window): Promise<readonly Statement[]> {
    return (await this.#parts(partnerId, window)).map(({ statement }) => statement);
  }

  /** Sums the statements that are in the rate card's currency. @throws the errors of {@link statements} */
  async reconciliation(partnerId: string, window: Window, scope: Scope): Promise<Reconciliation> {
    const { currency } = await this.deps.rateCards.get(partnerId);
    const parts = await this.#parts(partnerId, window);
    const open = Date.parse(window.to) > this.deps.clock.now();
    return reconcile(
      parts.filter(({ statement }) => statement.currency === currency),
      scope,
      { ...window, open },
    );
  }

  /**
   * Drafts an invoice of the window: the window's usage at the prices of the present card, and late usage of the
   * customer's invoiced windows. Usage and prices include at least all events that the log has at the time of the call.
   * @throws `not_found`, `constraint_violated` for an amount that is too large, `read_model_behind`
   */
  async draft(partnerId: string, customerId: string, window: Window): Promise<Draft> {
    const through = await this.deps.end();
    const customer = await this.#customer(partnerId, customerId, through);
    await this.deps.counted(customerId, through);
    const priced = await this.#pricing(partnerId, window, 'refresh');
    const invoices = await this.deps.invoices.live(partnerId, customerId);
    const lines = await this.#unbilled(customer, priced, invoices, invoices);
    const { currency, version } = priced.card;
    return {
      customer: { id: customer.id, name: customer.name },
      currency,
      rate_card_version: version,
      lines,
      totals: totalsOf(lines),
      through,
    };
  }

  /** @throws `not_found` for a tenant that was never the partner's customer */
  async #customer(partnerId: string, customerId: string, through?: Position): Promise<Customer> {
    if (!isTenantId(customerId)) throw notFound();
    await this.deps.counted(PLATFORM, through);
    const customer = await this.deps.customerOf(partnerId, customerId);
    if (customer === undefined) throw notFound();
    return customer;
  }

  /** One page of the events that a meter counted. @throws `not_found`, `read_model_behind` */
  async usage(
    partnerId: string,
    customerId: string,
    of: { readonly meter: Meter; readonly window: Window },
    page: { readonly limit: number; readonly after: Position | undefined },
  ): Promise<UsagePage> {
    const customer = await this.#customer(partnerId, customerId);
    await this.deps.counted(customerId, undefined);
    return this.deps.usage.page(customer, of.meter, of.window, page);
  }

  async #parts(partnerId: string, window: Window): Promise<readonly StatementParts[]> {
    const priced = await this.#pricing(partnerId, window);
    const invoices = await this.deps.invoices.allLive(partnerId);
    const customers = await this.#customersIn(partnerId, window, invoices);
    const now = this.deps.clock.now();
    const { currency } = priced.card;
    const parts: StatementParts[] = [];
    const byCustomer = Map.groupBy(invoices, ({ customer }) => customer.id);
    const slice = timeSlices.of(partnerScope(partnerId), 'statements');
    await slice.begin();
    for (const customer of customers) {
      if (slice.isOver) await slice.next();
      const own = byCustomer.get(customer.id) ?? [];
      const begun = own.filter((invoice) => isWithin(invoice.window.from, window));
      await this.deps.counted(customer.id, undefined);
      const unbilled = await this.#unbilled(customer, priced, own, begun);
      const inCurrency = begun.filter((invoice) => invoice.currency === currency);
      const { id, name } = customer;
      parts.push(statementOf({ id, name }, priced, currency, inCurrency, unbilled, now));
    }
    const known = new Set(customers.map(({ id }) => id));
    const others = invoices.filter(
      (invoice) =>
        isWithin(invoice.window.from, window) &&
        (!known.has(invoice.customer.id) || invoice.currency !== currency),
    );
    for (const group of Map.groupBy(others, keyOf).values()) {
      const [first] = group;
      if (first !== undefined)
        parts.push(statementOf(first.customer, priced, first.currency, group, [], now));
    }
    return parts;
  }

  /** Also includes customers with an invoice whose window begins in `window`: such customers may have late usage. */
  async #customersIn(
    partnerId: string,
    window: Window,
    invoices: readonly FrozenInvoice[],
  ): Promise<readonly Customer[]> {
    await this.deps.counted(PLATFORM, undefined);
    const customers = await this.deps.customersOf(partnerId, window);
    const begun = invoices.filter((invoice) => isWithin(invoice.window.from, window));
    const missing = new Set(begun.map(({ customer }) => customer.id));
    for (const { id } of customers) missing.delete(id);
    const invoiced = await Promise.all([...missing].map((id) => this.deps.customerOf(partnerId, id)));
    return [...customers, ...invoiced.filter((customer) => customer !== undefined)];
  }

  async #unbilled(
    customer: Customer,
    priced: PricedFor,
    invoices: readonly FrozenInvoice[],
    withLateUsage: readonly FrozenInvoice[],
  ): Promise<readonly StatementLine[]> {
    const cuts = cutsFor(priced.window, invoices, withLateUsage);
    const periods = await this.deps.usage.periods(customer, cuts);
    const textsOf: Priced['textsOf'] = (meter, quantity, window) => {
      const { item_name_template, item_description } = priced.profile;
      const values = {
        customer: customer.name,
        partner: priced.partner,
        meter,
        quantity: String(quantity),
        period: periodOf(window),
      };
      return {
        item_name: renderTemplate(item_name_template, values),
        item_description: renderTemplate(item_description, values),
      };
    };
    return unbilledLines({ ...priced, textsOf }, periods, invoices, withLateUsage);
  }

  async #pricing(partnerId: string, window: Window, read: 'load' | 'refresh' = 'load'): Promise<PricedFor> {
    const { rateCards, streams, partners } = this.deps;
    const card = await rateCards.get(partnerId, read);
    const { state } = await streams.of(profileStream, partnerScope(partnerId), PROFILE_ID)[read]();
    const partner = await partners.find(partnerId);
    return { window, card, profile: profileOf(state), partner: partner?.name ?? '' };
  }
}

interface PricedFor {
  readonly window: Window;
  readonly card: RateCard;
  readonly profile: BillingProfile;
  readonly partner: string;
}

/** The days that a window touches, `2026-11-01..2026-11-30`. */
const periodOf = ({ from, to }: Window): string =>
  `${from.slice(0, 10)}..${new Date(Date.parse(to) - 1).toISOString().slice(0, 10)}`;

const keyOf = ({ customer, currency }: FrozenInvoice): string => `${customer.id} ${currency}`;
