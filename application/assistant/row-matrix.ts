/** Rows per block; a single array would be copied on growth and stay half empty. */
const BLOCK_BITS = 6;
const BLOCK = 2 ** BLOCK_BITS;

/** Vectors of one length in memory, one per row; a row without a vector is all zeros. */
export class RowMatrix {
  readonly dimensions: number;
  readonly #blocks: Float32Array[] = [];
  #rows = 0;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#blocks.length * BLOCK * this.dimensions * Float32Array.BYTES_PER_ELEMENT;
  }

  add(vector: Float32Array | undefined): void {
    const row = this.#rows;
    this.#rows += 1;
    if (row % BLOCK === 0) this.#blocks.push(new Float32Array(this.dimensions * BLOCK));
    if (vector !== undefined) this.#blockOf(row).set(vector, (row % BLOCK) * this.dimensions);
  }

  /** Cosine of a unit vector and a row; 0 for a row without a vector. */
  cosine(vector: Float32Array, row: number): number {
    const { dimensions } = this;
    const block = this.#blockOf(row);
    let at = (row % BLOCK) * dimensions;
    // Four independent sums for pipelining; every model's `dimensions` is a multiple of four.
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let i = 0; i < dimensions; i += 4, at += 4) {
      a += (vector[i] as number) * (block[at] as number);
      b += (vector[i + 1] as number) * (block[at + 1] as number);
      c += (vector[i + 2] as number) * (block[at + 2] as number);
      d += (vector[i + 3] as number) * (block[at + 3] as number);
    }
    return a + b + c + d;
  }

  /** Cosine of two rows; 0 when one has no vector. */
  alike(one: number, other: number): number {
    const from = (one % BLOCK) * this.dimensions;
    return this.cosine(this.#blockOf(one).subarray(from, from + this.dimensions), other);
  }

  #blockOf(row: number): Float32Array {
    const block = this.#blocks[row >>> BLOCK_BITS];
    if (block === undefined) throw new RangeError('no such row');
    return block;
  }
}
