import { DomainError } from '../../domain/core/errors.ts';
import type { PostingAttempt } from '../../domain/ledger/entry.ts';
import {
  type AnswerEvent,
  answerTo,
  isAnswer,
  JOURNAL_ID,
  type Journal,
  type JournalEvent,
  journalStream,
  type PostingEvent,
} from '../../domain/ledger/journal.ts';
import { type AnswerPosting, answerPosting, refusePosting } from '../../domain/ledger/posting.ts';
import type { Written } from '../core/commands/command.ts';
import type { Stream, Streams } from '../core/commands/streams.ts';
import type { Cause, EventCodec, RecordedEvent } from '../core/events/event-codec.ts';
import { eventsOf } from '../core/events/stream-events.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type EventStore, EventTooLarge, type Position } from '../ports/event-store.ts';

/** The journal's answer to a posting attempt. */
export type Answer = Written<{ readonly event: RecordedEvent<AnswerEvent> }>;

/** The journal's state does not reach back to the start of the posting attempt. */
class AnswerNotInState extends Error {}

const PAGE = 500;

/** Runs checks on a tenant's journal, appends the journal's answers to posting attempts, and reads older events. */
export class LedgerJournal extends WithDeps<{ streams: Streams; events: EventStore; codec: EventCodec }> {
  /** The cached state, which may be behind other nodes. */
  async load(tenantId: string): Promise<Journal> {
    return (await this.#stream(tenantId).load()).state;
  }

  /** Runs a check on the cached state; if the check fails, runs it again on the stored state. */
  async check<T>(tenantId: string, check: (journal: Journal) => T): Promise<T> {
    const known = await this.load(tenantId);
    try {
      return check(known);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return check((await this.#stream(tenantId).refresh()).state);
    }
  }

  async postingAt(tenantId: string, revision: number): Promise<PostingEvent> {
    const { name } = this.#stream(tenantId);
    const [stored] = await this.deps.events.readStream(name, { from: revision, limit: 1 });
    const event = stored && this.deps.codec.decode(stored);
    if (event !== undefined && isAnswer(event) && event.type !== 'PostingRefused') return event;
    throw new Error(`revision ${revision} of ${name} is no posting`);
  }

  /** Makes the journal answer a posting attempt; repeated calls get the same answer. */
  async answer(tenantId: string, command: AnswerPosting, cause: Cause): Promise<Answer> {
    try {
      return await this.#ask(tenantId, command.attempt, cause, (state) => answerPosting(state, command));
    } catch (error) {
      if (!(error instanceof EventTooLarge)) throw error;
      const tooLarge = new DomainError('payload_too_large', 'The entry is too large to be posted.');
      return this.#ask(tenantId, command.attempt, cause, () => refusePosting(command, tooLarge));
    }
  }

  /** Finds the answer to a posting attempt that was answered before. */
  async findAnswer(tenantId: string, attempt: PostingAttempt): Promise<Answer> {
    const event = await this.#search(tenantId, attempt, Number.MAX_SAFE_INTEGER);
    if (event === undefined) throw new Error('the journal has no answer to a posting attempt');
    return { event, position: event.position };
  }

  async #ask(
    tenantId: string,
    attempt: PostingAttempt,
    cause: Cause,
    decide: (state: Journal) => readonly [AnswerEvent],
  ): Promise<Answer> {
    const journal = this.#stream(tenantId);
    const outcome = await journal
      .execute({ cause }, (state) => {
        const known = answerTo(state, attempt);
        if (known === 'forgotten') throw new AnswerNotInState();
        return known === 'answered' ? [] : decide(state);
      })
      .catch((error: unknown) => {
        if (!(error instanceof AnswerNotInState)) throw error;
        return journal.execute(
          { cause },
          {
            prepare: ({ revision }) => this.#search(tenantId, attempt, revision),
            decide: (state, _at, earlier) => (earlier === undefined ? decide(state) : []),
          },
        );
      });
    const [event] = outcome.events;
    if (event !== undefined && isAnswer(event)) return { event, position: outcome.position };
    return this.findAnswer(tenantId, attempt);
  }

  async #search(
    tenantId: string,
    { id, journalRevision }: PostingAttempt,
    through: number,
  ): Promise<(RecordedEvent<AnswerEvent> & { readonly position: Position }) | undefined> {
    const { name } = this.#stream(tenantId);
    for await (const event of eventsOf(this.deps, name, journalRevision + 1, PAGE)) {
      if (event.revision > through) return undefined;
      if (isAnswer(event) && event.data.attempt_id === id) return event;
    }
    return undefined;
  }

  #stream(tenantId: string): Stream<Journal, JournalEvent> {
    return this.deps.streams.of(journalStream, tenantId, JOURNAL_ID);
  }
}
