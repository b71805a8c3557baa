import { randomBytes as nodeBytes, randomUUID as nodeUuid, randomFillSync } from 'node:crypto';

/** Source of random values. The simulation replaces it by a source with a seed (decision 58). */
export interface Random {
  /** At least 0 and below 1; not for secrets. */
  number(): number;
  bytes(length: number): Buffer;
  fill(target: Uint8Array): void;
  /** A version 4 UUID, lower case. */
  uuid(): string;
}

const POOLED = 64;
const pool = Buffer.allocUnsafe(12 * 1024);
let poolAt = pool.length;

/** Takes up to `POOLED` bytes from a pool, since a system call for each IV is slow (decision 33). */
const pooled = (length: number): Buffer => {
  if (poolAt + length > pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const bytes = Buffer.from(pool.subarray(poolAt, poolAt + length));
  pool.fill(0, poolAt, poolAt + length);
  poolAt += length;
  return bytes;
};

const nodeRandom: Random = {
  number: () => Math.random(),
  bytes: (length) => (length <= POOLED ? pooled(length) : nodeBytes(length)),
  fill: (target) => {
    randomFillSync(target);
  },
  uuid: () => nodeUuid(),
};

let random = nodeRandom;

/** Replaces the source of random values in this process. Returns a function that restores Node's source. */
export const useRandom = (replacement: Random): (() => void) => {
  random = replacement;
  return () => {
    random = nodeRandom;
  };
};

export const randomNumber = (): number => random.number();
export const randomBytes = (length: number): Buffer => random.bytes(length);
export const randomFill = (target: Uint8Array): void => random.fill(target);
export const randomUUID = (): string => random.uuid();
