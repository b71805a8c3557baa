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

const withUsage = (part: MeteredPart, { meters, user, position }: Usage, isCut: boolean): MeteredPart => {
  let { counts, users } = part;
  for (const meter of meters) counts = { ...counts, [meter]: (counts[meter] ?? 0) + 1 };
  if (isCut && user !== undefined && users[user] === undefined) {
    users = { ...users, [user]: position };
  }
  return { ...part, counts, users };
};

const grown = (doc: MeteredDay | undefined, moment: Moment, parts: readonly MeteredPart[]): MeteredDay => ({
  day: dayOf(moment.at),
  first: doc?.first ?? moment.position,
  last: moment.position,
  parts,
});

/** Counts an event on its day. */
export const countOn = (usage: Usage): Touch =>
  touch<MeteredDay>('days', dayOf(usage.at), (doc) => {
    const parts = doc?.parts ?? [EMPTY];
    const at = partOf(parts, usage);
    const isCut = parts.length > 1;
    return grown(
      doc,
      usage,
      parts.map((part, nth) => (nth === at ? withUsage(part, usage, isCut) : part)),
    );
  });

/** Counts usage after a hand-over separately from usage before it. */
export const cutDay = (tenantId: string, handOver: Moment): Touch =>
  touch<MeteredDay>(
    'days',
    dayOf(handOver.at),
    (doc) => grown(doc, handOver, [...(doc?.parts ?? [EMPTY]), { ...EMPTY, from: handOver }]),
    tenantId,
  );
