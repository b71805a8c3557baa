import { BYTES } from './tags.ts';

const MOST = 32;
/** Indexes of the UUID at the end of the stream's name, and of the event's id. */
export const [OF_STREAM, OF_EVENT] = [0, 1];

/** The first UUIDs, at most {@link MOST}, of the event that is packed or unpacked. */
export class KnownUuids {
  readonly bytes = Buffer.alloc(MOST * BYTES.uuid);
  count = 0;

  placeOf(nth: number): number {
    return nth * BYTES.uuid;
  }

  add(from: Uint8Array, at: number): void {
    if (this.count === MOST) return;
    const to = this.placeOf(this.count++);
    for (let nth = 0; nth < BYTES.uuid; nth += 1) this.bytes[to + nth] = from[at + nth] ?? 0;
  }

  /** Index of the UUID with the bytes at `at`; -1 for none. */
  find(from: Uint8Array, at: number): number {
    for (let nth = 0; nth < this.count; nth += 1) {
      const place = this.placeOf(nth);
      let last = BYTES.uuid - 1;
      while (last >= 0 && from[at + last] === this.bytes[place + last]) last -= 1;
      if (last < 0) return nth;
    }
    return -1;
  }

  /** Whether a UUID has the same first bytes as the event's id. */
  isNear(from: Uint8Array, at: number): boolean {
    const place = this.placeOf(OF_EVENT);
    for (let nth = 0; nth < BYTES.shared; nth += 1) {
      if (from[at + nth] !== this.bytes[place + nth]) return false;
    }
    return true;
  }
}
