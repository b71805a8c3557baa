import { totalsOf } from '../../domain/billing/pricing.ts';
import { type BillingProfile, PROFILE_ID, profileDecider, profileOf } from '../../domain/billing/profile.ts';
import type { RateCard } from '../../domain/billing/rate-card.ts';
import { type Reconciliation, reconcile, type Scope } from '../../domain/billing/reconciliation.ts';
import type { FrozenInvoice, Meter, StatementLine, Totals, Window } from '../../domain/billing/shapes.ts';
import {
  cutsFor,
  type Priced,
  type Statement,
  type StatementParts,
  statementOf,
  unbilledLines,
} from '../../domain/billing/statement.ts';
import { renderTemplate } from '../../domain/billing/template.ts';
import { isWithin } from '../../domain/billing/usage.ts';
import { notFound } from '../../domain/errors.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import type { Directory } from '../directory.ts';
import type { PartnerDirectory } from '../partner-directory.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { StreamStates } from '../stream-states.ts';
import type { InvoiceBook } from './invoice-book.ts';
import type { MeteredUsage, UsagePage } from './metered-usage.ts';
import type { RateCards } from './rate-cards.ts';

/** What an invoice of a window would freeze. */
export interface Draft {
  readonly customer: Customer;
  readonly currency: string;
  readonly rate_card_version: number;
  readonly lines: readonly StatementLine[];
  readonly totals: Totals;
  /** What the log holds up to there is counted; undefined: the log was empty. */
  readonly through: Position | undefined;
}

export interface Customer {
  readonly id: string;
  readonly name: string;
}

interface Deps {
  readonly usage: MeteredUsage;
  /**
   * Waits until what was metered of a customer is counted: all that this node has answered for, or all up to a
   * position. @throws `read_model_behind`
   */
  readonly counted: (customerId: string, through: Position | undefined) => Promise<void>;
  readonly head: () => Promise<Position | undefined>;
  /** Tenants of a partner, the oldest first. */
  readonly customersOf: (partnerId: string) => Promise<readonly Customer[]>;
  readonly invoices: InvoiceBook;
  readonly rateCards: RateCards;
  readonly states: StreamStates;
  readonly directory: Directory;
  readonly partners: PartnerDirectory;
  readonly clock: Clock;
}

/** What partners' customers used and what it costs (decisions, section 10). The partner is the credential's. */
export class Statements {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Of every customer, the oldest first; then of who is none any more but was invoiced in the window. What was invoiced
   * in another currency than the card's stands by itself.
   */
  async statements(partnerId: string, window: Window): Promise<readonly Statement[]> {
    return (await this.#parts(partnerId, window)).map(({ statement }) => statement);
  }

  /** The sums of the statements in the card's currency. */
  async reconciliation(partnerId: string, window: Window, scope: Scope): Promise<Reconciliation> {
    const { currency } = await this.#deps.rateCards.get(partnerId);
    const parts = await this.#parts(partnerId, window);
    const open = Date.parse(window.to) > this.#deps.clock.now();
    return reconcile(
      parts.filter(({ statement }) => statement.currency === currency),
      scope,
      { ...window, open },
    );
  }

  /**
   * What an invoice of the window would freeze now: its usage at today's card, and what came late to the windows of the
   * customer's invoices. All that the log held as this was called is counted, and more may be.
   * @param through counts at least what the log holds up to there
   * @throws `not_found`, `read_model_behind`
   */
  async draft(partnerId: string, customerId: string, window: Window, through?: Position): Promise<Draft> {
    const customer = await this.customer(partnerId, customerId);
    const head = await this.#deps.head();
    const reached = head === undefined || (through !== undefined && through > head) ? through : head;
    await this.#deps.counted(customerId, reached);
    const priced = await this.#pricing(partnerId, window);
    const invoices = await this.#deps.invoices.live(partnerId, customerId);
    const lines = await this.#unbilled(customer, priced, invoices, invoices);
    const { currency, version } = priced.card;
    return {
      customer,
      currency,
      rate_card_version: version,
      lines,
      totals: totalsOf(lines),
      through: reached,
    };
  }

  /** @throws `not_found` for what is not a customer of the partner */
  async customer(partnerId: string, customerId: string): Promise<Customer> {
    const tenant = isTenantId(customerId) ? await this.#deps.directory.tenant(customerId) : undefined;
    if (tenant === undefined || tenant.partner_id !== partnerId) throw notFound();
    return { id: tenant.id, name: tenant.name };
  }

  /** The events behind a count. @throws `not_found`, `read_model_behind` */
  async usage(
    partnerId: string,
    customerId: string,
    of: { readonly meter: Meter; readonly window: Window },
    page: { readonly limit: number; readonly after: Position | undefined },
  ): Promise<UsagePage> {
    await this.customer(partnerId, customerId);
    await this.#deps.counted(customerId, undefined);
    return this.#deps.usage.page(customerId, of.meter, of.window, page);
  }

  /** A place in the log that came from outside; undefined when it is none. */
  parsePosition(text: string): Position | undefined {
    return this.#deps.usage.parsePosition(text);
  }

  async #parts(partnerId: string, window: Window): Promise<readonly StatementParts[]> {
    const priced = await this.#pricing(partnerId, window);
    const customers = await this.#deps.customersOf(partnerId);
    const invoices = await this.#deps.invoices.allLive(partnerId);
    const now = this.#deps.clock.now();
    const { currency } = priced.card;
    const parts: StatementParts[] = [];
    const byCustomer = Map.groupBy(invoices, ({ customer }) => customer.id);
    for (const customer of customers) {
      const own = byCustomer.get(customer.id) ?? [];
      const begun = own.filter((invoice) => isWithin(invoice.window.from, window));
      await this.#deps.counted(customer.id, undefined);
      const unbilled = await this.#unbilled(customer, priced, own, begun);
      const inCurrency = begun.filter((invoice) => invoice.currency === currency);
      parts.push(statementOf(customer, priced, currency, inCurrency, unbilled, now));
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

  async #unbilled(
    customer: Customer,
    priced: PricedFor,
    invoices: readonly FrozenInvoice[],
    lookedAfter: readonly FrozenInvoice[],
  ): Promise<readonly StatementLine[]> {
    const cuts = cutsFor(priced.window, invoices, lookedAfter);
    const slices = await this.#deps.usage.slices(customer.id, cuts);
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
    return unbilledLines({ ...priced, textsOf }, slices, invoices, lookedAfter);
  }

  async #pricing(partnerId: string, window: Window): Promise<PricedFor> {
    const { rateCards, states, partners } = this.#deps;
    const card = await rateCards.get(partnerId);
    const { state } = await states.load(partnerScope(partnerId), profileDecider, PROFILE_ID);
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

/** The days that a window has a part of, `2026-11-01..2026-11-30`. */
const periodOf = ({ from, to }: Window): string =>
  `${from.slice(0, 10)}..${new Date(Date.parse(to) - 1).toISOString().slice(0, 10)}`;

const keyOf = ({ customer, currency }: FrozenInvoice): string => `${customer.id} ${currency}`;
