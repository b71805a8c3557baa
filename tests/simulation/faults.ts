import type { Dice } from './dice.ts';

/** The fault of one call of a store. */
export type CallFault = 'none' | 'lost' | 'answer lost' | 'lands later' | 'half' | 'slow';

/** Calls that write, so that a lost answer hides an effect. */
const WRITES = new Set([
  'append',
  'commit',
  'put',
  'begin',
  'release',
  'destroy',
  'replace',
  'park',
  'unpark',
  'saveSubscriberProgress',
  'saveCheckpoints',
  'acquireLease',
  'acquireLeases',
  'releaseLease',
  'prepare',
  'setActiveGeneration',
  'advance',
  'putTombstone',
  'merge',
  'keep',
  'signed',
]);

/** Writes that a server may carry out after their caller has given up. */
const LATE = new Set([
  'events.append',
  'reads.commit',
  'reads.saveSubscriberProgress',
  'reads.saveCheckpoints',
]);

/** Faults that last for a while. */
export type Outage = 'keys away' | 'disk full';

/** Stores on the machine of a node: their calls fail only while the disk is full. */
const LOCAL_STORES = new Set(['snapshots', 'heads', 'blobs', 'corpus']);

/** The faults of a run; switched off at its end, so that everything can settle. */
export class Faults {
  areOn = true;
  /** Whether a failed commit can leave a part of its batch; a store with transactions never does. */
  breaksBatches = true;
  readonly #share: number;
  readonly #bare: number;
  readonly #outages = new Map<Outage, number>();

  /** @param bare share of growths that are announced without their events */
  constructor(share: number, bare = 0) {
    this.#share = share;
    this.#bare = bare;
  }

  /** @param until virtual time (ms) */
  begin(outage: Outage, until: number): void {
    this.#outages.set(outage, until);
  }

  /** Whether the call fails because of an outage. */
  isAway(store: string, method: string, now: number): boolean {
    if (!this.areOn) return false;
    if (store === 'keys' && now < (this.#outages.get('keys away') ?? 0)) return true;
    return now < (this.#outages.get('disk full') ?? 0) && WRITES.has(method);
  }

  ofCall(store: string, method: string, dice: Dice): CallFault {
    if (!this.areOn || LOCAL_STORES.has(store) || !dice.chance(this.#share)) return 'none';
    const isWrite = WRITES.has(method);
    return dice.weighted<CallFault>([
      [3, 'lost'],
      [isWrite ? 3 : 0, 'answer lost'],
      [LATE.has(`${store}.${method}`) ? 2 : 0, 'lands later'],
      [this.breaksBatches && store === 'reads' && method === 'commit' ? 3 : 0, 'half'],
      [2, 'slow'],
    ]);
  }

  /** How long (ms) the subscription stands still; growth in this time is announced afterwards. */
  stallOfGrowth(dice: Dice): number {
    return this.areOn && this.#share > 0 && dice.chance(0.01) ? dice.number() * 8_000 : 0;
  }

  /** Whether a growth is announced again later, out of order, as after a connection that broke. */
  repeatsGrowth(dice: Dice): boolean {
    return this.areOn && this.#share > 0 && dice.chance(0.03);
  }

  /** Whether a growth of the log is announced without its events, as a server may at any time. */
  dropsGrowth(dice: Dice): boolean {
    return dice.chance(this.#bare);
  }
}
