import { lineOf, type Measure, type Texts, totalsOf } from './pricing.ts';
import type { RateCard } from './rate-card.ts';
import {
  type FrozenInvoice,
  METERS,
  type Meter,
  type StatementLine,
  type Totals,
  type Window,
} from './shapes.ts';
import { gapsIn, isWithin, measure, monthStart, subtract, type UsagePeriod } from './usage.ts';

/** Statements (decisions, section 10): invoiced usage of a window, and unbilled usage priced with the present card. */

export interface Statement {
  readonly customer: { readonly id: string; readonly name: string };
  readonly window: Window & { readonly open: boolean };
  readonly currency: string;
  readonly rate_card_version: number;
  readonly lines: readonly StatementLine[];
  readonly totals: Totals;
}

/** A statement, and its lines divided into invoiced and unbilled lines. */
export interface StatementParts {
  readonly statement: Statement;
  /** Ordered by time. */
  readonly invoiced: readonly StatementLine[];
  readonly unbilled: readonly StatementLine[];
}

export interface Priced {
  readonly window: Window;
  readonly card: RateCard;
  /** Texts of a line for a quantity of a meter in a window. */
  readonly textsOf: (meter: Meter, quantity: number, window: Window) => Texts;
}

const lateLinesOf = (invoices: readonly FrozenInvoice[]): readonly LateLine[] =>
  invoices.flatMap(({ lines }) =>
    lines.flatMap((line) => (line.late && line.window ? [{ ...line, window: line.window }] : [])),
  );

type LateLine = StatementLine & { readonly window: Window };

/** Sorted instants at which to split usage for {@link unbilledLines}; the first and the last bound the usage. */
export const cutsFor = (
  window: Window,
  invoices: readonly FrozenInvoice[],
  withLateUsage: readonly FrozenInvoice[],
): readonly string[] => {
  const windows = invoices.map((invoice) => invoice.window);
  const late = lateLinesOf(invoices).map((line) => line.window);
  // Late lines of an invoice can belong to the window of any invoice.
  const needed = late.length > 0 ? windows : withLateUsage.map((invoice) => invoice.window);
  const parts = [window, ...needed, ...late];
  const [first = window.from] = parts.map(({ from }) => monthStart(from)).sort();
  const [last = window.to] = parts
    .map(({ to }) => to)
    .sort()
    .reverse();
  const bounds = [window, ...windows, ...late].flatMap(({ from, to }) => [from, to]);
  return [...new Set([first, ...bounds, last])].filter((cut) => cut >= first && cut <= last).sort();
};

const NOTHING: Measure = { quantity: 0, billable: 0 };

const plus = (a: Measure, b: Measure): Measure => ({
  quantity: a.quantity + b.quantity,
  billable: a.billable + b.billable,
});

/** The usage that an invoice bills for its own window: its lines without late lines. */
const ownOf = (invoice: FrozenInvoice, meter: Meter): Measure =>
  invoice.lines.filter((line) => line.meter === meter && !line.late).reduce(plus, NOTHING);

/** A time range that late usage can be assigned to. */
interface Place {
  readonly window: Pick<Window, 'from'>;
  readonly invoice: FrozenInvoice | undefined;
  /** Usage that no invoice line covers yet. */
  open: Measure;
  held: Measure;
}

/** The part of a window's invoiced late usage that is not assigned to a time range yet. */
interface Late {
  /** Time ranges to which this late usage can be assigned, in order. */
  readonly places: readonly Place[];
  billable: number;
  included: number;
}

const hold = (place: Place, taken: Measure): void => {
  place.open = subtract(place.open, taken);
  place.held = plus(place.held, taken);
};

/**
 * Units of late usage for which no time range has room.
 * @param lates sorted by the end of their windows: the most room is left when the window that ends first takes its
 * earliest ranges
 */
const unplaced = (lates: readonly Late[]): number => {
  const room = new Map<Place, number>();
  let short = 0;
  for (const { places, billable, included } of lates) {
    let left = billable + included;
    for (const place of places) {
      const open = room.get(place) ?? place.open.quantity;
      const taken = Math.min(left, open);
      room.set(place, open - taken);
      left -= taken;
    }
    short += left;
  }
  return short;
};

/** Assigns as much late usage of one kind as possible without taking the room that other late usage needs. */
const assign = (
  lates: readonly Late[],
  kind: 'billable' | 'included',
  mostFor: (place: Place) => number,
): void => {
  const short = unplaced(lates);
  for (const late of lates) {
    for (const place of late.places) {
      const { open } = place;
      const all = late[kind];
      const leavesRoom = (quantity: number): boolean => {
        late[kind] = all - quantity;
        place.open = subtract(open, { quantity, billable: 0 });
        const isShort = unplaced(lates) > short;
        late[kind] = all;
        place.open = open;
        return !isShort;
      };
      let quantity = Math.min(all, mostFor(place));
      if (quantity > 0 && !leavesRoom(quantity)) {
        let [fits, fails] = [0, quantity];
        while (fails - fits > 1) {
          const middle = Math.floor((fits + fails) / 2);
          if (leavesRoom(middle)) fits = middle;
          else fails = middle;
        }
        quantity = fits;
      }
      late[kind] -= quantity;
      hold(place, { quantity, billable: kind === 'billable' ? quantity : 0 });
    }
  }
};

/**
 * Assigns invoiced late usage to the time ranges of its window. After the window's invoice was voided, a time range can
 * belong to another invoice or to none. Assigns billable usage first, so that it is not billed again.
 */
const placesOf = (
  meter: Meter,
  periods: readonly UsagePeriod[],
  invoices: readonly FrozenInvoice[],
  measured: (isChosen: (period: UsagePeriod) => boolean) => Measure,
): readonly Place[] => {
  const lines = lateLinesOf(invoices).filter((line) => line.meter === meter);
  if (lines.length === 0) return [];
  const places = new Map<string, Place>();
  for (const period of periods) {
    const invoice = invoices.find((each) => isWithin(period.from, each.window));
    const from = invoice?.window.from ?? period.from;
    if (places.has(from)) continue;
    const open =
      invoice === undefined
        ? measured((each) => each === period)
        : subtract(
            measured((each) => isWithin(each.from, invoice.window)),
            ownOf(invoice, meter),
          );
    places.set(from, { window: { from }, invoice, open, held: NOTHING });
  }
  const placesFor = (window: Window): Place[] =>
    [...places.values()].filter(
      ({ window: { from }, invoice }) =>
        (invoice !== undefined && isWithin(window.from, invoice.window)) || isWithin(from, window),
    );
  const lates = lines
    .toSorted((a, b) => Date.parse(a.window.to) - Date.parse(b.window.to))
    .map(
      ({ window, quantity, billable }): Late => ({
        places: placesFor(window),
        billable,
        included: quantity - billable,
      }),
    );
  assign(lates, 'billable', ({ open }) => open.billable);
  assign(lates, 'included', ({ open }) => open.quantity - open.billable);
  // Usage counted later can turn included units into billable units. The rest is therefore assigned to any open usage.
  assign(lates, 'billable', ({ open }) => open.quantity);
  assign(lates, 'included', ({ open }) => open.quantity);
  return [...places.values()];
};

/**
 * Lines for usage without an invoice: usage of the window outside invoiced windows, and late usage of some invoices.
 * @param periods usage, split at the instants of {@link cutsFor}
 * @param invoices all live invoices of the customer
 * @param withLateUsage the invoices whose late usage is listed
 */
export const unbilledLines = (
  { window, card, textsOf }: Priced,
  periods: readonly UsagePeriod[],
  invoices: readonly FrozenInvoice[],
  withLateUsage: readonly FrozenInvoice[],
): readonly StatementLine[] => {
  const gaps = gapsIn(
    window,
    invoices.map((invoice) => invoice.window),
  );
  const isIn = (some: readonly Window[], instant: string): boolean =>
    some.some((each) => isWithin(instant, each));

  const linesOf = (meter: Meter): readonly StatementLine[] => {
    const rate = card.rates[meter];
    const chosen = (isChosen: (period: UsagePeriod) => boolean): Measure =>
      measure(periods, meter, isChosen, rate?.included ?? 0);
    const measured = (some: readonly Window[]): Measure => chosen((period) => isIn(some, period.from));
    const places = placesOf(meter, periods, invoices, chosen);
    const heldAt = (isMeant: (place: Place) => boolean): Measure =>
      places
        .filter(isMeant)
        .map(({ held }) => held)
        .reduce(plus, NOTHING);
    const lineIf = (left: Measure, of: Window, late?: Window): StatementLine[] => {
      if (left.quantity === 0) return [];
      const shown = rate === undefined ? { ...left, billable: left.quantity } : left;
      return [lineOf(meter, shown, rate, textsOf(meter, left.quantity, of), late)];
    };
    const inGaps = heldAt((place) => place.invoice === undefined && isIn(gaps, place.window.from));
    return [
      ...lineIf(subtract(measured(gaps), inGaps), window),
      ...withLateUsage.flatMap((invoice) => {
        const billed = plus(
          ownOf(invoice, meter),
          heldAt((place) => place.invoice === invoice),
        );
        return lineIf(subtract(measured([invoice.window]), billed), invoice.window, invoice.window);
      }),
    ];
  };
  const lines = METERS.flatMap(linesOf);
  return [...lines.filter((line) => !line.late), ...lines.filter((line) => line.late)];
};

/** @param now ms */
export const statementOf = (
  customer: Statement['customer'],
  { window, card }: Pick<Priced, 'window' | 'card'>,
  currency: string,
  invoices: readonly FrozenInvoice[],
  unbilled: readonly StatementLine[],
  now: number,
): StatementParts => {
  const invoiced = invoices
    .toSorted((a, b) => (a.window.from < b.window.from ? -1 : 1))
    .flatMap((invoice) => invoice.lines);
  const lines = [...invoiced, ...unbilled];
  return {
    statement: {
      customer,
      window: { ...window, open: Date.parse(window.to) > now },
      currency,
      rate_card_version: card.version,
      lines,
      totals: totalsOf(lines),
    },
    invoiced,
    unbilled,
  };
};
