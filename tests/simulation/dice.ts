import type { Random } from '../../application/core/runtime/random.ts';

/** Values drawn from a seed: the same seed gives the same values in the same order (sfc32). */
export class Dice {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = (seed / 2 ** 32) | 0;
    this.#c = stream | 0;
    for (let round = 0; round < 12; round += 1) this.#next();
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** At least 0 and below 1. */
  number(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number of at least `from` and at most `to`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.number() * (to - from + 1));
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.number() < share;
  }

  /** Mostly short times (ms), now and then one of up to `longest`. */
  delay(usual: number, longest: number): number {
    return this.chance(0.02) ? this.number() * longest : this.number() * usual;
  }

  pick<T>(from: readonly T[]): T {
    const found = from[Math.floor(this.number() * from.length)];
    if (found === undefined) throw new Error('nothing to pick from');
    return found;
  }

  /** Picks by weight. */
  weighted<T>(from: readonly (readonly [number, T])[]): T {
    let left = this.number() * from.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of from) {
      left -= weight;
      if (left < 0) return value;
    }
    throw new Error('nothing to pick from');
  }

  /** Random values for the product. */
  asRandom(): Random {
    const fill = (target: Uint8Array): void => {
      for (let at = 0; at < target.length; at += 1) target[at] = this.#next() & 0xff;
    };
    const bytes = (length: number): Buffer => {
      const made = Buffer.alloc(length);
      fill(made);
      return made;
    };
    return {
      number: () => this.number(),
      bytes,
      fill,
      uuid: () => {
        const hex = bytes(16).toString('hex');
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
      },
    };
  }
}
