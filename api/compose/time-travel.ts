import { TimeTravel } from '../../application/time-travel.ts';
import type { Core } from './core.ts';

/** The log as it stood. */
export interface TimeTravelArea {
  readonly timeTravel: TimeTravel;
}

export const composeTimeTravel = ({ stores, codec, keys }: Core): TimeTravelArea => ({
  timeTravel: new TimeTravel({ events: stores.events, codec, keys }),
});
