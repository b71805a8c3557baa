import type { AllStreamResolvedEvent } from '@eventstore/db-client';
import type { SubscriptionSource } from './connection.ts';
import type { ReadSource } from './read-source.ts';

type Open = <E>(source: ReadSource<E>) => AsyncIterable<E>;

/**
 * A read that starts when it is iterated, and may consist of several reads of the client.
 * @param items calls `open` for each read, so that the read can be cancelled
 */
export const deferredRead = <E>(items: (open: Open) => AsyncGenerator<E>): ReadSource<E> => {
  let cancel: (() => Promise<void>) | undefined;
  let isCancelled = false;
  const all = items((source) => {
    // The client emits errors even without a reader; an `error` event without a listener ends the process.
    source.on('error', () => undefined);
    cancel = () => source.cancel();
    if (isCancelled) source.cancel().catch(() => undefined);
    return source;
  });
  return {
    // Ignores listeners, since the iteration throws the errors.
    on: () => undefined,
    cancel: async () => {
      isCancelled = true;
      await cancel?.();
    },
    [Symbol.asyncIterator]: () => all,
  };
};

/** A subscription that starts later; listeners may be added before. */
export class DeferredSubscription implements SubscriptionSource {
  #source: SubscriptionSource | undefined;
  #isClosed = false;
  readonly #listeners: { readonly event: string; readonly listener: (...args: unknown[]) => void }[] = [];

  constructor(begin: () => Promise<SubscriptionSource>) {
    begin().then(
      (source) => this.#begin(source),
      (error: unknown) => this.#fail(error),
    );
  }

  get readableLength(): number {
    return this.#source?.readableLength ?? 0;
  }

  read(): AllStreamResolvedEvent | null {
    return this.#source?.read() ?? null;
  }

  on(event: string, listener: (...args: unknown[]) => void): void {
    if (this.#source === undefined) this.#listeners.push({ event, listener });
    else this.#source.on(event, listener);
  }

  async unsubscribe(): Promise<void> {
    this.#isClosed = true;
    await this.#source?.unsubscribe();
  }

  #begin(source: SubscriptionSource): void {
    this.#source = source;
    // An `error` event without a listener ends the process.
    source.on('error', () => undefined);
    for (const { event, listener } of this.#listeners) source.on(event, listener);
    if (this.#isClosed) source.unsubscribe().catch(() => undefined);
  }

  #fail(error: unknown): void {
    for (const { event, listener } of this.#listeners) if (event === 'error') listener(error);
  }
}
