import type { EventStore } from '../../ports/event-store.ts';
import { nextTick } from '../runtime/timers.ts';
import type { EventCodec, LoggedEvent } from './event-codec.ts';

export interface EventSource {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly codec: EventCodec;
}

/** Yields the events of a stream from revision `first` on, read in pages of `limit`; other work runs between pages. */
export const eventsOf = async function* (
  { events, codec }: EventSource,
  stream: string,
  first: number,
  limit: number,
): AsyncGenerator<LoggedEvent> {
  for (let from = first; ; from += limit) {
    const page = await events.readStream(stream, { from, limit });
    for (const stored of page) yield codec.decodeOnce(stored);
    if (page.length < limit) return;
    await nextTick();
  }
};
