import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import {
  type EventFilter,
  type LineOptions,
  type LinePage,
  StoreUnavailable,
  type TypeMember,
} from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { select } from '../filters.ts';
import { formatPosition, offsetOf } from '../positions.ts';
import { nextTurn } from '../wakeup.ts';
import { LinePages, type OffsetPage, PAGE_EVENTS } from './line-pages.ts';
import { LineThread } from './line-thread.ts';
import { patiently } from './patience.ts';

/** After so many pages it is worth a thread. */
const FEW_PAGES = 8;
/** One makes lines more slowly than they are written. */
const THREADS = 2;
/** What is made ahead: with a page for each thread, these wait for the slowest step of whoever pulls. */
const BYTES_AHEAD = 4 * 1024 * 1024;
const MOST_AHEAD = 8;

/** The log as lines of an export: of a short one made right here, of a long one in threads (decision 20). */
export class LineLog {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #logger: Logger | undefined;
  #maker: Maker | undefined;
  #closed = false;

  constructor(db: DatabaseSync, path: string, logger: Logger | undefined) {
    this.#db = db;
    this.#path = path;
    this.#logger = logger;
  }

  async *read({ after, until, filter, members }: LineOptions): AsyncGenerator<LinePage, void, void> {
    const maker = this.#makerOf(members);
    const end = offsetOf(until);
    let at = after === undefined ? 0 : offsetOf(after);
    let ahead: Asked[] = [];
    // What pages are put in, one after the other: new memory for each keeps the collector busy.
    const rooms: ArrayBuffer[] = [];
    for (let nth = 1; at < end; nth += 1) {
      const [asked, ...later] = ahead;
      const from = at;
      const page: OffsetPage =
        (await asked?.page) ?? (await this.#here(maker, at, asked?.until ?? end, filter, rooms.pop()));
      at = page.scanned;
      ahead = at === asked?.until ? later : [];
      const isDense = page.events * 2 >= at - from;
      const most = isDense ? mostAhead(page) : 1;
      if (nth >= FEW_PAGES || maker.threads.every(({ isReady }) => isReady))
        askAhead(maker, ahead, rooms, at, end, filter, most);
      const { lines, texts, keyPages, events } = page;
      yield { lines, texts, keyPages, events, position: formatPosition(at) };
      if (lines !== undefined && events > 0) rooms.push(lines.buffer);
      if (ahead.length === 0) await nextTurn();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#maker?.threads.map((thread) => thread.close()) ?? []);
  }

  /** There is one catalogue of types in a process, and so one maker. */
  #makerOf(members: readonly TypeMember[]): Maker {
    if (this.#closed) throw new StoreUnavailable('the event store is closed');
    if (this.#maker !== undefined && isDeepStrictEqual(this.#maker.members, members)) return this.#maker;
    for (const thread of this.#maker?.threads ?? []) void thread.close();
    this.#maker = {
      members,
      pages: new LinePages(this.#db, members),
      threads: Array.from(
        { length: THREADS },
        () => new LineThread({ path: this.#path, members }, this.#logger),
      ),
    };
    return this.#maker;
  }

  /** @throws {StoreUnavailable} */
  #here(
    { pages }: Maker,
    after: number,
    until: number,
    filter: EventFilter,
    room: ArrayBuffer | undefined,
  ): Promise<OffsetPage> {
    return patiently(() => {
      if (this.#closed) throw new StoreUnavailable('the event store is closed');
      return pages.page(after, until, select(filter), room);
    });
  }
}

/** What makes pages with the texts of these members. */
interface Maker {
  readonly members: readonly TypeMember[];
  readonly pages: LinePages;
  readonly threads: readonly LineThread[];
}

/** A page that a thread makes: of what is after the one before, up to `until`. */
interface Asked {
  readonly until: number;
  readonly page: Promise<OffsetPage | undefined>;
}

/** Pages as large as this one. */
const mostAhead = ({ lines, events }: OffsetPage): number =>
  lines === undefined || events === 0
    ? THREADS
    : Math.max(THREADS, Math.min(MOST_AHEAD, Math.floor(BYTES_AHEAD / lines.length)));

/**
 * So that the threads and whoever pulls work at the same time. Where most events are selected, pages are of as many
 * positions as they can have events; elsewhere only the page before tells where the next one begins.
 */
const askAhead = (
  { threads }: Maker,
  ahead: Asked[],
  rooms: ArrayBuffer[],
  at: number,
  end: number,
  filter: EventFilter,
  most: number,
): void => {
  let from = ahead.at(-1)?.until ?? at;
  while (ahead.length < most && from < end) {
    const until = most > 1 ? Math.min(end, from + PAGE_EVENTS) : end;
    // The one that has least to do; asking begins one that does not run.
    const [thread] = threads.toSorted((a, b) => a.waiting - b.waiting);
    const page = thread?.ask(from, until, filter, rooms);
    if (page === undefined) return;
    ahead.push({ until, page });
    from = until;
  }
};
