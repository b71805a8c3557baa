import { dotsOf, LANES, largestOf } from './integer-dot.ts';
import { grown } from './keywords.ts';

/** Whole numbers of a rough row go up to this. */
const ROUGH = 127;
/** Rows are held in blocks of so many: a growing array would be copied time and again, and half empty. */
const BLOCK_BITS = 6;
const BLOCK = 2 ** BLOCK_BITS;
/** Far more than what sums of a few hundred doubles are rounded by. */
const ROUNDING = 1e-9;

/**
 * Vectors in memory, twice: as they are, and roughly, as multiples of a step of each row's own that take a byte. The rough
 * ones are compared many times faster, and say for certain how near a row is at most.
 */
export class RowMatrix {
  readonly dimensions: number;
  /** Of a rough row; what is beyond the dimensions is zero. */
  readonly #width: number;
  readonly #exact: Float32Array[] = [];
  readonly #rough: Int8Array[] = [];
  /** Of each rough row: what a one of it stands for, and the length of what it leaves out. */
  #steps = new Float64Array(BLOCK);
  #errors = new Float64Array(BLOCK);
  /** No rough row with what it leaves out is longer. */
  #longest = 0;
  #rows = 0;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#width = Math.ceil(dimensions / LANES) * LANES;
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    const ofBlocks = this.#exact.length * BLOCK * (this.dimensions * 4 + this.#width);
    return ofBlocks + this.#steps.byteLength + this.#errors.byteLength;
  }

  /** A row without a vector is all zeros, and so far from everything. */
  add(vector: Float32Array | undefined): void {
    const row = this.#rows;
    this.#rows += 1;
    if (row % BLOCK === 0) {
      this.#exact.push(new Float32Array(this.dimensions * BLOCK));
      this.#rough.push(new Int8Array(this.#width * BLOCK));
    }
    if (this.#rows > this.#steps.length) {
      this.#steps = grown(Float64Array, this.#steps);
      this.#errors = grown(Float64Array, this.#errors);
    }
    if (vector === undefined) return;
    this.#blockOf(row).set(vector, (row % BLOCK) * this.dimensions);
    const from = (row % BLOCK) * this.#width;
    const rough = this.#rough.at(-1)?.subarray(from, from + this.#width) ?? new Int8Array(this.#width);
    const { step, error, length } = roughly(vector, rough, ROUGH);
    this.#steps[row] = step;
    this.#errors[row] = error;
    this.#longest = Math.max(this.#longest, length + error);
  }

  /** Of each row: a number that its {@link cosine} is not above, and seldom far below. */
  ceilings(vector: Float32Array): Float64Array {
    const query = new Int16Array(this.#width);
    const { step, error, length } = roughly(vector, query, largestOf(this.#width));
    const dots = dotsOf(query, this.#rough);
    // With q and x for the vectors and q' and x' for the rough ones: qx = q'x' + (q - q')x' + q(x - x'), and neither of
    // the last two is greater than the product of its lengths.
    const whole = length + error;
    const common = (error + ROUNDING * whole) * this.#longest;
    const ceilings = new Float64Array(this.#rows);
    const steps = this.#steps;
    const errors = this.#errors;
    for (let row = 0; row < ceilings.length; row += 1) {
      const near = step * (steps[row] as number) * (dots[row] as number);
      const ceiling = near + whole * (errors[row] as number) + common;
      // Of what is not finite nothing is known.
      ceilings[row] = Number.isNaN(ceiling) ? Number.POSITIVE_INFINITY : ceiling;
    }
    return ceilings;
  }

  /** Of vectors of length one; 0 for a row without a vector. Four sums at once: none waits for the one before. */
  cosine(vector: Float32Array, row: number): number {
    const { dimensions } = this;
    const block = this.#blockOf(row);
    let at = (row % BLOCK) * dimensions;
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    // Both are `dimensions` long, a multiple of four with every model there is.
    for (let i = 0; i < dimensions; i += 4, at += 4) {
      a += (vector[i] as number) * (block[at] as number);
      b += (vector[i + 1] as number) * (block[at + 1] as number);
      c += (vector[i + 2] as number) * (block[at + 2] as number);
      d += (vector[i + 3] as number) * (block[at + 3] as number);
    }
    return a + b + c + d;
  }

  /** The cosine of two rows; 0 where one has no vector. */
  alike(one: number, other: number): number {
    const from = (one % BLOCK) * this.dimensions;
    return this.cosine(this.#blockOf(one).subarray(from, from + this.dimensions), other);
  }

  #blockOf(row: number): Float32Array {
    const block = this.#exact[row >>> BLOCK_BITS];
    if (block === undefined) throw new RangeError('no such row');
    return block;
  }
}

/**
 * Writes a vector as whole numbers from `-most` to `most`.
 * @returns what a one of them stands for, the length of what they leave out, and their own length. The error is
 * measured on what was written, and so right for any vector.
 */
const roughly = (
  vector: Float32Array,
  into: Int8Array | Int16Array,
  most: number,
): { readonly step: number; readonly error: number; readonly length: number } => {
  let largest = 0;
  for (let i = 0; i < vector.length; i += 1) largest = Math.max(largest, Math.abs(vector[i] as number));
  if (largest === 0) return { step: 0, error: 0, length: 0 };
  const step = largest / most;
  const perOne = most / largest;
  let error = 0;
  let length = 0;
  for (let i = 0; i < vector.length; i += 1) {
    const value = vector[i] as number;
    // Rounded to the nearest, by cutting off a positive number.
    const ones = ((value * perOne + most + 0.5) | 0) - most;
    into[i] = ones;
    const stands = ones * step;
    error += (value - stands) ** 2;
    length += stands ** 2;
  }
  return { step, error: Math.sqrt(error), length: Math.sqrt(length) };
};
