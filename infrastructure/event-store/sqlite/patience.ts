import { setTimeout as sleep } from 'node:timers/promises';
import { isTransient, unavailable } from './errors.ts';

const PATIENCE_MS = 5000;
const RETRY_MS = 5;

/**
 * Runs a read, and retries it while another process recovers the WAL. Readers do not wait for writers.
 * @throws {StoreUnavailable} after 5 s, or at once for any other error of the database
 */
export async function patiently<T>(step: () => T): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return step();
    } catch (error) {
      if (!isTransient(error) || performance.now() > deadline) {
        throw unavailable('event log could not be read', error);
      }
    }
    await sleep(RETRY_MS);
  }
}
