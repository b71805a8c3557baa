import { invalidAt, notFound } from '../../domain/core/errors.ts';
import type { EventCodec, LoggedEvent } from '../core/events/event-codec.ts';
import { eventsOf } from '../core/events/stream-events.ts';
import { streamName, tenantPrefix } from '../core/events/stream-name.ts';
import { ERASED, type KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import { STATE_VIEWS, shownState } from './state-views.ts';

/** A position, or a time (ms). */
export type At = { readonly position: Position } | { readonly ms: number };

/** The state of a stream at some time (decisions, section 11). */
export interface PastState {
  readonly stream: string;
  /** Revision of the last event folded. */
  readonly revision: number;
  readonly position: Position;
  /** `occurred_at` of the last event folded, RFC 3339. */
  readonly at: string;
  readonly state: unknown;
}

/** Events per read; few, so that requests are served between two reads. */
const PAGE = 100;

/** Reads past states from the log each time, without a cache. */
export class TimeTravel extends WithDeps<{ events: EventStore; codec: EventCodec; keys: KeyRing }> {
  /** By tenant: the last call of {@link through} that runs or waits. */
  readonly #replays = new Map<string, Promise<void>>();

  /**
   * Parses a position from a caller.
   * @throws `validation_failed` at `path`, also for a position after the end of the log
   */
  async positionOf(text: string, path: string): Promise<Position> {
    const position = this.deps.events.parsePosition(text);
    if (position === undefined) {
      throw invalidAt(path, 'invalid_format', 'This is not a position.');
    }
    const end = await this.deps.events.end();
    if (end === undefined || position > end) {
      throw invalidAt(path, 'too_big', 'The position is after the end of the log.');
    }
    return position;
  }

  /**
   * The state of a stream of the tenant.
   * @param at undefined for the present state
   * @throws `not_found` for another tenant's stream, or a stream without events at that time
   */
  async stateAt(tenantId: string, stream: string, at: At | undefined): Promise<PastState> {
    const prefix = tenantPrefix(tenantId);
    const dash = stream.indexOf('-', prefix.length);
    const view = STATE_VIEWS.get(stream.slice(prefix.length, dash));
    if (!stream.startsWith(prefix) || dash < 0 || view === undefined) throw notFound();
    let state: unknown = view.type.initial;
    let last: LoggedEvent | undefined;
    for await (const event of this.#until(stream, at)) {
      state = view.type.evolve(state, event, { at: event.at, revision: event.revision });
      last = event;
    }
    if (last === undefined) throw notFound();
    return {
      stream,
      revision: last.revision,
      position: last.position,
      at: new Date(last.at).toISOString(),
      state: await shownState(state, view, (text) => this.#opened(tenantId, text)),
    };
  }

  /**
   * Calls `visit` with the events of a stream from revision `first` up to a position (inclusive), in order and in
   * bounded memory; yields between pages. Calls of one tenant run one after another.
   */
  async through(
    stream: { readonly tenantId: string; readonly category: string; readonly id: string },
    position: Position,
    visit: (event: LoggedEvent) => void,
    first = 0,
  ): Promise<void> {
    const { tenantId } = stream;
    const name = streamName(tenantId, stream.category, stream.id);
    const before = this.#replays.get(tenantId);
    const mine = (async () => {
      await before?.catch(() => undefined);
      for await (const event of this.#until(name, { position }, first)) visit(event);
    })();
    this.#replays.set(tenantId, mine);
    try {
      await mine;
    } finally {
      if (this.#replays.get(tenantId) === mine) this.#replays.delete(tenantId);
    }
  }

  async *#until(stream: string, at: At | undefined, first = 0): AsyncGenerator<LoggedEvent> {
    for await (const event of eventsOf(this.deps, stream, first, PAGE)) {
      if (isLater(event, at)) return;
      yield event;
    }
  }

  /** Opens only texts of the tenant; otherwise a tampered log could open another tenant's texts. */
  async #opened(tenantId: string, text: string): Promise<string> {
    return text.startsWith(`v1:${tenantId}/`) ? ((await this.deps.keys.open(text)) ?? ERASED) : ERASED;
  }
}

/** Whether an event, and so every event after it, is later than `at`: times in a stream never decrease. */
const isLater = (event: LoggedEvent, at: At | undefined): boolean => {
  if (at === undefined) return false;
  return 'position' in at ? event.position > at.position : event.at > at.ms;
};
