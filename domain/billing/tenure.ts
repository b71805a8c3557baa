/**
 * Tenures: the times in which a tenant is a partner's customer. Usage belongs to the customer's partner at the time
 * of the usage (decision 25).
 */

/** The instant of an event and its place in the log. */
export interface Moment {
  readonly at: string;
  readonly position: string;
}

export interface Tenure {
  readonly partner_id: string;
  /** Null: since the tenant was created. */
  readonly from: Moment | null;
  /** Null while the tenure lasts. */
  readonly to: Moment | null;
  /** The tenant's last known name within the tenure. */
  readonly name: string;
}

/** A tenant that is or was a partner's customer. */
export interface Customer {
  readonly id: string;
  /** The tenant's last name while it was the partner's customer. */
  readonly name: string;
  readonly partnerId: string;
  /** Tenures with this partner, ordered by time. */
  readonly tenures: readonly Tenure[];
}

/** Whether usage belongs to the new partner: its event follows the hand-over in the log and is not earlier in time. */
export const isAfter = (usage: Moment, handOver: Moment): boolean =>
  usage.position > handOver.position && usage.at >= handOver.at;

export const isDuring = (tenures: readonly Tenure[], usage: Moment): boolean =>
  tenures.some(
    ({ from, to }) => (from === null || isAfter(usage, from)) && (to === null || !isAfter(usage, to)),
  );

/** Whether a tenure covers the time from a hand-over to the next hand-over. */
export const coversAfter = (tenures: readonly Tenure[], { position }: Moment): boolean =>
  tenures.some(
    ({ from, to }) => (from === null || from.position <= position) && (to === null || to.position > position),
  );

/** Both ends of the tenure are inclusive: usage in the millisecond of a hand-over can belong to either partner. */
export const overlaps = ({ from, to }: Tenure, window: { from: string; to: string }): boolean =>
  (from === null || from.at < window.to) && (to === null || to.at >= window.from);

export const renamed = (tenures: readonly Tenure[], name: string): readonly Tenure[] =>
  tenures.map((tenure) => (tenure.to === null ? { ...tenure, name } : tenure));

/** @param partnerId null when the tenant has no partner after the hand-over */
export const handedOver = (
  tenures: readonly Tenure[],
  partnerId: string | null,
  name: string,
  moment: Moment,
): readonly Tenure[] => {
  const ended = tenures.map((tenure) => (tenure.to === null ? { ...tenure, to: moment } : tenure));
  return partnerId === null ? ended : [...ended, { partner_id: partnerId, from: moment, to: null, name }];
};
