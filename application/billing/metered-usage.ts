import { isDeepStrictEqual } from 'node:util';
import { dayOf, type MeteredDay } from '../../domain/billing/metered-day.ts';
import { activeUserOf, type CountMeter, metersOf, typesOf } from '../../domain/billing/metering.ts';
import type { Meter, Window } from '../../domain/billing/shapes.ts';
import { type Customer, isDuring } from '../../domain/billing/tenure.ts';
import { isWithin, type UsagePeriod } from '../../domain/billing/usage.ts';
import type { EventCodec, LoggedEvent } from '../core/events/event-codec.ts';
import { tenantPrefix } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type EventStore, latest, type Position } from '../ports/event-store.ts';
import { isMidnight, type MeteringModel, midnight, partsDuring, rangeOf } from './metering-model.ts';
import { UsageByPeriod } from './usage-by-period.ts';

/** An event that a line of a statement counts. */
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
  /** The `after` of the next page; undefined on the last page. */
  readonly next: Position | undefined;
}

interface PageRequest {
  readonly limit: number;
  readonly after: Position | undefined;
}

/** Limit of events scanned for one page; a page at the limit ends early, and `next` tells where to continue. */
const MAX_SCANNED = 50_000;
const AT_ONCE = 1000;

/** Receives usage: counts at an instant, and users with the position of the event that made them active. */
interface Sink {
  readonly add: (at: string, counts: Readonly<Partial<Record<Meter, number>>>) => void;
  readonly addUser: (at: string, user: string, position: string) => void;
}

/**
 * Usage of a tenant in the tenures of one partner: days that count as a whole from the read model, other days event by
 * event from the log.
 */
export class MeteredUsage extends WithDeps<{ model: MeteringModel; events: EventStore; codec: EventCodec }> {
  /**
   * @param cuts ordered instants; usage between the first and the last is split at each cut and each start of a month
   */
  async periods(customer: Customer, cuts: readonly string[]): Promise<readonly UsagePeriod[]> {
    const [from, to] = [cuts[0], cuts.at(-1)];
    if (from === undefined || to === undefined || to <= from) return [];
    return this.#whileUnchanged(customer, async (present) => {
      const usage = new UsageByPeriod(cuts);
      await this.#collect(present, { from, to }, cuts, usage);
      return usage.periods();
    });
  }

  /** The events that a meter counts, in log order; for `active_users`, each person's first event in the window. */
  async page(customer: Customer, meter: Meter, window: Window, request: PageRequest): Promise<UsagePage> {
    return this.#whileUnchanged(customer, (present) =>
      meter === 'active_users'
        ? this.#firstEvents(present, window, request)
        : this.#countedEvents(present, meter, window, request),
    );
  }

  /** Repeats `work` if the customer was handed over while it ran: the result may include the next partner's usage. */
  async #whileUnchanged<T>(customer: Customer, work: (present: Customer) => Promise<T>): Promise<T> {
    for (let present = customer; ; ) {
      const result = await work(present);
      const tenures = await this.deps.model.tenures(customer.partnerId, customer.id);
      if (isDeepStrictEqual(tenures, present.tenures)) return result;
      present = { ...customer, tenures };
    }
  }

  /** Passes usage in the partner's tenures to `sink`, for whole days: `sink` must ignore times outside the range. */
  async #collect(customer: Customer, range: Window, cuts: readonly string[], sink: Sink): Promise<void> {
    const { id, tenures } = customer;
    const cutDays = new Set(cuts.filter((cut) => !isMidnight(cut)).map(dayOf));
    const scanned: MeteredDay[] = [];
    /** By day: the position at which the day's first part ends in the log; undefined for a day with one part. */
    const firstParts = new Map<string, string | undefined>();
    for await (const metered of this.deps.model.days(id, rangeOf(range))) {
      const own = partsDuring(tenures, metered);
      if (own === undefined || (own.length > 0 && cutDays.has(metered.day))) {
        scanned.push(metered);
        continue;
      }
      for (const { from, counts, users } of own) {
        sink.add(midnight(metered.day), counts);
        for (const [user, position] of Object.entries(users))
          sink.addUser(midnight(metered.day), user, position);
        if (from === null) firstParts.set(metered.day, metered.parts[1]?.from?.position);
      }
    }
    for await (const { month, user, days } of this.deps.model.active(id, rangeOf(range))) {
      for (const [dayOfMonth, position] of Object.entries(days)) {
        const day = `${month}-${dayOfMonth}`;
        const end = firstParts.get(day);
        if (firstParts.has(day) && (end === undefined || position < end)) {
          sink.addUser(midnight(day), user, position);
        }
      }
    }
    for (const metered of scanned) {
      for await (const event of this.#eventsOf(id, metered)) {
        const { position } = event;
        const at = new Date(event.at).toISOString();
        if (dayOf(at) !== metered.day || !isDuring(tenures, { at, position })) continue;
        const user = activeUserOf(event);
        for (const meter of metersOf(event)) sink.add(at, { [meter]: 1 });
        if (user !== undefined) sink.addUser(at, user, position);
      }
    }
  }

  async #countedEvents(
    customer: Customer,
    meter: CountMeter,
    window: Window,
    { limit, after }: PageRequest,
  ): Promise<UsagePage> {
    const bounds = await this.#boundsOf(customer, window);
    if (bounds === undefined) return { events: [], next: undefined };
    const filter = { streamPrefix: tenantPrefix(customer.id), types: typesOf(meter) };
    const found: UsageEvent[] = [];
    let from = latest(after, await this.#before(bounds.first));
    for (let scanned = 0; scanned < MAX_SCANNED; ) {
      const page = await this.deps.events.scanAll({ from, filter, limit: AT_ONCE }, MAX_SCANNED - scanned);
      scanned += page.scanned;
      for (const stored of page.events) {
        if (stored.position > bounds.last) return { events: found, next: undefined };
        const event = this.deps.codec.decode(stored);
        const at = new Date(event.at).toISOString();
        if (!metersOf(event).includes(meter) || !isWithin(at, window)) continue;
        if (!isDuring(customer.tenures, { at, position: event.position })) continue;
        found.push(viewOf(event));
        if (found.length >= limit) return { events: found, next: stored.position };
      }
      from = page.next;
      if (from === undefined || from >= bounds.last) return { events: found, next: undefined };
    }
    return { events: found, next: from };
  }

  async #firstEvents(customer: Customer, window: Window, { limit, after }: PageRequest): Promise<UsagePage> {
    const firsts = new Map<string, string>();
    await this.#collect(customer, window, [window.from, window.to], {
      add: () => undefined,
      addUser: (at, user, position) => {
        const known = firsts.get(user);
        if (isWithin(at, window) && (known === undefined || position < known)) firsts.set(user, position);
      },
    });
    const rest = [...firsts.values()]
      .flatMap((text) => this.deps.events.parsePosition(text) ?? [])
      .filter((position) => after === undefined || position > after)
      .sort();
    const events: UsageEvent[] = [];
    for (const position of rest.slice(0, limit)) {
      const [stored] = await this.deps.events.readAll({ from: await this.#before(position), limit: 1 });
      if (stored !== undefined) events.push(viewOf(this.deps.codec.decode(stored)));
    }
    return { events, next: rest.length > limit ? rest[limit - 1] : undefined };
  }

  async #boundsOf(
    { id, tenures }: Customer,
    window: Window,
  ): Promise<{ readonly first: string; readonly last: string } | undefined> {
    const positions: string[] = [];
    for await (const metered of this.deps.model.days(id, rangeOf(window))) {
      if (partsDuring(tenures, metered)?.length !== 0) positions.push(metered.first, metered.last);
    }
    const [first] = positions.sort();
    const last = positions.at(-1);
    return first === undefined || last === undefined ? undefined : { first, last };
  }

  /** The events of a day, and other events between them in the log. */
  async *#eventsOf(tenantId: string, { first, last }: MeteredDay): AsyncGenerator<LoggedEvent> {
    const filter = { streamPrefix: tenantPrefix(tenantId) };
    let from = await this.#before(first);
    for (;;) {
      const page = await this.deps.events.scanAll({ from, filter, limit: AT_ONCE }, MAX_SCANNED);
      for (const stored of page.events) {
        if (stored.position > last) return;
        yield this.deps.codec.decode(stored);
      }
      from = page.next;
      if (from === undefined || from >= last) return;
    }
  }

  /** The `from` that makes a read start at this position; undefined for the start of the log. */
  async #before(position: string): Promise<Position | undefined> {
    const at = this.deps.events.parsePosition(position);
    if (at === undefined) return undefined;
    return (await this.deps.events.readAll({ from: at, direction: 'backward', limit: 1 }))[0]?.position;
  }
}

const viewOf = (event: LoggedEvent): UsageEvent => ({
  event_id: event.id,
  position: event.position,
  type: event.type,
  stream: event.stream,
  at: new Date(event.at).toISOString(),
  actor: { kind: event.actor.kind, id: event.actor.id },
});
