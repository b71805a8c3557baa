import { randomFillSync } from 'node:crypto';
import type { Clock, Ids } from '../../application/ports/clock.ts';

export const systemClock: Clock = { now: () => Date.now() };

/** UUIDv7 (RFC 9562): ordered by time, which keeps indexes compact. Never goes back within a process. */
export const uuidV7Ids = (
  clock: Clock,
  fill: (target: Uint8Array) => unknown = (target) => randomFillSync(target),
): Ids => {
  const pool = Buffer.allocUnsafe(4096);
  let at = pool.length;
  let last = 0;
  let sequence = 0;
  return {
    next: () => {
      if (at + 8 > pool.length) {
        fill(pool);
        at = 0;
      }
      const now = clock.now();
      if (now > last) {
        last = now;
        sequence = pool.readUInt16BE(at) & 0x3ff;
      } else {
        sequence += 1;
        if (sequence > 0xfff) {
          last += 1;
          sequence = 0;
        }
      }
      const time = last.toString(16).padStart(12, '0');
      const random = pool.toString('hex', at, at + 8);
      at += 8;
      const variant = (8 + (Number.parseInt(random[0] ?? '0', 16) & 3)).toString(16);
      const counter = sequence.toString(16).padStart(3, '0');
      return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
    },
  };
};
