import type { StreamType } from '../../../domain/core/stream-type.ts';
import { streamName } from '../events/stream-name.ts';
import type {
  CommandContext,
  Decide,
  ExecuteAllOptions,
  Outcome,
  PreparedDecision,
  StreamCommand,
} from './command.ts';
import type { CommandHandler } from './command-handler.ts';
import type { StreamState, StreamStates } from './stream-states.ts';

interface StreamEvent {
  readonly type: string;
  readonly data: unknown;
}

/** A typed handle on one stream. It holds no state. */
export class Stream<S, E extends StreamEvent> {
  readonly name: string;
  readonly #type: StreamType<S, E>;
  readonly #tenantId: string;
  readonly #id: string;
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;

  constructor(
    machinery: { readonly commands: CommandHandler; readonly states: StreamStates },
    type: StreamType<S, E>,
    tenantId: string,
    id: string,
  ) {
    this.#commands = machinery.commands;
    this.#states = machinery.states;
    this.#type = type;
    this.#tenantId = tenantId;
    this.#id = id;
    this.name = streamName(tenantId, type.category, id);
  }

  /** The cached state, which may be behind other nodes; undefined when none is cached. */
  cached(): StreamState<S> | undefined {
    return this.#states.cached(this.name, this.#type);
  }

  /** Drops the state from the cache, for streams that are rarely read again. */
  evict(): void {
    this.#states.drop(this.name);
  }

  /** Returns the cached state, else reads it. @throws {StoreUnavailable} */
  load(): Promise<StreamState<S>> {
    return this.#states.load(this.#tenantId, this.#type, this.#id);
  }

  /** Returns the cached state if `isGood`, else reads it, since another node may have changed it. */
  async loadWhere(isGood: (state: S) => boolean): Promise<S> {
    const cached = this.cached()?.state;
    return cached !== undefined && isGood(cached) ? cached : (await this.refresh()).state;
  }

  /** Reads the state up to the stream's last revision. @throws {StoreUnavailable} */
  refresh(): Promise<StreamState<S>> {
    return this.#states.refresh(this.name, this.#type);
  }

  /**
   * Decides on the current state and appends the events. Commands on one stream are queued and decided as one batch
   * (`CommandHandler`).
   * @throws {DomainError} of the decision; `unavailable` after losing races for 5 s
   * @throws {EventTooLarge} for an event, or events of one decision, larger than stores accept
   * @throws {StoreUnavailable} when the outcome is unknown
   */
  execute<Facts = undefined>(
    context: CommandContext,
    decision: Decide<S, E, undefined> | PreparedDecision<S, E, Facts>,
  ): Promise<Outcome<S, E>> {
    const { cause, priorAttempt } = context;
    const on = {
      tenantId: this.#tenantId,
      type: this.#type,
      id: this.#id,
      cause,
      priorAttempt,
    };
    return typeof decision === 'function'
      ? this.#commands.execute({ ...on, decide: decision })
      : this.#commands.execute({ ...on, ...decision });
  }

  /**
   * The outcome of an earlier try of the same cause (`priorAttempt`); the present state without events if none has
   * appended. Writes nothing. @throws {StoreUnavailable}
   */
  outcomeOf(context: CommandContext): Promise<Outcome<S, E>> {
    return this.execute(context, () => []);
  }
}

/** Gives use cases their streams, by which they load states and append events. */
export class Streams {
  readonly #machinery: { readonly commands: CommandHandler; readonly states: StreamStates };

  constructor(commands: CommandHandler, states: StreamStates) {
    this.#machinery = { commands, states };
  }

  of<S, E extends StreamEvent>(type: StreamType<S, E>, tenantId: string, id: string): Stream<S, E> {
    return new Stream(this.#machinery, type, tenantId, id);
  }

  /** Loads the states of many streams of one type with few reads. @returns them in the order of `ids` */
  loadAll<S, E extends StreamEvent>(
    type: StreamType<S, E>,
    tenantId: string,
    ids: readonly string[],
    options: { readonly uncached: boolean },
  ): Promise<StreamState<S>[]> {
    return this.#machinery.states.loadMany(tenantId, type, ids, options);
  }

  /**
   * Executes commands on many streams of one type, usually in one group commit.
   * @returns outcomes in the order of the commands
   * @throws {StoreUnavailable} when the states cannot be read, and errors of `prepare`; nothing is written then
   */
  executeAll<S, E extends StreamEvent, Facts = undefined>(
    type: StreamType<S, E>,
    tenantId: string,
    commands: readonly StreamCommand<S, E, Facts>[],
    options: ExecuteAllOptions<Facts>,
  ): Promise<readonly PromiseSettledResult<Outcome<S, E>>[]> {
    return this.#machinery.commands.executeAll(type, tenantId, commands, options);
  }
}
