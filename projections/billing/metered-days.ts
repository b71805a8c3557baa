import { dayOf, type MeteredDay, type MeteredPart } from '../../domain/billing/metered-day.ts';
import type { CountMeter } from '../../domain/billing/metering.ts';
import { isAfter, type Moment } from '../../domain/billing/tenure.ts';
import { type Touch, touch } from '../../domain/core/projection.ts';

/** Days of metered usage, divided where the tenant was handed over to another partner. */

interface Usage extends Moment {
  readonly meters: readonly CountMeter[];
  readonly user: string | undefined;
}

const EMPTY: MeteredPart = { from: null, counts: {}, users: {} };

const partOf = (parts: readonly MeteredPart[], usage: Moment): number =>
  parts.findLastIndex(({ from }) => from === null || isAfter(usage, from));

const withUsage = (part: MeteredPart, { meters, user, position }: Usage, cut: Moment | null): MeteredPart => {
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
const grown = (doc: MeteredDay | undefined, moment: Moment, parts: readonly MeteredPart[]): MeteredDay => ({
  ...doc,
  day: dayOf(moment.at),
  first: least(doc?.first, moment.position),
  last: greatest(doc?.last, moment.position),
  parts,
});

/** Counts an event on its day. */
export const countOn = (usage: Usage): Touch =>
  touch<MeteredDay>('days', dayOf(usage.at), (doc) => {
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
  touch<MeteredDay>(
    'days',
    dayOf(handOver.at),
    (doc) => ({
      ...grown(doc, handOver, [...(doc?.parts ?? [EMPTY]), { ...EMPTY, from: handOver }]),
      ...((doc?.last ?? '') > handOver.position ? { isMixed: true as const } : {}),
    }),
    tenantId,
  );
