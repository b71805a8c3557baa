import {
  type AppendResult,
  type EventStore,
  StoreUnavailable,
  WrongExpectedRevision,
} from '../../application/ports/event-store.ts';

/** The fault of one append. `unavailable after` appends the events and loses the answer. */
export type Fault = 'none' | 'lost race' | 'unavailable before' | 'unavailable after';

/** An event store whose appends fail by the list of faults, in order, and then succeed. */
export const faultyEvents = (events: EventStore, faults: readonly Fault[]): EventStore => {
  let next = 0;
  return {
    ...events,
    append: async (stream, expected, news): Promise<AppendResult> => {
      const fault = faults[next++] ?? 'none';
      if (fault === 'lost race') throw new WrongExpectedRevision(stream, expected, undefined);
      if (fault === 'unavailable before') throw new StoreUnavailable('no connection');
      const result = await events.append(stream, expected, news);
      if (fault === 'unavailable after') throw new StoreUnavailable('the answer was lost');
      return result;
    },
  };
};

/** Counts appends, appended events, and events read from streams. */
export const countingEvents = (events: EventStore) => {
  const counts = { appends: 0, events: 0, reads: 0 };
  const counting: EventStore = {
    ...events,
    append: (stream, expected, news) => {
      counts.appends += 1;
      counts.events += news.length;
      return events.append(stream, expected, news);
    },
    readStream: async (...args) => {
      const page = await events.readStream(...args);
      counts.reads += page.length;
      return page;
    },
  };
  return { counting, counts };
};
