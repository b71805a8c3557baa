import { type Content, mirrored } from '../domain/ledger/content.ts';
import { type Entry, entryDecider, type Posting, type Reversing } from '../domain/ledger/entry.ts';
import type { EntryEvent } from '../domain/ledger/entry-events.ts';
import type { PostEntry } from '../domain/ledger/journal.ts';
import { iso } from '../domain/projection.ts';
import type { Cause, EventCodec, RecordedEvent } from './codec.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Answer, JournalAnswers } from './journal-answers.ts';
import type { EventStore } from './ports/event-store.ts';
import { TransientMap } from './ports/transient.ts';
import type { StreamStates } from './stream-states.ts';
import { streamName } from './streams.ts';

/** Ends attempts to post or reverse that have begun on an entry's stream, whoever began them. */
export class Attempts {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #answers: JournalAnswers;
  /** What this process is about to end itself, by stream. */
  readonly #running = new TransientMap<string, Promise<unknown>>();

  constructor(deps: {
    commands: CommandHandler;
    states: StreamStates;
    events: EventStore;
    codec: EventCodec;
    answers: JournalAnswers;
  }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#answers = deps.answers;
  }

  /**
   * Ends what somebody has begun on an entry. Does nothing where nothing is under way; while this process itself is at
   * it, waits for that.
   * @param seen a state of this revision or later will do; unless given, the store is asked
   */
  async settle(tenantId: string, entryId: string, seen = Number.POSITIVE_INFINITY): Promise<void> {
    const stream = entryStream(tenantId, entryId);
    await this.#running.get(stream)?.catch(() => undefined);
    const known = this.#states.cached(stream);
    const isKnown = known !== undefined && known.revision >= seen;
    const head = isKnown ? known : await this.#states.refresh(stream, entryDecider);
    // The stream's name says which decider folded it.
    const state = head.state as Entry;
    if (state.status !== 'posting' && state.status !== 'reversing') return;
    // Nothing but its end can follow the beginning of an attempt: it is the last event.
    const [stored] = await this.#events.readStream(stream, { from: head.revision, limit: 1 });
    if (stored === undefined) throw new Error(`${stream} has no revision ${head.revision}`);
    const begun = this.#codec.decode(stored) as RecordedEvent<EntryEvent>;
    const cause = {
      actor: begun.actor,
      impersonatedBy: begun.impersonatedBy,
      correlationId: begun.correlationId,
      causationId: begun.id,
    };
    await (await this.finish(tenantId, state, begun.at, cause)).closing;
  }

  /** Asks the journal; `closing` resolves when the entry's stream has its answer too. */
  async finish(
    tenantId: string,
    state: Posting | Reversing,
    begunAt: number,
    cause: Cause,
  ): Promise<{ answer: Answer; closing: Promise<void> }> {
    const stream = entryStream(tenantId, state.id);
    const asked = this.#ask(tenantId, state, begunAt, cause);
    const closing = asked.then((answer) => this.#close(tenantId, state, answer, cause));
    this.#running.set(stream, closing);
    const ended = (): void => {
      if (this.#running.get(stream) === closing) this.#running.delete(stream);
    };
    closing.then(ended, ended);
    return { answer: await asked, closing };
  }

  async #ask(tenantId: string, state: Posting | Reversing, begunAt: number, cause: Cause): Promise<Answer> {
    const { attempt } = state;
    const command: PostEntry =
      state.status === 'posting'
        ? {
            entryId: state.id,
            attemptId: attempt.id,
            content: state.content,
            source: state.source,
            draftedAt: iso(state.createdAt),
          }
        : {
            entryId: state.mirror.id,
            attemptId: attempt.id,
            content: await this.mirrorOf(tenantId, state.revision, state.mirror),
            source: { kind: 'reversal', id: state.id },
            draftedAt: iso(begunAt),
            reversalOf: state.id,
          };
    if (state.status === 'reversing') {
      await this.write(tenantId, state.mirror.id, cause, attempt.id, (mirror) =>
        mirror.status === 'none'
          ? [{ type: 'EntryMirrorPrepared', data: { entry_id: state.mirror.id, reversal_of: state.id } }]
          : [],
      );
    }
    return this.#answers.ask(tenantId, command, attempt.journalRevision, cause);
  }

  async mirrorOf(
    tenantId: string,
    revision: number,
    mirror: { readonly date: string; readonly memo: string },
  ): Promise<Content> {
    const { data } = await this.#answers.postingAt(tenantId, revision);
    return { date: mirror.date, memo: mirror.memo, currency: data.currency, lines: mirrored(data.lines) };
  }

  async #close(tenantId: string, state: Posting | Reversing, answer: Answer, cause: Cause): Promise<void> {
    await this.write(tenantId, state.id, cause, state.attempt.id, (now) => {
      if (now.status !== state.status || now.attempt.id !== state.attempt.id) return [];
      const data = { entry_id: state.id, attempt_id: state.attempt.id };
      if (answer.kind === 'refused') {
        return state.status === 'posting'
          ? [{ type: 'EntryPostingAbandoned', data }]
          : [{ type: 'EntryReversalAbandoned', data }];
      }
      const { revision, posting } = answer;
      return state.status === 'posting'
        ? [{ type: 'EntryPostingSettled', data: { ...data, number: posting.data.number, revision } }]
        : [{ type: 'EntryReversalSettled', data: { ...data, mirror_id: state.mirror.id, revision } }];
    });
  }

  /** A step of an attempt: its causation is not the request's, so that a retry finds the beginning and nothing else. */
  async write(
    tenantId: string,
    entryId: string,
    cause: Cause,
    attemptId: string,
    decide: (state: Entry) => readonly EntryEvent[],
  ): Promise<void> {
    const step = { ...cause, causationId: attemptId };
    await this.#commands.execute({ tenantId, decider: entryDecider, id: entryId, cause: step, decide });
  }
}

const entryStream = (tenantId: string, entryId: string): string =>
  streamName(tenantId, entryDecider.category, entryId);
