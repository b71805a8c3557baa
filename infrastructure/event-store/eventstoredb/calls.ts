import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import type { ReadSource } from './read-source.ts';

/**
 * A call with our own time limit: against a frozen server the client's own takes 18 s. What comes after the
 * limit is ignored.
 * @throws {StoreUnavailable} when the limit is reached; else whatever the call throws
 */
export async function withTimeout<T>(what: string, timeoutMs: number, call: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreUnavailable(`EventStoreDB: ${what} took longer than ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a stream of the client to its end, or cancels it at the time limit. */
export async function collect<E>(what: string, timeoutMs: number, source: ReadSource<E>): Promise<E[]> {
  // The client emits errors also when nobody iterates (any more); without a listener they end the process.
  source.on('error', () => {});
  const drain = async (): Promise<E[]> => {
    const items: E[] = [];
    for await (const item of source) items.push(item);
    return items;
  };
  let done = false;
  try {
    const items = await withTimeout(what, timeoutMs, drain);
    done = true;
    return items;
  } finally {
    // Not awaited: with a frozen server the cancellation would hang as the read did.
    if (!done) source.cancel().catch(() => {});
  }
}
