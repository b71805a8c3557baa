import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreUnavailable } from '../../application/ports/event-store.ts';

/**
 * Room (bytes) kept free for the read models, so that they can fold every event that was acknowledged. Without this
 * room, the last appends that fit on a disk would make reads wait for read models that cannot be written.
 */
const KEPT_FREE = 16 * 1024 * 1024;

/** @throws {StoreUnavailable} when the file's disk has less room than is kept free */
export function requireFreeSpace(path: string): void {
  const { bavail, bsize } = statfsSync(dirname(path));
  if (bavail * bsize < KEPT_FREE)
    throw new StoreUnavailable(`${path}: less than 16 MiB are free on the disk`);
}
