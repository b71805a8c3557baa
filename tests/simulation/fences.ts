import { z } from 'zod';
import { leaseNameOf, leaseNameOfSubscriber } from '../../application/ports/read-store.ts';

const lease = z.looseObject({ name: z.string(), fence: z.number() }).optional();
const leases = z.array(lease);
const write = z.looseObject({
  generation: z.looseObject({ projection: z.string(), tag: z.string() }),
  fence: z.number(),
});
const generation = z.looseObject({ projection: z.string(), tag: z.string() });

/** Watches at the read store that no write is accepted under a fence that was passed on. */
export class Fences {
  readonly faults: string[] = [];
  readonly #highest = new Map<string, number>();

  /** Called when a call of the store has taken effect, before anything else happens. */
  landed(node: string, method: string, args: readonly unknown[], result: unknown): void {
    switch (method) {
      case 'acquireLease':
        this.#granted(lease.parse(result));
        return;
      case 'acquireLeases':
        leases.parse(result).forEach((one) => void this.#granted(one));
        return;
      case 'commit': {
        const made = write.parse(args[0]);
        this.#check(node, method, leaseNameOf(made.generation), made.fence);
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

  #granted(given: z.output<typeof lease>): void {
    if (given !== undefined)
      this.#highest.set(given.name, Math.max(given.fence, this.#highest.get(given.name) ?? 0));
  }

  #check(node: string, method: string, name: string, fence: number): void {
    const highest = this.#highest.get(name) ?? 0;
    if (fence < highest)
      this.faults.push(`${node}: ${method} under fence ${fence} of ${name} was accepted after ${highest}`);
  }
}
