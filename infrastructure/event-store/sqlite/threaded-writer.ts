import {
  type StoredEvent,
  StoreUnavailable,
  WrongExpectedRevision,
} from '../../../application/ports/event-store.ts';
import { ThreadCalls } from '../../threads/calls.ts';
import { formatPosition } from '../positions.ts';
import type { Append, Outcome, Written } from './writer.ts';

export interface ThreadAppends {
  readonly appends: readonly Append[];
}

/** As {@link Written}, without the events: this side has them. `fresh`: written now, not found from an earlier try. */
export type ThreadOutcome =
  | { readonly wrong: true; readonly actual: number | undefined }
  | { readonly wrong: false; readonly revision: number; readonly position: string; readonly fresh: boolean };

export type ThreadWritten =
  | { readonly first: number; readonly outcomes: readonly ThreadOutcome[] }
  | { readonly failed: string; readonly transient: boolean };

/** Another connection holds the lock: nothing was written, and the same appends may be tried again. */
export class LogLocked extends Error {
  override readonly name = 'LogLocked';
}

/** Writes transactions in a thread of its own, so that the disk is waited for there. */
export class ThreadedWriter {
  readonly #calls: ThreadCalls<ThreadAppends, ThreadWritten>;

  constructor(path: string, maxPages: number | undefined) {
    const url = new URL('./writer.worker.ts', import.meta.url);
    this.#calls = new ThreadCalls(url, { path, maxPages }, 'event log');
  }

  /** @throws {LogLocked} @throws {StoreUnavailable} */
  async write(appends: readonly Append[]): Promise<Written> {
    const plain = appends.map(({ stream, expected, events }) => ({ stream, expected, events }));
    const written = await this.#calls.call({ appends: plain });
    if ('failed' in written) {
      throw written.transient ? new LogLocked(written.failed) : new StoreUnavailable(written.failed);
    }
    const events: StoredEvent[] = [];
    const outcomes = written.outcomes.map((outcome, index): Outcome => {
      const append = appends[index];
      if (append === undefined) throw new Error('an outcome without its append');
      if (outcome.wrong) return new WrongExpectedRevision(append.stream, append.expected, outcome.actual);
      if (outcome.fresh) collect(append, outcome.revision, written.first, events);
      const last = Number.parseInt(outcome.position, 16);
      return { revision: outcome.revision, position: formatPosition(last) };
    });
    return { outcomes, first: written.first, events };
  }

  close(): Promise<void> {
    return this.#calls.close();
  }
}

/** The events of one append as they were stored: positions go on from those before. */
const collect = (append: Append, last: number, first: number, events: StoredEvent[]): void => {
  const { stream } = append;
  let revision = last - append.events.length;
  for (const { id, type, data, metadata } of append.events) {
    revision += 1;
    const position = formatPosition(first + events.length);
    events.push({ id, type, data, metadata, stream, revision, position });
  }
};
