import type { StoredEvent } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import { MEMORY } from '../../ports/memory.ts';
import type { SubscriberProgress } from '../../ports/read-store.ts';
import { type BackgroundScheduler, QUANTUM_MS, type Quantum } from '../concurrency/background-scheduler.ts';
import { backoffMs, LEASED_WORK } from '../concurrency/retry-policy.ts';
import { occurredAt } from '../events/metadata-texts.ts';
import { ownerOf } from '../events/stream-name.ts';
import { monotonic, pause, timer } from '../runtime/timers.ts';
import { filter, firstValueFrom, Subject, takeUntil } from '../rxjs.ts';
import type { EventBatch } from './log-follower.ts';
import type { Place } from './page-buffer.ts';

/** Longest wait (ms) for queues that are more than half full before the next batch is queued. */
const MAX_SETTLE_MS = 2 * QUANTUM_MS;
/** Number of events handled together: at the start, and at most. */
const FIRST_PART = 16;
const LARGEST_PART = 128;

/** Memory budget that the queues of all subscribers of a process share. */
export interface QueueRoom {
  /** Characters of all queued events. */
  chars: number;
  readonly maxChars: number;
  /** One tenant's queue in one subscriber may hold this much, or half of the free budget if that is more. */
  readonly ofTenant: { readonly events: number; readonly chars: number };
}

/** Multiple of `ofTenant` that one tenant may queue now; greater while more of the budget is free. */
const sharesOf = ({ chars, maxChars, ofTenant }: QueueRoom): number =>
  Math.max(1, (maxChars - chars) / 2 / ofTenant.chars);

export const queueRoom = (): QueueRoom => ({ chars: 0, ...MEMORY.queues });

interface Queue {
  events: StoredEvent[];
  chars: number;
  /** All events of the tenant up to here are handled. */
  done: Place;
  /** Set while the tenant is behind: the place from which its events are read again after the queued ones. */
  behindFrom: Place | undefined;
  /** Number of events handled together next; adapted so that their handling fits into a quantum. */
  part: number;
}

interface Deps {
  readonly name: string;
  readonly scheduler: BackgroundScheduler;
  readonly room: QueueRoom;
  readonly logger: Logger;
  /** Reads a tenant's next events after a place. */
  readonly read: (tenantId: string, after: Place) => Promise<Omit<EventBatch, 'caughtUp'>>;
  /** Handles events in order; calls `done` with the number of events just handled. */
  readonly handle: (
    part: readonly StoredEvent[],
    quantum: Quantum,
    done: (events: number) => void,
  ) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * The events of one subscriber, queued per tenant and handled in the tenants' quanta (decision 37). A tenant with more
 * events than its queue may hold is behind: its further events are dropped, and read from the log again later.
 */
export class TenantQueues {
  readonly #deps: Deps;
  readonly #queues = new Map<string, Queue>();
  readonly #running = new Set<Promise<void>>();
  /** Emits after events were handled. */
  readonly handled = new Subject<void>();
  /** The log was read up to this place: earlier events are handled, queued, or of tenants that are behind. */
  #front: Place;
  /** Time (ms) of the last event read, while the log has more events; undefined at the end of the log. */
  #frontAt: number | undefined;

  constructor(progress: SubscriberProgress | undefined, deps: Deps) {
    this.#deps = deps;
    this.#front = progress?.position ?? '';
    for (const [tenantId, place] of progress?.behind ?? []) this.#start(tenantId, place).behindFrom = place;
  }

  /** Queues the events of the next batch of the log. */
  take({ events, position, caughtUp }: EventBatch): void {
    for (const event of events) {
      const tenantId = ownerOf(event.stream);
      const queue = this.#queues.get(tenantId) ?? this.#start(tenantId, this.#front);
      if (queue.behindFrom !== undefined) continue;
      if (this.#isFull(queue)) queue.behindFrom = queue.events.at(-1)?.position ?? queue.done;
      else this.#push(queue, event);
    }
    this.#front = position;
    const last = events.at(-1);
    if (caughtUp) this.#frontAt = undefined;
    else if (last !== undefined) this.#frontAt = occurredAt(last);
  }

  /**
   * Time (ms) of the oldest queued event; while the log has more events, at most the time of the last event read.
   * Undefined when no event waits.
   */
  get waitingSince(): number | undefined {
    let oldest = this.#frontAt;
    for (const { events } of this.#queues.values()) {
      const at = events[0] === undefined ? undefined : occurredAt(events[0]);
      if (at !== undefined && (oldest === undefined || at < oldest)) oldest = at;
    }
    return oldest;
  }

  /** Time (ms) of a tenant's oldest queued event; undefined when its queue is empty. */
  waitingSinceOf(tenantId: string): number | undefined {
    const first = this.#queues.get(tenantId)?.events[0];
    return first === undefined ? undefined : occurredAt(first);
  }

  /** Tenants with more events than their queues hold. */
  get tenantsBehind(): number {
    let count = 0;
    for (const { behindFrom } of this.#queues.values()) if (behindFrom !== undefined) count += 1;
    return count;
  }

  /** Undefined before the first batch of a new subscriber. */
  get progress(): SubscriberProgress | undefined {
    if (this.#front === '') return undefined;
    return { position: this.#front, behind: new Map([...this.#queues].map(([id, { done }]) => [id, done])) };
  }

  /**
   * Waits up to `MAX_SETTLE_MS` while a queue is more than half full: events that a full queue drops are read again.
   */
  async settled(): Promise<void> {
    const { ofTenant } = this.#deps.room;
    const isFilling = ({ events, chars, behindFrom }: Queue): boolean =>
      behindFrom === undefined && (events.length > ofTenant.events / 2 || chars > ofTenant.chars / 2);
    const isRoomy = (): boolean => ![...this.#queues.values()].some(isFilling);
    if (isRoomy()) return;
    const wait = this.handled.pipe(filter(isRoomy), takeUntil(timer(MAX_SETTLE_MS)));
    await firstValueFrom(wait, { defaultValue: undefined });
  }

  /** Whether any tenant has events to handle. */
  get isBusy(): boolean {
    return this.#queues.size > 0;
  }

  /** Resolves when no tenant's work runs, after the signal has aborted. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
    for (const queue of this.#queues.values()) this.#deps.room.chars -= queue.chars;
  }

  #start(tenantId: string, done: Place): Queue {
    const queue: Queue = { events: [], chars: 0, done, behindFrom: undefined, part: FIRST_PART };
    this.#queues.set(tenantId, queue);
    const running = this.#run(tenantId, queue).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return queue;
  }

  /** Never rejects. After a failure only this tenant pauses. */
  async #run(tenantId: string, queue: Queue): Promise<void> {
    const { name, scheduler, logger, signal } = this.#deps;
    let failures = 0;
    // Lets `take` queue the rest of its batch first.
    await Promise.resolve();
    while (!signal.aborted && hasWork(queue)) {
      const quantum = await scheduler.take(tenantId, name);
      try {
        while (!signal.aborted && hasWork(queue) && !quantum.isOver) {
          await this.#step(tenantId, queue, quantum);
          failures = 0;
        }
      } catch (error) {
        failures += 1;
        if (!signal.aborted)
          logger.warn(
            { err: error, subscriber: name, tenant_id: tenantId, failures },
            'events could not be handled; retrying',
          );
      } finally {
        quantum.end();
      }
      if (failures > 0) await pause(backoffMs(LEASED_WORK, failures), signal);
    }
    if (!signal.aborted) this.#queues.delete(tenantId);
  }

  async #step(tenantId: string, queue: Queue, quantum: Quantum): Promise<void> {
    const { behindFrom } = queue;
    if (queue.events.length === 0 && behindFrom !== undefined)
      await this.#readRest(tenantId, queue, behindFrom);
    const part = queue.events.slice(0, queue.part);
    if (part.length === 0) return;
    await quantum.begin();
    const began = monotonic();
    await this.#deps.handle(part, quantum, (events) => this.#shift(queue, events));
    const ms = monotonic() - began;
    if (ms > QUANTUM_MS) queue.part = Math.max(1, queue.part >> 1);
    else if (ms < QUANTUM_MS / 2) queue.part = Math.min(LARGEST_PART, queue.part * 2);
  }

  async #readRest(tenantId: string, queue: Queue, after: Place): Promise<void> {
    const { events, position } = await this.#deps.read(tenantId, after);
    // Skips events after the front, since `take` queues them from now on.
    const hasReachedFront = position >= this.#front;
    for (const event of events)
      if (!hasReachedFront || event.position <= this.#front) this.#push(queue, event);
    queue.behindFrom = hasReachedFront ? undefined : position;
    if (queue.events.length === 0) queue.done = hasReachedFront ? this.#front : position;
  }

  #isFull({ events, chars }: Queue): boolean {
    if (events.length === 0) return false;
    const { room } = this.#deps;
    const { ofTenant } = room;
    const shares = sharesOf(room);
    return (
      events.length >= shares * ofTenant.events ||
      chars >= shares * ofTenant.chars ||
      room.chars >= room.maxChars
    );
  }

  #push(queue: Queue, event: StoredEvent): void {
    const chars = event.data.length + event.metadata.length;
    queue.events.push(event);
    queue.chars += chars;
    this.#deps.room.chars += chars;
  }

  #shift(queue: Queue, events: number): void {
    for (const { data, metadata, position } of queue.events.splice(0, events)) {
      const chars = data.length + metadata.length;
      queue.chars -= chars;
      this.#deps.room.chars -= chars;
      queue.done = position;
    }
    this.handled.next();
  }
}

const hasWork = ({ events, behindFrom }: Queue): boolean => events.length > 0 || behindFrom !== undefined;
