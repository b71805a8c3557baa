import type { Clock } from '../../application/ports/clock.ts';
import { networkOf } from './address.ts';

/** Rate limits of one process (decisions, section 3). Each answer is undefined (go on) or seconds to wait. */
export interface RateLimits {
  /** One more request of a credential. @param callerKey tenant and caller */
  request(callerKey: string): number | undefined;
  /** One more login from an address, or from its /48 for IPv6; asked before the body is read. */
  loginFrom(address: string): number | undefined;
  /** One more login with an e-mail, compared without regard to case, from the network of an address and in all. */
  loginAs(email: string, address: string): number | undefined;
  /** One more request without a credential from an address or its /48, per operation; before the body is read. */
  publicFrom(address: string, operationId: string): number | undefined;
}

/** So many callers are remembered; the longest unseen are forgotten first. About 100 bytes each. */
const MAX_CALLERS = 100_000;

/**
 * The generic cell rate algorithm, a token bucket in one number per caller: the time at which its bucket will be
 * full again.
 */
export class TokenBuckets {
  readonly #interval: number;
  readonly #depth: number;
  readonly #maxCallers: number;
  readonly #fullAt = new Map<string, number>();

  /**
   * @param perMinute tokens that come back in a minute; 0 lets everything through
   * @param burst tokens of a full bucket
   */
  constructor(perMinute: number, burst: number, maxCallers = MAX_CALLERS) {
    this.#interval = perMinute > 0 ? 60_000 / perMinute : 0;
    this.#depth = this.#interval * Math.max(1, burst);
    this.#maxCallers = maxCallers;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /** Takes a token. @param now ms @returns seconds until there is one, when there is none */
  take(caller: string, now: number): number | undefined {
    if (this.#interval === 0) return undefined;
    const known = this.#fullAt.get(caller);
    // More than the depth ahead can only be a clock that was set back: start anew instead of locking out.
    const fullAt = known === undefined || known > now + this.#depth ? now : Math.max(known, now);
    const wait = fullAt + this.#interval - this.#depth - now;
    // Intervals are fractions: without the slack the last token of a bucket could be lost to rounding.
    if (wait > 0.001) return Math.max(1, Math.ceil(wait / 1_000));
    if (known !== undefined) this.#fullAt.delete(caller);
    else if (this.#fullAt.size >= this.#maxCallers) this.#forgetOldest();
    this.#fullAt.set(caller, fullAt + this.#interval);
    return undefined;
  }

  /** A map keeps its order, and each take moves a caller to its end. */
  #forgetOldest(): void {
    for (const oldest of this.#fullAt.keys()) {
      this.#fullAt.delete(oldest);
      return;
    }
  }
}

/** Public requests a minute, per address and operation (decisions, section 6, Form). */
const PUBLIC_PER_MINUTE = 30;

/** One customer has a whole /48 of IPv6, so its addresses count as one. */
const OF_ADDRESS = { ipv4: 32, ipv6: 48 };
/** Of logins with one e-mail: wrong passwords from one network do not keep the owner out from another. */
const OF_LOGIN = { ipv4: 24, ipv6: 48 };
/** Logins with one e-mail from all networks, in multiples of those from one. */
const NETWORKS_PER_EMAIL = 10;

/** @param settings per minute; 0 switches a limit off, and `requestsPerMinute` the public one as well */
export const createRateLimits = (
  settings: { readonly requestsPerMinute: number; readonly loginsPerMinute: number },
  clock: Clock,
): RateLimits => {
  const { requestsPerMinute, loginsPerMinute } = settings;
  const requests = new TokenBuckets(requestsPerMinute, Math.ceil(requestsPerMinute / 5));
  const addresses = new TokenBuckets(loginsPerMinute, loginsPerMinute);
  const networks = new TokenBuckets(loginsPerMinute, loginsPerMinute);
  const loginsPerEmail = loginsPerMinute * NETWORKS_PER_EMAIL;
  const emails = new TokenBuckets(loginsPerEmail, loginsPerEmail);
  const publicPerMinute = requestsPerMinute === 0 ? 0 : PUBLIC_PER_MINUTE;
  const strangers = new TokenBuckets(publicPerMinute, publicPerMinute);
  return {
    request: (callerKey) => requests.take(callerKey, clock.now()),
    loginFrom: (address) => addresses.take(networkOf(address, OF_ADDRESS), clock.now()),
    publicFrom: (address, operationId) =>
      strangers.take(`${operationId}\n${networkOf(address, OF_ADDRESS)}`, clock.now()),
    loginAs: (email, address) => {
      // Longer than any e-mail: what is cut off only serves to fill the memory.
      const folded = email.slice(0, 400).trim().toLowerCase();
      const now = clock.now();
      // A login that its network's limit refuses takes nothing from the e-mail's.
      return networks.take(`${networkOf(address, OF_LOGIN)}\n${folded}`, now) ?? emails.take(folded, now);
    },
  };
};
