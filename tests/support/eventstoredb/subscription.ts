import type { EventLog, LoggedRecord } from './event-log.ts';

/** Whether the filter of a read or subscription selects an event. */
export type Selects = (record: LoggedRecord) => boolean;

export interface SubscriptionDeps {
  readonly log: EventLog;
  /** Sends an event, a checkpoint or `caught_up`; resolves when the connection accepts more data. */
  readonly send: (message: Outgoing) => Promise<void>;
  /** Ends the subscription like the real server when the consumer is too slow. */
  readonly drop: (phase: 'while live' | 'while transitioning to live') => void;
}

export type Outgoing =
  | { readonly kind: 'event'; readonly record: LoggedRecord }
  | { readonly kind: 'checkpoint'; readonly position: bigint }
  | { readonly kind: 'caught_up' };

export interface SubscriptionOptions {
  /** Exclusive; undefined begins at the start of the log. */
  readonly after: bigint | undefined;
  readonly selects: Selects;
  /** Number of examined events between checkpoints; undefined without a filter. */
  readonly checkpointEvery: number | undefined;
}

/** The real server buffers this many events per live subscription, and drops the subscription when more arrive. */
export const LIVE_BUFFER = 32;

/** A subscription to `$all`: unlimited catch-up, then live events through a small buffer. */
export class Subscription {
  readonly #deps: SubscriptionDeps;
  readonly #options: SubscriptionOptions;
  readonly #live: LoggedRecord[] = [];
  #looked = 0;
  #ended = false;
  #wake: () => void = () => {};
  #unlisten: () => void = () => {};

  constructor(deps: SubscriptionDeps, options: SubscriptionOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { log } = this.#deps;
    const { after } = this.#options;
    let next = after === undefined ? 0 : log.records.findIndex(({ position }) => position > after);
    if (next < 0) next = log.records.length;
    for (; next < log.records.length && !this.#ended; next += 1) await this.#pass(log.records[next]);
    if (this.#ended) return;
    this.#unlisten = log.onAppended((records) => this.#appended(records));
    await this.#deps.send({ kind: 'caught_up' });
    while (!this.#ended) {
      const record = this.#live.shift();
      if (record !== undefined) await this.#pass(record);
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  end(): void {
    this.#ended = true;
    this.#unlisten();
    this.#wake();
  }

  #appended(records: readonly LoggedRecord[]): void {
    for (const record of records) {
      if (this.#live.length >= LIVE_BUFFER) {
        this.end();
        this.#deps.drop('while live');
        return;
      }
      this.#live.push(record);
    }
    this.#wake();
  }

  async #pass(record: LoggedRecord | undefined): Promise<void> {
    if (record === undefined || this.#ended) return;
    const { selects, checkpointEvery } = this.#options;
    this.#looked += 1;
    if (selects(record)) await this.#deps.send({ kind: 'event', record });
    if (checkpointEvery !== undefined && this.#looked % checkpointEvery === 0) {
      await this.#deps.send({ kind: 'checkpoint', position: record.position });
    }
  }
}
