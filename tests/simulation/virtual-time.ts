import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as realTick } from 'node:timers/promises';
import type { Timer, Timers } from '../../application/core/runtime/timers.ts';
import { type Timed, TimeHeap } from './time-heap.ts';

/** A part of the world. When it dies, its timers are dropped; when it stalls, they are delayed. */
export interface Owner {
  isAlive: boolean;
  /** Runs nothing before this time. */
  stalledUntil: number;
  /** After `left - 1` more events of the owner, `end` is called in place of the next event. */
  ending?: { left: number; readonly end: () => void } | undefined;
}

type Run = <T>(run: () => T) => T;

interface Entry extends Timed {
  readonly run: () => void;
  readonly owner: Owner | undefined;
  isCancelled: boolean;
  /** Runs also when its owner is dead or stalls: it may be a tick of a queue that all nodes of this process share. */
  readonly outlives: boolean;
}

/** Virtual length (ms) of a tick of the event loop. */
const TICK_MS = 0.05;

/** Most events that {@link VirtualTime.drain} looks at. */
const MOST_TICKS = 100_000;

/** Most events in one tick of the event loop; Node runs microtasks and `process.nextTick` callbacks between them. */
const EVENTS_PER_TICK = 128;

/**
 * Time that moves only from one event to the next. Runs one callback, lets the microtasks and ticks that follow from it
 * settle, and then runs the next callback, so that a run is a function of its seed.
 */
export class VirtualTime {
  readonly #heap = new TimeHeap<Entry>();
  readonly #owners = new AsyncLocalStorage<Owner | undefined>();
  readonly #contexts = new WeakMap<Owner, Run>();
  readonly #outside: Run = this.#owners.run(undefined, () => AsyncLocalStorage.snapshot());
  readonly #busy = new Set<Promise<unknown>>();
  #now = 0;
  #seq = 0;
  steps = 0;
  /** More steps mean that a loop never waits. */
  mostSteps = Number.POSITIVE_INFINITY;

  /** Milliseconds since the start of the run. */
  get now(): number {
    return this.#now;
  }

  /** Runs code as part of `owner`: the timers that the code sets die and stall with the owner. */
  as<T>(owner: Owner | undefined, run: () => T): T {
    return this.#contextOf(owner)(run);
  }

  /** One context for each owner, since making a context copies all that the process keeps in contexts. */
  #contextOf(owner: Owner | undefined): Run {
    if (owner === undefined) return this.#outside;
    const known = this.#contexts.get(owner);
    if (known !== undefined) return known;
    const made = this.#owners.run(owner, () => AsyncLocalStorage.snapshot());
    this.#contexts.set(owner, made);
    return made;
  }

  get owner(): Owner | undefined {
    return this.#owners.getStore();
  }

  /** @returns a function that cancels the event */
  after(ms: number, run: () => void, owner: Owner | undefined = this.owner): () => void {
    const entry = this.#plan(ms, run, owner, false);
    return () => {
      entry.isCancelled = true;
    };
  }

  #plan(ms: number, run: () => void, owner: Owner | undefined, outlives: boolean): Entry {
    const entry: Entry = {
      at: this.#now + Math.max(0, ms),
      seq: this.#nextSeq(),
      run,
      owner,
      isCancelled: false,
      outlives,
    };
    this.#heap.push(entry);
    return entry;
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#plan(ms, resolve, this.owner, false));
  }

  /** Runs work of a real store; virtual time stands still until it has ended. */
  async atOnce<T>(work: () => Promise<T>): Promise<T> {
    const running = work();
    this.#busy.add(running);
    try {
      return await running;
    } finally {
      this.#busy.delete(running);
    }
  }

  /** Runs events until the promise settles. @throws when it has not settled by `limitMs` or nothing is left to run */
  async until<T>(promise: Promise<T>, limitMs = Number.POSITIVE_INFINITY): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    await this.#settled();
    while (!isSettled) {
      await this.#tick(() => isSettled, limitMs);
      if (this.#busy.size > 0) await this.#settled();
    }
    return promise;
  }

  /** Runs at most {@link EVENTS_PER_TICK} events; stops when `isOver` returns true or a real store works. */
  #tick(isOver: () => boolean, limitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let hasFailed = false;
      const runOne = (): void => {
        if (hasFailed || isOver() || this.#busy.size > 0) return;
        try {
          this.#step(limitMs);
        } catch (error) {
          hasFailed = true;
          reject(error);
        }
      };
      for (let left = EVENTS_PER_TICK; left > 0; left -= 1) setImmediate(runOne);
      setImmediate(resolve);
    });
  }

  #nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /**
   * Runs the next event and the following events of the same owner at the same time, like timers that expire together.
   * @throws when no event is left by `limitMs`, or after {@link mostSteps}
   */
  #step(limitMs: number): void {
    if (this.steps > this.mostSteps) throw new Error(`more than ${this.mostSteps} steps`);
    const first = this.#next();
    if (first === undefined || first.at > limitMs)
      throw new Error(`nothing settled it by ${Math.round(this.#now)} ms`);
    this.#now = Math.max(this.#now, first.at);
    this.as(first.owner, () => this.#runAll(first));
  }

  #runAll(first: Entry): void {
    const { at, owner } = first;
    this.#run(first);
    for (;;) {
      const next = this.#heap.first;
      if (next === undefined || next.at !== at || next.owner !== owner) return;
      this.#heap.pop();
      const isDead = owner?.isAlive === false && !next.outlives;
      if (!next.isCancelled && !isDead) this.#run(next);
    }
  }

  /** The next event that may run: drops events of dead owners, and delays events of owners that stall. */
  #next(): Entry | undefined {
    for (;;) {
      const entry = this.#heap.pop();
      if (entry === undefined) return undefined;
      const { owner } = entry;
      if (entry.isCancelled || (owner?.isAlive === false && !entry.outlives)) continue;
      if (owner === undefined || entry.outlives || owner.stalledUntil <= entry.at) return entry;
      entry.at = owner.stalledUntil;
      entry.seq = this.#nextSeq();
      this.#heap.push(entry);
    }
  }

  /** Runs an event, unless its part of the world dies instead. */
  #run({ owner, outlives, run }: Entry): void {
    this.steps += 1;
    const isEnd = owner?.ending !== undefined && this.#ends(owner, owner.ending);
    // A tick of a queue that other nodes share runs also when its owner has just died.
    if (!isEnd || outlives) run();
  }

  #ends(owner: Owner, ending: NonNullable<Owner['ending']>): boolean {
    ending.left -= 1;
    if (ending.left > 0) return false;
    owner.ending = undefined;
    ending.end();
    return true;
  }

  /** Runs the ticks that outlive their owners, which empties the queues of the process, and drops all other events. */
  async drain(): Promise<void> {
    // Stopped work must not continue in the next run.
    await this.#settled();
    for (let left = MOST_TICKS; left > 0; left -= 1) {
      const entry = this.#heap.pop();
      if (entry === undefined) return;
      if (entry.isCancelled || !entry.outlives) continue;
      this.#now = Math.max(this.#now, entry.at);
      this.as(entry.owner, entry.run);
      await this.#settled();
    }
  }

  /** Lets microtasks, ticks of libraries and stores end. */
  async #settled(): Promise<void> {
    await realTick();
    while (this.#busy.size > 0) {
      await Promise.allSettled(this.#busy);
      await realTick();
    }
  }

  /** The product's timers on this time. */
  timers(): Timers {
    const plan = (ms: number, run: () => void, owner: Owner | undefined): Entry =>
      this.#plan(ms, run, owner, false);
    const start = (run: () => void, ms: number, isRepeated: boolean): Timer =>
      new VirtualTimer(plan, run, ms, isRepeated, this.owner);
    const cancel = (timer: Timer | undefined): void => {
      if (timer instanceof VirtualTimer) timer.cancel();
    };
    return {
      monotonic: () => this.#now,
      setTimeout: (run, ms) => start(run, ms, false),
      clearTimeout: cancel,
      setInterval: (run, ms) => start(run, ms, true),
      clearInterval: cancel,
      // A tick takes time, since some loops of ticks wait for time to pass.
      setImmediate: (run) => void this.#plan(TICK_MS, run, this.owner, true),
    };
  }
}

class VirtualTimer implements Timer {
  readonly #plan: (ms: number, run: () => void, owner: Owner | undefined) => Entry;
  readonly #run: () => void;
  readonly #ms: number;
  readonly #owner: Owner | undefined;
  #entry: Entry;

  constructor(
    plan: (ms: number, run: () => void, owner: Owner | undefined) => Entry,
    run: () => void,
    ms: number,
    isRepeated: boolean,
    owner: Owner | undefined,
  ) {
    const repeat = (): void => {
      this.#entry = plan(ms, repeat, owner);
      run();
    };
    this.#plan = plan;
    this.#run = isRepeated ? repeat : run;
    this.#ms = ms;
    this.#owner = owner;
    this.#entry = plan(ms, this.#run, owner);
  }

  cancel(): void {
    this.#entry.isCancelled = true;
  }

  unref(): this {
    return this;
  }

  refresh(): this {
    this.cancel();
    this.#entry = this.#plan(this.#ms, this.#run, this.#owner);
    return this;
  }
}
