import type { CountMeter } from './metering.ts';
import type { Moment } from './tenure.ts';

/** Metered usage as the read model holds it and statements read it. Days are UTC. */

/** A tenant's usage of one day, divided where the tenant was handed over to another partner. */
export interface MeteredDay {
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** Positions of the first and last event that changed the day: counted events, users' events and hand-overs. */
  readonly first: string;
  readonly last: string;
  /** One part, and one more for each hand-over on the day, except those while the tenant or the platform was parked. */
  readonly parts: readonly MeteredPart[];
}

export interface MeteredPart {
  /** The hand-over that started the part; null for the first part of a day. */
  readonly from: Moment | null;
  readonly counts: Readonly<Partial<Record<CountMeter, number>>>;
  /** By user: position of the first event in this part. Events before the day's first hand-over are left out. */
  readonly users: Readonly<Record<string, string>>;
}

/** A person's active days in one month. */
export interface ActiveMonth {
  /** `YYYY-MM` */
  readonly month: string;
  readonly user: string;
  /** Positions of the first event of each day (`01` to `31`) on which the person was active. */
  readonly days: Readonly<Record<string, string>>;
}

/** Days, both ends inclusive. */
export interface DayRange {
  readonly first: string;
  readonly last: string;
}

/** The day (UTC) of an instant. */
export const dayOf = (instant: string): string => instant.slice(0, 10);
