/** Numbers for each text of a page of lines: one array of them crosses from a thread to another. */
const WIDTH = 5;

/** Reads the `texts` of a `LinePage`: the nth text that was looked for, in their order. */
export class LineTexts {
  readonly count: number;
  readonly #numbers: Uint32Array;

  constructor(numbers: Uint32Array) {
    this.#numbers = numbers;
    this.count = numbers.length / WIDTH;
  }

  /** Adds one to what becomes `texts`. */
  static add(numbers: number[], from: number, to: number, member: number, page: number, slot: number): void {
    numbers.push(from, to, member, page, slot);
  }

  /** Where it begins in the lines, with its quotes. */
  from(nth: number): number {
    return this.#numbers[nth * WIDTH] ?? 0;
  }

  /** Where it ends. */
  to(nth: number): number {
    return this.#numbers[nth * WIDTH + 1] ?? 0;
  }

  /** Index of the member. */
  member(nth: number): number {
    return this.#numbers[nth * WIDTH + 2] ?? -1;
  }

  /** Where its key lies: index in the `keyPages`, or `NO_PAGE`. */
  page(nth: number): number {
    return this.#numbers[nth * WIDTH + 3] ?? -1;
  }

  slot(nth: number): number {
    return this.#numbers[nth * WIDTH + 4] ?? 0;
  }
}
