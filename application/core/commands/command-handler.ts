import { tooBusy } from '../../../domain/core/errors.ts';
import type { StreamType } from '../../../domain/core/stream-type.ts';
import { EventTooLarge, StoreUnavailable, WrongExpectedRevision } from '../../ports/event-store.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { AnyEvent } from '../events/event-codec.ts';
import { streamName } from '../events/stream-name.ts';
import { nextTick } from '../runtime/timers.ts';
import { continueSpan, during } from '../runtime/tracing.ts';
import { WithDeps } from '../with-deps.ts';
import type { Command, ExecuteAllOptions, Outcome, QueuedCommand, StreamCommand } from './command.ts';
import { GroupCommit } from './group-commit.ts';
import { type BatchOptions, StreamBatch, type StreamBatchDeps } from './stream-batch.ts';
import { emptyOf, type StreamState } from './stream-states.ts';

/** How long (ms) a command that loses races is decided again. */
const RACE_MS = 5000;

/**
 * Runs commands: load, decide, append. Concurrent commands on one stream are decided and appended as one batch.
 * Commands that lose a race to another process are decided again on the new state.
 */
export class CommandHandler extends WithDeps<
  StreamBatchDeps & { readonly metrics: Pick<Metrics, 'eventsAppended'> }
> {
  readonly #group = new GroupCommit(this.deps);
  readonly #batch = new StreamBatch({ ...this.deps, group: this.#group });
  readonly #queues = new Map<string, QueuedCommand[]>();

  /**
   * @throws {DomainError} of the decision; `unavailable` after losing races for 5 s
   * @throws {EventTooLarge} for an event, or events of one decision, larger than stores accept
   * @throws {StoreUnavailable} when the outcome is unknown
   */
  execute<S, E extends AnyEvent, Facts = undefined>(command: Command<S, E, Facts>): Promise<Outcome<S, E>> {
    const { cause, type } = command;
    const span = continueSpan(`command ${type.category}`, 'internal', cause.traceparent);
    if (span === undefined) return this.#execute(command);
    return during(span, this.#execute({ ...command, cause: { ...cause, traceparent: span.traceparent } }));
  }

  #execute<S, E extends AnyEvent, Facts = undefined>(command: Command<S, E, Facts>): Promise<Outcome<S, E>> {
    const stream = streamName(command.tenantId, command.type.category, command.id);
    return new Promise<Outcome<S, E>>((resolve, reject) => {
      this.#group.arrived(1);
      const queued = queuedCommand(command, this.deps.clock.now() + RACE_MS, resolve, reject);
      const queue = this.#queues.get(stream);
      if (queue === undefined) {
        this.#queues.set(stream, [queued]);
        this.#group.schedule(() => void this.#run(stream));
      } else queue.push(queued);
    });
  }

  /**
   * Executes commands on many streams of one type: loads the states together, decides each, appends all, usually in one
   * group commit. A command that loses a race, or appends nothing on a state that was not just read, is executed again
   * alone.
   * @throws {StoreUnavailable} when the states cannot be read, and errors of `prepare`; nothing is written then
   */
  async executeAll<S, E extends AnyEvent, Facts = undefined>(
    type: StreamType<S, E>,
    tenantId: string,
    commands: readonly StreamCommand<S, E, Facts>[],
    { uncached, prepare }: ExecuteAllOptions<Facts>,
  ): Promise<readonly PromiseSettledResult<Outcome<S, E>>[]> {
    const names = commands.map(({ id }) => streamName(tenantId, type.category, id));
    const wereCached = names.map((name) => this.deps.states.cached(name) !== undefined);
    const states = await this.#loadAll(type, tenantId, commands, uncached);
    const facts = prepare === undefined ? undefined : await prepare();
    const run = async (
      { context, decide, id, loaded }: StreamCommand<S, E, Facts>,
      at: number,
    ): Promise<Outcome<S, E>> => {
      const [stream = '', current, wasCached = false] = [names[at], states[at], wereCached[at]];
      const command = { tenantId, type, id, ...context, decide };
      if (current !== undefined) {
        // Without `prepare`, `Facts` is undefined.
        const prepared = { ...command, prepare: async () => facts as Facts };
        const isFresh = loaded === undefined && !wasCached;
        const outcome = await this.#tryLoaded(stream, prepared, current, { isFresh, uncached });
        if (outcome !== undefined) return outcome;
      }
      try {
        return await this.execute(prepare === undefined ? command : { ...command, prepare });
      } finally {
        if (uncached && !wasCached) this.deps.states.drop(stream);
      }
    };
    const outcomes = commands.map(() => Promise.withResolvers<Outcome<S, E>>());
    const settled = Promise.allSettled(outcomes.map(({ promise }) => promise));
    await this.#group.decideAll(
      commands.map((command, at) => () => {
        run(command, at).then(outcomes[at]?.resolve, outcomes[at]?.reject);
      }),
    );
    return settled;
  }

  /** Missing states are undefined after an error that is not `StoreUnavailable`; `execute` then loads each alone. */
  async #loadAll<S, E extends AnyEvent>(
    type: StreamType<S, E>,
    tenantId: string,
    commands: readonly StreamCommand<S, E, never>[],
    uncached: boolean,
  ): Promise<readonly (StreamState<S> | undefined)[]> {
    const missing = commands.filter(({ loaded }) => loaded === undefined).map(({ id }) => id);
    if (missing.length === 0) return commands.map(({ loaded }) => loaded);
    let found: readonly StreamState<S>[] = [];
    try {
      found = await this.deps.states.loadMany(tenantId, type, missing, { uncached });
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
    }
    // Yields one tick between reading and deciding.
    await nextTick();
    let next = 0;
    return commands.map(({ loaded }) => loaded ?? found[next++]);
  }

  /** Returns undefined when the command must be decided again on a fresh state. */
  async #tryLoaded<S, E extends AnyEvent, Facts>(
    stream: string,
    command: Command<S, E, Facts>,
    current: StreamState<S>,
    options: BatchOptions,
  ): Promise<Outcome<S, E> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<S, E>>();
    const queued = queuedCommand(command, this.deps.clock.now() + RACE_MS, resolve, reject);
    try {
      return (await this.#batch.append(stream, [queued], current, options)) > 0 ? await promise : undefined;
    } catch (error) {
      if (error instanceof WrongExpectedRevision) return undefined;
      throw error;
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
    this.#group.arrived(came);
    this.#group.schedule(() => void this.#run(stream));
  }

  async #runBatch(stream: string, batch: readonly QueuedCommand[]): Promise<void> {
    let rest = batch;
    let mustRead = this.deps.states.cached(stream) === undefined;
    let wasRead = false;
    while (rest.length > 0) {
      const [first] = rest;
      if (first === undefined) return;
      try {
        const { isNew = false, priorAttempt, type } = first.command;
        // If the stream has events after all, the append fails and the next attempt reads them.
        const assumed = isNew && !wasRead && priorAttempt === undefined ? emptyOf(type) : undefined;
        const cached = mustRead ? undefined : this.deps.states.cached(stream);
        const loaded = cached ?? assumed ?? (await this.deps.states.refresh(stream, type));
        const isFresh = mustRead && assumed === undefined;
        wasRead = true;
        const done = await this.#batch.append(stream, rest, loaded, { isFresh });
        rest = rest.slice(done);
        // A refusal or a decision to write nothing is confirmed on a fresh state before it is answered.
        mustRead = done === 0;
      } catch (error) {
        if (error instanceof WrongExpectedRevision) {
          mustRead = true;
          rest = this.#giveUpOnLate(rest);
        } else if (error instanceof EventTooLarge) {
          // An append that is too large for the store has the events of one command.
          first.reject(error);
          rest = rest.slice(1);
        } else {
          this.deps.states.drop(stream);
          for (const waiting of rest) waiting.reject(error);
          return;
        }
      }
    }
  }

  #giveUpOnLate(rest: readonly QueuedCommand[]): readonly QueuedCommand[] {
    const now = this.deps.clock.now();
    return rest.filter((waiting) => {
      if (waiting.deadline > now) return true;
      waiting.reject(tooBusy());
      return false;
    });
  }
}

const queuedCommand = <S, E extends AnyEvent, Facts>(
  command: Command<S, E, Facts>,
  deadline: number,
  resolve: (outcome: Outcome<S, E>) => void,
  reject: (error: unknown) => void,
): QueuedCommand => ({ command, deadline, resolve, reject });
