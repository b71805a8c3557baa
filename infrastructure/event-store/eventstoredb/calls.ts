import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import type { ReadSource } from './read-source.ts';

/**
 * Runs a call with the adapter's time limit, since the client itself gives up on a frozen server only after 18 s. A
 * result after the limit is ignored.
 * @throws {StoreUnavailable} at the limit; otherwise errors of the call
 */
export async function withTimeout<T>(what: string, timeoutMs: number, call: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  using _timer = setTimeout(() => {
    late.reject(new StoreUnavailable(`EventStoreDB: ${what} took longer than ${timeoutMs} ms`));
  }, timeoutMs);
  return await Promise.race([call(), late.promise]);
}

/**
 * Reads the items of a source of the client. Cancels the source at the time limit, and after an item for which
 * `isEnough` returns true.
 */
export async function collect<E>(
  what: string,
  timeoutMs: number,
  source: ReadSource<E>,
  isEnough: (item: E) => boolean = () => false,
): Promise<E[]> {
  // The client emits errors even without a reader; an `error` event without a listener ends the process.
  source.on('error', () => {});
  try {
    return await withTimeout(what, timeoutMs, async () => {
      const items: E[] = [];
      for await (const item of source) {
        items.push(item);
        if (!isEnough(item)) continue;
        source.cancel().catch(() => {});
        break;
      }
      return items;
    });
  } catch (error) {
    // Not awaited, since with a frozen server the cancellation would hang like the read.
    source.cancel().catch(() => {});
    throw error;
  }
}
