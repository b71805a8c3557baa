const BITS = 32;

/**
 * The signs of vectors' numbers, one bit each. The share of bits in which two codes differ estimates the angle between
 * their vectors for a fraction of the time of a cosine.
 */
export class SignCodes {
  readonly #dimensions: number;
  readonly #words: number;
  #codes = new Int32Array(0);
  #rows = 0;

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
    this.#words = Math.ceil(dimensions / BITS);
  }

  get bytes(): number {
    return this.#codes.byteLength;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds the next row; estimates for a row without a vector must not be used. */
  add(vector: Float32Array | undefined): void {
    const at = this.#rows * this.#words;
    if (at === this.#codes.length) this.#grow();
    if (vector !== undefined) this.#codes.set(this.#codeOf(vector), at);
    this.#rows += 1;
  }

  /** Returns a function that estimates the cosine, -1..1, of `vector` and the vector of a row. */
  estimator(vector: Float32Array): (row: number) => number {
    const code = this.#codeOf(vector);
    const codes = this.#codes;
    const cosines = Float32Array.from({ length: this.#dimensions + 1 }, (_, bits) =>
      Math.cos((Math.PI * bits) / this.#dimensions),
    );
    return (row) => {
      const at = row * code.length;
      let differing = 0;
      for (let word = 0; word < code.length; word += 1) {
        differing += bitsOf((code[word] ?? 0) ^ (codes[at + word] ?? 0));
      }
      return cosines[differing] ?? 0;
    };
  }

  #codeOf(vector: Float32Array): Int32Array {
    const code = new Int32Array(this.#words);
    for (let at = 0; at < vector.length; at += 1) {
      if ((vector[at] ?? 0) > 0) code[at >>> 5] = (code[at >>> 5] ?? 0) | (1 << (at & 31));
    }
    return code;
  }

  #grow(): void {
    const larger = new Int32Array(Math.max(this.#codes.length * 2, this.#words * BITS));
    larger.set(this.#codes);
    this.#codes = larger;
  }
}

/** Number of bits that are set, counted in pairs, fours and bytes at once. */
const bitsOf = (word: number): number => {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  const bytes = (fours + (fours >>> 4)) & 0x0f0f0f0f;
  return Math.imul(bytes, 0x01010101) >>> 24;
};
