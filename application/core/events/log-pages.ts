import type { EventStore, Position, ReadAllOptions, StoredEvent } from '../../ports/event-store.ts';

interface PageOptions extends Pick<ReadAllOptions, 'from' | 'filter'> {
  /** Most events of a page. */
  readonly limit: number;
  /** The last position to read; default: the end of the log. */
  readonly until?: Position | undefined;
}

/** Pages of the log in order, none of them empty. @throws {StoreUnavailable} */
export const logPages = async function* (
  events: Pick<EventStore, 'readAll'>,
  { from, filter, limit, until }: PageOptions,
): AsyncGenerator<readonly StoredEvent[], void, void> {
  for (let after = from; ; ) {
    const page = await events.readAll({ from: after, filter, limit });
    const wanted = until === undefined ? page : page.filter(({ position }) => position <= until);
    after = wanted.at(-1)?.position;
    if (after === undefined) return;
    yield wanted;
    if (wanted.length < limit) return;
  }
};
