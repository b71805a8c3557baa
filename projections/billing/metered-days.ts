import type { CountMeter } from '../../domain/billing/metering.ts';
import { isAfter, type Moment } from '../../domain/billing/tenure.ts';
import { type Touch, touch } from '../../domain/core/projection.ts';

/** Days of metered usage, divided where the tenant was handed over to another partner. */

export interface DayDoc {
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** Positions of the first and last event that changed the day; all events of the day lie between. */
  readonly first: string;
  readonly last: string;
  /** One part, and one more for each hand-over on the day. */
  readonly parts: readonly DayPart[];
  /** Set if a hand-over was folded after later events, because the platform was parked: the parts are then wrong. */
  readonly isMixed?: true;
}

export interface DayPart {
  /** The hand-over that starts the part; null for the first part of a day. */
  readonly from: Moment | null;
  readonly counts: Readonly<Partial<Record<CountMeter, number>>>;
  /** By active user: position of the first event in this part that follows the day's first hand-over in the log. */
  readonly users: Readonly<Record<string, string>>;
}

interface Usage extends Moment {
  readonly meters: readonly CountMeter[];
  readonly user: string | undefined;
}

const EMPTY: DayPart = { from: null, counts: {}, users: {} };

const dayOf = ({ at }: Moment): string => at.slice(0, 10);

const partOf = (parts: readonly DayPart[], usage: Moment): number =>
  parts.findLastIndex(({ from }) => from === null || isAfter(usage, from));

const withUsage = (part: DayPart, { meters, user, position }: Usage, cut: Moment | null): DayPart => {
  let { counts, users } = part;
  for (const meter of meters) counts = { ...counts, [meter]: (counts[meter] ?? 0) + 1 };
  if (cut !== null && position > cut.position && user !== undefined && users[user] === undefined) {
    users = { ...users, [user]: position };
  }
  return { ...part, counts, users };
};

const least = (a: string | undefined, b: string): string => (a === undefined || b < a ? b : a);
const greatest = (a: string | undefined, b: string): string => (a === undefined || b > a ? b : a);

/** A parked tenant's events may be folded after hand-overs that follow them in the log. */
const grown = (doc: DayDoc | undefined, moment: Moment, parts: readonly DayPart[]): DayDoc => ({
  ...doc,
  day: dayOf(moment),
  first: least(doc?.first, moment.position),
  last: greatest(doc?.last, moment.position),
  parts,
});

/** Counts an event on its day. */
export const countOn = (usage: Usage): Touch =>
  touch<DayDoc>('days', dayOf(usage), (doc) => {
    const parts = doc?.parts ?? [EMPTY];
    const at = partOf(parts, usage);
    const cut = parts[1]?.from ?? null;
    return grown(
      doc,
      usage,
      parts.map((part, nth) => (nth === at ? withUsage(part, usage, cut) : part)),
    );
  });

/** Counts usage after a hand-over separately from usage before it. */
export const cutDay = (tenantId: string, handOver: Moment): Touch =>
  touch<DayDoc>(
    'days',
    dayOf(handOver),
    (doc) => ({
      ...grown(doc, handOver, [...(doc?.parts ?? [EMPTY]), { ...EMPTY, from: handOver }]),
      ...((doc?.last ?? '') > handOver.position ? { isMixed: true as const } : {}),
    }),
    tenantId,
  );
