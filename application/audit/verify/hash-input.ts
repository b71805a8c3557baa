import { hash } from 'node:crypto';

const LINE_FEED = 10;
const HEX = 64;

/** The bytes that an event's hash covers: `prev_hash`, then one line per part. */
export class HashInput {
  #bytes = Buffer.allocUnsafeSlow(1 << 16);
  #length = 0;

  /** @param most bytes that may be added */
  begin(most: number): void {
    if (this.#bytes.length < most + HEX) this.#bytes = Buffer.allocUnsafeSlow(2 * most + HEX);
    // `prev_hash` is filled in last.
    this.#length = HEX;
  }

  /** Starts a line. */
  line(): void {
    this.#bytes[this.#length] = LINE_FEED;
    this.#length += 1;
  }

  /** Adds few bytes in a loop, which is faster than a native copy. */
  few(line: Buffer, from: number, to: number): void {
    const bytes = this.#bytes;
    let length = this.#length;
    for (let at = from; at < to; at += 1) {
      bytes[length] = line[at] ?? 0;
      length += 1;
    }
    this.#length = length;
  }

  many(line: Buffer, from: number, to: number): void {
    line.copy(this.#bytes, this.#length, from, to);
    this.#length += to - from;
  }

  digest(line: Buffer, previousAt: number): string {
    line.copy(this.#bytes, 0, previousAt, previousAt + HEX);
    return hash('sha256', this.#bytes.subarray(0, this.#length), 'hex');
  }
}
