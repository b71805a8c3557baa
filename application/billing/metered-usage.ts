import { activeUserOf, type CountMeter, metersOf, typesOf } from '../../domain/billing/metering.ts';
import type { Meter, Window } from '../../domain/billing/shapes.ts';
import { isWithin, type Slice } from '../../domain/billing/usage.ts';
import type { EventCodec, LoggedEvent } from '../codec.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import { tenantPrefix } from '../streams.ts';
import {
  dayOf,
  isMidnight,
  type MeteredDay,
  type MeteringModel,
  midnight,
  rangeOf,
} from './metering-model.ts';
import { Tally } from './tally.ts';

/** An event behind a line. */
export interface UsageEvent {
  readonly event_id: string;
  readonly position: Position;
  readonly type: string;
  readonly stream: string;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string };
}

export interface UsagePage {
  readonly events: readonly UsageEvent[];
  /** Where the next page begins (`after`); undefined: this was the last. */
  readonly next: Position | undefined;
}

interface PageRequest {
  readonly limit: number;
  readonly after: Position | undefined;
}

/** What one page of usage may look at: beyond it, it answers what it found and where to go on. */
const MAX_SCANNED = 50_000;
const AT_ONCE = 1000;

/** What a tenant used: whole days from the read model, days that are cut by a window event by event from the log. */
export class MeteredUsage {
  readonly #model: MeteringModel;
  readonly #events: EventStore;
  readonly #codec: EventCodec;

  constructor(deps: { model: MeteringModel; events: EventStore; codec: EventCodec }) {
    this.#model = deps.model;
    this.#events = deps.events;
    this.#codec = deps.codec;
  }

  /** A place in the log that came from outside; undefined when it is none. */
  parsePosition(text: string): Position | undefined {
    return this.#events.parsePosition(text);
  }

  /** @param cuts instants in order: usage from the first to the last is told apart at each, and at each month */
  async slices(tenantId: string, cuts: readonly string[]): Promise<readonly Slice[]> {
    const [from, to] = [cuts[0], cuts.at(-1)];
    if (from === undefined || to === undefined || to <= from) return [];
    const tally = new Tally(cuts);
    const cutDays = new Set(cuts.filter((cut) => !isMidnight(cut)).map(dayOf));
    const range = rangeOf({ from, to });
    const scanned: MeteredDay[] = [];
    for await (const metered of this.#model.days(tenantId, range)) {
      if (cutDays.has(metered.day)) scanned.push(metered);
      else tally.add(midnight(metered.day), metered.counts);
    }
    for await (const { month, user, days } of this.#model.active(tenantId, range)) {
      for (const dayOfMonth of Object.keys(days)) {
        const day = `${month}-${dayOfMonth}`;
        if (!cutDays.has(day)) tally.meet(midnight(day), user);
      }
    }
    for (const metered of scanned) {
      for await (const event of this.#eventsOf(tenantId, metered)) {
        const at = new Date(event.at).toISOString();
        if (dayOf(at) !== metered.day) continue;
        const user = activeUserOf(event);
        for (const meter of metersOf(event)) tally.add(at, { [meter]: 1 });
        if (user !== undefined) tally.meet(at, user);
      }
    }
    return tally.slices();
  }

  /** The events behind a count, in the order of the log; of `active_users` each person's first in the window. */
  async page(tenantId: string, meter: Meter, window: Window, request: PageRequest): Promise<UsagePage> {
    return meter === 'active_users'
      ? this.#firstEvents(tenantId, window, request)
      : this.#countedEvents(tenantId, meter, window, request);
  }

  async #countedEvents(
    tenantId: string,
    meter: CountMeter,
    window: Window,
    { limit, after }: PageRequest,
  ): Promise<UsagePage> {
    const bounds = await this.#boundsOf(tenantId, window);
    if (bounds === undefined) return { events: [], next: undefined };
    const filter = { streamPrefix: tenantPrefix(tenantId), types: typesOf(meter) };
    const found: UsageEvent[] = [];
    let from = later(after, await this.#before(bounds.first));
    for (let scanned = 0; scanned < MAX_SCANNED; ) {
      const page = await this.#events.scanAll({ from, filter, limit: AT_ONCE }, MAX_SCANNED - scanned);
      scanned += page.scanned;
      for (const stored of page.events) {
        if (stored.position > bounds.last) return { events: found, next: undefined };
        const event = this.#codec.decode(stored);
        if (!metersOf(event).includes(meter) || !isWithin(new Date(event.at).toISOString(), window)) continue;
        found.push(viewOf(event));
        if (found.length >= limit) return { events: found, next: stored.position };
      }
      from = page.next;
      if (from === undefined || from >= bounds.last) return { events: found, next: undefined };
    }
    return { events: found, next: from };
  }

  async #firstEvents(tenantId: string, window: Window, { limit, after }: PageRequest): Promise<UsagePage> {
    const firsts = new Map<string, Position>();
    const note = (user: string, position: Position): void => {
      const known = firsts.get(user);
      if (known === undefined || position < known) firsts.set(user, position);
    };
    const range = rangeOf(window);
    const cutDays = new Set([window.from, window.to].filter((end) => !isMidnight(end)).map(dayOf));
    for await (const { month, user, days } of this.#model.active(tenantId, range)) {
      for (const [dayOfMonth, text] of Object.entries(days)) {
        const day = `${month}-${dayOfMonth}`;
        const position = this.#events.parsePosition(text);
        const isWhole = day >= range.first && day <= range.last && !cutDays.has(day);
        if (isWhole && position !== undefined) note(user, position);
      }
    }
    for await (const metered of this.#model.days(tenantId, range)) {
      if (!cutDays.has(metered.day)) continue;
      for await (const event of this.#eventsOf(tenantId, metered)) {
        const user = activeUserOf(event);
        const at = new Date(event.at).toISOString();
        // A day's bucket ends where its events do; others' events between them are of other days.
        if (user !== undefined && dayOf(at) === metered.day && isWithin(at, window))
          note(user, event.position);
      }
    }
    const rest = [...firsts.values()].filter((position) => after === undefined || position > after).sort();
    const events: UsageEvent[] = [];
    for (const position of rest.slice(0, limit)) {
      const [stored] = await this.#events.readAll({ from: await this.#before(position), limit: 1 });
      if (stored !== undefined) events.push(viewOf(this.#codec.decode(stored)));
    }
    return { events, next: rest.length > limit ? rest[limit - 1] : undefined };
  }

  async #boundsOf(
    tenantId: string,
    window: Window,
  ): Promise<{ readonly first: string; readonly last: string } | undefined> {
    let bounds: { first: string; last: string } | undefined;
    for await (const { first, last } of this.#model.days(tenantId, rangeOf(window))) {
      bounds = {
        first: bounds === undefined || first < bounds.first ? first : bounds.first,
        last: bounds === undefined || last > bounds.last ? last : bounds.last,
      };
    }
    return bounds;
  }

  /** What counted on a day, and what else lies between in the log. */
  async *#eventsOf(tenantId: string, { first, last }: MeteredDay): AsyncGenerator<LoggedEvent> {
    const filter = { streamPrefix: tenantPrefix(tenantId) };
    let from = await this.#before(first);
    for (;;) {
      const page = await this.#events.scanAll({ from, filter, limit: AT_ONCE }, MAX_SCANNED);
      for (const stored of page.events) {
        if (stored.position > last) return;
        yield this.#codec.decode(stored);
      }
      from = page.next;
      if (from === undefined || from >= last) return;
    }
  }

  /** Where to read from so that what lies at a position comes first; undefined: from the beginning. */
  async #before(position: string): Promise<Position | undefined> {
    const at = this.#events.parsePosition(position);
    if (at === undefined) return undefined;
    return (await this.#events.readAll({ from: at, direction: 'backward', limit: 1 }))[0]?.position;
  }
}

const later = (a: Position | undefined, b: Position | undefined): Position | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

const viewOf = (event: LoggedEvent): UsageEvent => ({
  event_id: event.id,
  position: event.position,
  type: event.type,
  stream: event.stream,
  at: new Date(event.at).toISOString(),
  actor: { kind: event.actor.kind, id: event.actor.id },
});
