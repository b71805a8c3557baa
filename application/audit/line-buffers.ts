/** Bytes of each buffer, about: a socket takes so much at once. */
const SIZE = 64 * 1024;
/** Bytes that a UTF-16 unit can become. */
const PER_UNIT = 3;

/** Gathers texts as bytes, in few large buffers. */
export class LineBuffers {
  #full: Uint8Array[] = [];
  #room: Buffer = Buffer.alloc(0);
  #used = 0;

  text(text: string): void {
    // Of a short text its length is bound to be enough; a long one would leave much of the room unused.
    this.#reserve(
      text.length * PER_UNIT <= SIZE / 8 ? text.length * PER_UNIT : Buffer.byteLength(text, 'utf8'),
    );
    this.#used += this.#room.write(text, this.#used, 'utf8');
  }

  /** All that was gathered; begins anew. */
  take(): readonly Uint8Array[] {
    this.#finish();
    const full = this.#full;
    this.#full = [];
    return full;
  }

  #reserve(bytes: number): void {
    if (this.#room.length - this.#used >= bytes) return;
    this.#finish();
    this.#room = Buffer.allocUnsafeSlow(Math.max(SIZE, bytes));
    this.#used = 0;
  }

  /** What is left of the room is used on: what was given away is not written to again. */
  #finish(): void {
    if (this.#used > 0) this.#full.push(this.#room.subarray(0, this.#used));
    this.#room = this.#room.subarray(this.#used);
    this.#used = 0;
  }
}
