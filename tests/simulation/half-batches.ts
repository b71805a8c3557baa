import { z } from 'zod';
import { leaseNameOf } from '../../application/ports/read-store.ts';

const generation = z.looseObject({ projection: z.string(), tag: z.string() });
const stored = z.looseObject({ generation, checkpoint: z.string().optional() });

interface Half {
  readonly projection: string;
  /** A process that stores this position or a later one has folded all events of the batch. */
  readonly checkpoint: string;
  /** When (ms) the whole batch was stored; Infinity before. */
  readonly mendedAt: number;
}

/**
 * Records when readers could see a part of a batch, as on a store without transactions: from a commit that failed
 * midway until the batch has been folded again.
 */
export class HalfBatches {
  /** Of each generation, the half batch that is mended last. */
  readonly #halves = new Map<string, Half>();
  readonly #now: () => number;

  /** @param now virtual time (ms) */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Called when a part of the batch was stored, without its checkpoint. */
  broke(batch: unknown): void {
    const { generation: of, checkpoint = '' } = stored.parse(batch);
    const name = leaseNameOf(of);
    const before = this.#halves.get(name);
    // While a longer half batch is not mended, a shorter one does not replace it.
    const isLonger = before !== undefined && before.mendedAt === Infinity && before.checkpoint > checkpoint;
    if (!isLonger) this.#halves.set(name, { projection: of.projection, checkpoint, mendedAt: Infinity });
  }

  /** Called when a call of the store has taken effect. */
  landed(method: string, args: readonly unknown[], result: unknown): void {
    if (this.#halves.size === 0) return;
    switch (method) {
      case 'commit':
        this.#stored(args[0]);
        return;
      case 'saveCheckpoints': {
        const refused = z.array(z.unknown()).parse(result);
        for (const [at, one] of z.array(z.unknown()).parse(args[0]).entries())
          if (refused[at] === undefined) this.#stored(one);
        return;
      }
      case 'drop':
        this.#mended(leaseNameOf(generation.parse(args[0])));
        return;
      default:
    }
  }

  /** Whether readers could see a part of a batch of the read model at any time after `since` (ms). */
  seenSince(projection: string, since: number): boolean {
    return [...this.#halves.values()].some(
      (half) => half.projection === projection && half.mendedAt >= since,
    );
  }

  #stored(write: unknown): void {
    const { generation: of, checkpoint } = stored.parse(write);
    const name = leaseNameOf(of);
    const half = this.#halves.get(name);
    if (half !== undefined && checkpoint !== undefined && checkpoint >= half.checkpoint) this.#mended(name);
  }

  #mended(name: string): void {
    const half = this.#halves.get(name);
    if (half?.mendedAt === Infinity) this.#halves.set(name, { ...half, mendedAt: this.#now() });
  }
}
