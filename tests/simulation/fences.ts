import { z } from 'zod';
import { leaseNameOf, leaseNameOfSubscriber } from '../../application/ports/read-store.ts';

const lease = z.looseObject({ name: z.string(), fence: z.number() }).optional();
const leases = z.array(lease);
const write = z.looseObject({
  generation: z.looseObject({ projection: z.string(), tag: z.string() }),
  fence: z.number(),
});
const generation = z.looseObject({ projection: z.string(), tag: z.string() });

/** Lifetime (ms) of the product's leases. */
const LEASE_MS = 3_000;

/** Checks that the read store accepts no write under an older fence, and records which nodes hold leases. */
export class Fences {
  readonly faults: string[] = [];
  readonly #highest = new Map<string, number>();
  /** When each lease was last granted; released leases are left out. */
  readonly #granted = new Map<string, { readonly node: string; readonly at: number }>();
  readonly #now: () => number;

  /** @param now virtual time (ms) */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Expired leases: their holder died, and no other process has taken over. */
  get ended(): { readonly name: string; readonly node: string; readonly at: number }[] {
    const least = this.#now() - LEASE_MS;
    return [...this.#granted]
      .filter(([, { at }]) => at < least)
      .map(([name, { node, at }]) => ({ name, node, at: Math.round(at) }));
  }

  /** Called when a call of the store has taken effect, before anything else happens. */
  landed(node: string, method: string, args: readonly unknown[], result: unknown): void {
    switch (method) {
      case 'acquireLease':
        this.#grant(node, lease.parse(result));
        return;
      case 'acquireLeases':
        leases.parse(result).forEach((one) => void this.#grant(node, one));
        return;
      case 'releaseLease': {
        const released = lease.parse(args[0]);
        if (released !== undefined && this.#highest.get(released.name) === released.fence)
          this.#granted.delete(released.name);
        return;
      }
      case 'commit': {
        const made = write.parse(args[0]);
        this.#check(node, method, leaseNameOf(made.generation), made.fence);
        return;
      }
      case 'saveCheckpoints': {
        const refused = z.array(z.unknown()).parse(result);
        for (const [at, made] of z.array(write).parse(args[0]).entries())
          if (refused[at] === undefined) this.#check(node, method, leaseNameOf(made.generation), made.fence);
        return;
      }
      case 'park':
      case 'unpark':
        this.#check(node, method, leaseNameOf(generation.parse(args[0])), z.number().parse(args[1]));
        return;
      case 'saveSubscriberProgress':
        this.#check(
          node,
          method,
          leaseNameOfSubscriber(z.string().parse(args[0])),
          z.number().parse(args[1]),
        );
        return;
      default:
    }
  }

  #grant(node: string, given: z.output<typeof lease>): void {
    if (given === undefined) return;
    this.#highest.set(given.name, Math.max(given.fence, this.#highest.get(given.name) ?? 0));
    this.#granted.set(given.name, { node, at: this.#now() });
  }

  #check(node: string, method: string, name: string, fence: number): void {
    const highest = this.#highest.get(name) ?? 0;
    if (fence < highest)
      this.faults.push(`${node}: ${method} under fence ${fence} of ${name} was accepted after ${highest}`);
  }
}
