import { DomainError } from '../domain/errors.ts';
import { AppendGate } from './append-gate.ts';
import type { Command, Outcome, Waiting } from './command.ts';
import { Deciding, type DecidingDeps } from './deciding.ts';
import { Gathering } from './gathering.ts';
import type { Clock } from './ports/clock.ts';
import { WrongExpectedRevision } from './ports/event-store.ts';
import { TransientMap } from './ports/transient.ts';
import type { StreamStates } from './stream-states.ts';
import { streamName } from './streams.ts';

export type { Again, Command, Outcome } from './command.ts';

/** Commands that lose races are decided again for this long. */
const PATIENCE_MS = 5000;
/** Streams of which commands are decided in one turn of the event loop: a few milliseconds of work. */
const SLICE = 32;

/**
 * Runs commands: load, decide, append (design, Consistency boundaries). Commands on one stream queue in this process
 * and are decided and appended as one batch; a race lost to another process is decided again on what it wrote.
 */
export class CommandHandler {
  readonly #states: StreamStates;
  readonly #deciding: Deciding;
  readonly #gate: AppendGate;
  readonly #clock: Clock;
  readonly #queues = new TransientMap<string, Waiting[]>();
  /** Streams whose commands wait to be decided together with those of others. */
  #ready: string[] = [];
  #arrived = 0;
  readonly #gathering = new Gathering(
    () => this.#arrived,
    () => this.#runReady(),
  );

  constructor(deps: DecidingDeps) {
    this.#states = deps.states;
    this.#clock = deps.clock;
    this.#gate = new AppendGate(deps.events, deps.keys, (appends, ms) =>
      this.#gathering.committed(appends, ms),
    );
    this.#deciding = new Deciding(deps, this.#gate);
  }

  /**
   * @throws {DomainError} as decided; `unavailable` when races were lost for 5 s
   * @throws {StoreUnavailable} when the outcome is not known
   */
  execute<S, E extends { type: string; data: unknown }, Facts = undefined>(
    command: Command<S, E, Facts>,
  ): Promise<Outcome<S, E>> {
    const stream = streamName(command.tenantId, command.decider.category, command.id);
    return new Promise<Outcome<S, E>>((resolve, reject) => {
      // The queue holds commands of one stream, and a stream has one decider: the types pair up again here.
      const waiting = {
        command,
        resolve,
        reject,
        deadline: this.#clock.now() + PATIENCE_MS,
      } as unknown as Waiting;
      this.#arrived += 1;
      const queue = this.#queues.get(stream);
      if (queue === undefined) {
        this.#queues.set(stream, [waiting]);
        this.#schedule(stream);
      } else queue.push(waiting);
    });
  }

  /** Commands are decided when nobody else is about to come: what is decided together goes to disk together. */
  #schedule(stream: string): void {
    this.#ready.push(stream);
    if (this.#ready.length === 1) this.#gathering.start();
  }

  #runReady(): void {
    const streams = this.#ready;
    this.#ready = [];
    this.#arrived = 0;
    if (streams.length <= SLICE) for (const stream of streams) void this.#run(stream);
    else void this.#runInTurns(streams);
  }

  /** Others have their turn in between; what is decided goes to disk together all the same. */
  async #runInTurns(streams: readonly string[]): Promise<void> {
    const release = this.#gate.hold();
    try {
      for (let at = 0; at < streams.length; at += SLICE) {
        for (const stream of streams.slice(at, at + SLICE)) void this.#run(stream);
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      release();
    }
  }

  async #run(stream: string): Promise<void> {
    const batch = this.#queues.get(stream) ?? [];
    this.#queues.set(stream, []);
    await this.#runBatch(stream, batch);
    const came = this.#queues.get(stream)?.length ?? 0;
    if (came === 0) {
      this.#queues.delete(stream);
      return;
    }
    this.#arrived += came;
    this.#schedule(stream);
  }

  async #runBatch(stream: string, batch: readonly Waiting[]): Promise<void> {
    let rest = batch;
    let fresh = this.#states.cached(stream) === undefined;
    while (rest.length > 0) {
      const [first] = rest;
      if (first === undefined) return;
      try {
        const loaded =
          (fresh ? undefined : this.#states.cached(stream)) ??
          (await this.#states.refresh(stream, first.command.decider));
        const done = await this.#deciding.append(stream, rest, loaded, fresh);
        rest = rest.slice(done);
        // A decision to write nothing is confirmed against the store before it is answered.
        fresh = done === 0;
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision)) {
          this.#states.drop(stream);
          for (const waiting of rest) waiting.reject(error);
          return;
        }
        fresh = true;
        rest = this.#giveUpOnLate(rest);
      }
    }
  }

  #giveUpOnLate(rest: readonly Waiting[]): readonly Waiting[] {
    const now = this.#clock.now();
    return rest.filter((waiting) => {
      if (waiting.deadline > now) return true;
      waiting.reject(new DomainError('unavailable', 'The resource is too busy at the moment.'));
      return false;
    });
  }
}
