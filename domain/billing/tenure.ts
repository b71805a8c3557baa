/** The times at which a tenant is a partner's customer: usage belongs to the partner of its time (decision 25). */

/** The instant of an event and its place in the log. */
export interface Moment {
  readonly at: string;
  readonly position: string;
}

export interface Tenure {
  readonly partner_id: string;
  /** Null: since the tenant was created. */
  readonly from: Moment | null;
  /** Null: it has not ended. */
  readonly to: Moment | null;
  /** The tenant's name; once the tenure has ended, the last one before that. */
  readonly name: string;
}

/** A tenant that is or was a partner's customer. */
export interface Customer {
  readonly id: string;
  /** As it was called last while it was the partner's. */
  readonly name: string;
  readonly partnerId: string;
  /** Of this partner, in the order of time. */
  readonly tenures: readonly Tenure[];
}

/** The new partner's usage comes after the hand-over in the log and did not occur before it; all else stays where it was. */
export const isAfter = (usage: Moment, handOver: Moment): boolean =>
  usage.position > handOver.position && usage.at >= handOver.at;

export const isDuring = (tenures: readonly Tenure[], usage: Moment): boolean =>
  tenures.some(
    ({ from, to }) => (from === null || isAfter(usage, from)) && (to === null || !isAfter(usage, to)),
  );

/** Whether a tenure covers the time from one hand-over to the tenant's next one. */
export const coversAfter = (tenures: readonly Tenure[], { position }: Moment): boolean =>
  tenures.some(
    ({ from, to }) => (from === null || from.position <= position) && (to === null || to.position > position),
  );

/** Both ends in: the millisecond of a hand-over can hold usage of either partner. */
export const overlaps = ({ from, to }: Tenure, window: { from: string; to: string }): boolean =>
  (from === null || from.at < window.to) && (to === null || to.at >= window.from);

export const renamed = (tenures: readonly Tenure[], name: string): readonly Tenure[] =>
  tenures.map((tenure) => (tenure.to === null ? { ...tenure, name } : tenure));

/** @param partnerId null: no partner's customer from then on */
export const handedOver = (
  tenures: readonly Tenure[],
  partnerId: string | null,
  name: string,
  moment: Moment,
): readonly Tenure[] => {
  const ended = tenures.map((tenure) => (tenure.to === null ? { ...tenure, to: moment } : tenure));
  return partnerId === null ? ended : [...ended, { partner_id: partnerId, from: moment, to: null, name }];
};
