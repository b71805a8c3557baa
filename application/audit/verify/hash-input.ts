import { hash } from 'node:crypto';

const LINE_FEED = 10;
const HEX = 64;

/** What the hash of the event at hand is over: `prev_hash` and then line after line. */
export class HashInput {
  #bytes = Buffer.allocUnsafeSlow(1 << 16);
  #length = 0;

  /** @param most bytes that may be put */
  begin(most: number): void {
    if (this.#bytes.length < most + HEX) this.#bytes = Buffer.allocUnsafeSlow(2 * most + HEX);
    // What comes first is known last.
    this.#length = HEX;
  }

  /** Beginning a line. */
  line(): void {
    this.#bytes[this.#length] = LINE_FEED;
    this.#length += 1;
  }

  /** Of few bytes: calling out of the language costs as much as sixty of them. */
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
