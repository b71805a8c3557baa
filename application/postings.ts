import { DomainError } from '../domain/errors.ts';
import {
  discardRefused,
  draftAndPost,
  type Entry,
  entryDecider,
  type Posting,
  requireReversible,
  startPosting,
  startReversal,
  UnderWay,
} from '../domain/ledger/entry.ts';
import type { EntryEvent } from '../domain/ledger/entry-events.ts';
import { JOURNAL_ID, type Journal, journalDecider, judgePosting } from '../domain/ledger/journal.ts';
import { Attempts } from './attempts.ts';
import type { Cause, EventCodec } from './codec.ts';
import type { CommandHandler } from './command-handler.ts';
import { type Answer, JournalAnswers, journalOf } from './journal-answers.ts';
import type { Ids } from './ports/clock.ts';
import type { EventStore } from './ports/event-store.ts';
import type { Logger } from './ports/logger.ts';
import type { RequestContext } from './request-context.ts';
import type { StreamStates } from './stream-states.ts';
import { streamName } from './streams.ts';

export type Posted = Extract<Answer, { kind: 'posted' }>;

/** Who posts several entries at once says in which order they come into the books. */
export interface Turn {
  /** Resolves when all before it have been brought to the journal. */
  readonly comes: Promise<void>;
  readonly done: () => void;
}

/**
 * Posting and reversing, over two streams (docs/decisions/0014-posting-over-two-streams.md). The entry's own stream says who has won; the journal
 * says, once for each attempt, whether it is posted and with which number; then the entry's stream is closed. Each step
 * can be done again by whoever finds it undone: a request for the same entry, or the subscriber after a crash.
 */
export class Postings {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;
  readonly #ids: Ids;
  readonly #logger: Logger;
  readonly #answers: JournalAnswers;
  readonly #attempts: Attempts;

  constructor(deps: {
    commands: CommandHandler;
    states: StreamStates;
    events: EventStore;
    codec: EventCodec;
    ids: Ids;
    logger: Logger;
  }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
    this.#ids = deps.ids;
    this.#logger = deps.logger;
    this.#answers = new JournalAnswers(deps);
    this.#attempts = new Attempts({ ...deps, answers: this.#answers });
  }

  /** The books as this process knows them. */
  async journal(tenantId: string): Promise<Journal> {
    return (await this.#states.load(tenantId, journalDecider, JOURNAL_ID)).state;
  }

  /** An entry's own stream as this process knows it, or as the store does. */
  async entry(tenantId: string, entryId: string, from: 'memory' | 'store' = 'memory'): Promise<Entry> {
    if (from === 'memory') return (await this.#states.load(tenantId, entryDecider, entryId)).state;
    const stream = streamName(tenantId, entryDecider.category, entryId);
    // The stream's name says which decider folded it.
    return (await this.#states.refresh(stream, entryDecider)).state as Entry;
  }

  /** What `check` throws is thrown only if it holds of the books as they are now in the store. */
  async checked<T>(
    tenantId: string,
    check: (journal: Journal) => T,
  ): Promise<{ result: T; journal: Journal }> {
    const known = await this.journal(tenantId);
    try {
      return { result: check(known), journal: known };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      // The stream's name says which decider folded it.
      const fresh = (await this.#states.refresh(journalOf(tenantId), journalDecider)).state as Journal;
      return { result: check(fresh), journal: fresh };
    }
  }

  /** @throws `not_found`, `immutable`, `unbalanced`, `unknown_account`, `account_inactive`, `period_locked` */
  async post(tenantId: string, entryId: string, context: RequestContext): Promise<Posted> {
    const attemptId = this.#ids.next();
    for (;;) {
      const state = await this.entry(tenantId, entryId);
      // Refused before anything is begun: a refusal leaves no trace.
      const { journal } = await this.checked(tenantId, (books) => {
        if (state.status === 'draft') judgePosting(books, { content: state.content });
        return books;
      });
      const claim = await this.#claim(tenantId, entryId, context, (now) =>
        startPosting(now, attemptId, journal.revision),
      );
      if (claim !== undefined) return this.#end(tenantId, claim, context.cause);
      await this.settle(tenantId, entryId);
    }
  }

  /**
   * Drafts and posts in one, under an id that the caller has derived: repeated, it does nothing more. What is refused
   * leaves nothing.
   * @returns undefined when it was there already
   * @throws `unbalanced`, `unknown_account`, `account_inactive`, `period_locked`
   */
  async postNew(
    tenantId: string,
    entryId: string,
    { content, source }: Pick<Posting, 'content' | 'source'>,
    context: RequestContext,
    turn?: Turn,
  ): Promise<Posted | undefined> {
    const { journal } = await this.checked(tenantId, (books) => {
      judgePosting(books, { content });
      return books;
    });
    const attemptId = this.#ids.next();
    const claim = await this.#claim(tenantId, entryId, context, (now) =>
      draftAndPost(now, { id: entryId, content, source }, attemptId, journal.revision),
    );
    if (claim === undefined) return this.postOld(tenantId, entryId, context);
    await turn?.comes;
    try {
      const ending = this.#end(tenantId, claim, context.cause);
      turn?.done();
      return await ending;
    } catch (error) {
      if (error instanceof DomainError) {
        await this.#attempts.write(tenantId, entryId, context.cause, attemptId, discardRefused);
      }
      throw error;
    }
  }

  /** Posts a draft that is there; nothing where it is posted, or was discarded. @throws as {@link post} */
  async postOld(tenantId: string, entryId: string, context: RequestContext): Promise<undefined> {
    await this.settle(tenantId, entryId);
    const { status } = await this.entry(tenantId, entryId);
    if (status !== 'draft') return;
    await this.post(tenantId, entryId, context).catch((error: unknown) => {
      if (!(error instanceof DomainError && error.code === 'immutable')) throw error;
    });
  }

  /**
   * @param today in the tenant's time zone
   * @throws `not_found`, `immutable`, `constraint_violated`, `period_locked`
   */
  async reverse(
    tenantId: string,
    entryId: string,
    wanted: { readonly date?: string | undefined; readonly memo?: string | undefined },
    today: string,
    context: RequestContext,
  ): Promise<Posted> {
    const mirrorId = this.#ids.next();
    for (;;) {
      const state = await this.entry(tenantId, entryId);
      const { journal } = await this.checked(tenantId, (books) => books);
      let since = journal.revision;
      if (state.status === 'posted') {
        startReversal(state, { ...mirrorFor(state, wanted, today), id: mirrorId }, since);
        const content = await this.#attempts.mirrorOf(
          tenantId,
          state.revision,
          mirrorFor(state, wanted, today),
        );
        const checked = await this.checked(tenantId, (books) =>
          judgePosting(books, { content, reversalOf: entryId }),
        );
        since = checked.journal.revision;
      }
      const claim = await this.#claim(tenantId, entryId, context, (now) => {
        const mirror = mirrorFor(requireReversible(now), wanted, today);
        return startReversal(now, { ...mirror, id: mirrorId }, since);
      });
      if (claim !== undefined) return this.#end(tenantId, claim, context.cause);
      await this.settle(tenantId, entryId);
    }
  }

  /** @see Attempts.settle */
  settle(tenantId: string, entryId: string, seen?: number): Promise<void> {
    return this.#attempts.settle(tenantId, entryId, seen);
  }

  /** The beginning of an attempt that is this caller's; undefined when another one is under way. */
  async #claim(
    tenantId: string,
    entryId: string,
    context: RequestContext,
    decide: (state: Entry) => readonly EntryEvent[],
  ): Promise<Claim | undefined> {
    try {
      const { events, state } = await this.#commands.execute({
        tenantId,
        decider: entryDecider,
        id: entryId,
        cause: context.cause,
        again: context.again,
        decide,
      });
      const event = events.find(isBeginning);
      if (event === undefined) throw new Error('an attempt did not begin');
      return { event, at: event.at, state };
    } catch (error) {
      if (error instanceof UnderWay) return undefined;
      throw error;
    }
  }

  /** @throws as the journal refuses */
  async #end(tenantId: string, { event, at, state }: Claim, cause: Cause): Promise<Posted> {
    const { attempt_id: attemptId, journal_revision: since } = event.data;
    const isOpen = state.status === 'posting' || state.status === 'reversing';
    if (isOpen && state.attempt.id === attemptId) {
      const { answer, closing } = await this.#attempts.finish(tenantId, state, at, cause);
      // The books have it: the answer does not wait, and who finds the entry unclosed closes it.
      const closed = closing.catch((error: unknown) =>
        this.#logger.warn({ err: error, entry: state.id }, 'an entry is closed later'),
      );
      if (answer.kind === 'posted') return answer;
      await closed;
      throw answer.error;
    }
    // An earlier try of this request began it, and it has ended meanwhile.
    const answer = await this.#answers.find(tenantId, attemptId, since);
    if (answer === undefined) throw new Error('an attempt ended without an answer');
    if (answer.kind === 'refused') throw answer.error;
    return answer;
  }
}

type Beginning = Extract<EntryEvent, { type: 'EntryPostingStarted' | 'EntryReversalStarted' }>;

interface Claim {
  readonly event: Beginning;
  /** ms */
  readonly at: number;
  readonly state: Entry;
}

const isBeginning = <E extends EntryEvent>(event: E): event is E & Beginning =>
  event.type === 'EntryPostingStarted' || event.type === 'EntryReversalStarted';

/** Dated today, or as the original if that is later, unless given. */
const mirrorFor = (
  original: { readonly number: number; readonly date: string },
  wanted: { readonly date?: string | undefined; readonly memo?: string | undefined },
  today: string,
): { date: string; memo: string } => ({
  date: wanted.date ?? (today > original.date ? today : original.date),
  memo: wanted.memo ?? `Reversal of ${original.number}`,
});
