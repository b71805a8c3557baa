import { DomainError } from '../domain/errors.ts';
import {
  answerPosting,
  answerTo,
  JOURNAL_ID,
  type JournalEvent,
  journalDecider,
  type PostEntry,
  type PostingEvent,
  refusePosting,
} from '../domain/ledger/journal.ts';
import type { Cause, EventCodec, RecordedEvent } from './codec.ts';
import type { CommandHandler } from './command-handler.ts';
import { type EventStore, EventTooLarge, type Position } from './ports/event-store.ts';
import { streamName } from './streams.ts';

/** The journal's one answer to an attempt. */
export type Answer =
  | {
      readonly kind: 'posted';
      readonly posting: PostingEvent;
      readonly revision: number;
      /** ms */
      readonly at: number;
      readonly position: Position | undefined;
    }
  | { readonly kind: 'refused'; readonly error: DomainError };

type Logged<E extends JournalEvent> = RecordedEvent<E> & { readonly position: Position };

/** The state does not reach back to where the attempt began. */
class Forgotten extends Error {}

const PAGE = 500;

/**
 * Asks the journal about attempts. However often and by however many an attempt is brought before it, it is answered
 * once: the state knows the latest answers, and for an older attempt the stream itself is looked through.
 */
export class JournalAnswers {
  readonly #commands: CommandHandler;
  readonly #events: EventStore;
  readonly #codec: EventCodec;

  constructor(deps: { commands: CommandHandler; events: EventStore; codec: EventCodec }) {
    this.#commands = deps.commands;
    this.#events = deps.events;
    this.#codec = deps.codec;
  }

  /** @param since where the journal stood before the attempt began */
  async ask(tenantId: string, command: PostEntry, since: number, cause: Cause): Promise<Answer> {
    try {
      return await this.#answer(tenantId, command.attemptId, since, cause, (state) =>
        answerPosting(state, command),
      );
    } catch (error) {
      if (!(error instanceof EventTooLarge)) throw error;
      const tooLarge = new DomainError('payload_too_large', 'The entry is too large to be posted.');
      return this.#answer(tenantId, command.attemptId, since, cause, () => refusePosting(command, tooLarge));
    }
  }

  /** A posting that is known to be there. */
  async postingAt(tenantId: string, revision: number): Promise<Logged<PostingEvent>> {
    const event = await this.#read(tenantId, revision);
    if (event.type === 'EntryPosted' || event.type === 'EntryReversed') return event;
    throw new Error(`revision ${revision} of the journal of ${tenantId} is no posting`);
  }

  /** The answer that an attempt has got already; undefined for none. */
  async find(tenantId: string, attemptId: string, since: number): Promise<Answer | undefined> {
    const revision = await this.#search(tenantId, attemptId, since, Number.MAX_SAFE_INTEGER);
    return revision === undefined ? undefined : this.#answerAt(tenantId, revision);
  }

  async #answer(
    tenantId: string,
    attemptId: string,
    since: number,
    cause: Cause,
    answer: JournalAnswer,
  ): Promise<Answer> {
    let before: number | undefined;
    const command = { tenantId, decider: journalDecider, id: JOURNAL_ID, cause };
    const outcome = await this.#commands
      .execute({
        ...command,
        decide: (state) => {
          const known = answerTo(state, attemptId, since);
          if (known === 'forgotten') throw new Forgotten();
          before = known === 'nothing' ? undefined : known;
          return known === 'nothing' ? [answer(state)] : [];
        },
      })
      .catch((error: unknown) => {
        if (!(error instanceof Forgotten)) throw error;
        return this.#commands.execute({
          ...command,
          prepare: async ({ revision }) => this.#search(tenantId, attemptId, since, revision),
          decide: (state, _at, known) => {
            before = known;
            return known === undefined ? [answer(state)] : [];
          },
        });
      });
    const [event] = outcome.events;
    if (event !== undefined) return answerOf(event, outcome.position);
    if (before === undefined) throw new Error('the journal gave no answer');
    return this.#answerAt(tenantId, before);
  }

  async #answerAt(tenantId: string, revision: number): Promise<Answer> {
    const event = await this.#read(tenantId, revision);
    return answerOf(event, event.position);
  }

  async #search(tenantId: string, attemptId: string, since: number, to: number): Promise<number | undefined> {
    let from = since + 1;
    while (from <= to) {
      const page = await this.#events.readStream(journalOf(tenantId), { from, limit: PAGE });
      for (const stored of page) {
        const { data, revision } = this.#codec.decode(stored) as Logged<JournalEvent>;
        if (revision <= to && 'attempt_id' in data && data.attempt_id === attemptId) return revision;
      }
      if (page.length < PAGE) return undefined;
      from += page.length;
    }
    return undefined;
  }

  async #read(tenantId: string, revision: number): Promise<Logged<JournalEvent>> {
    const [stored] = await this.#events.readStream(journalOf(tenantId), { from: revision, limit: 1 });
    if (stored === undefined) throw new Error(`the journal of ${tenantId} has no revision ${revision}`);
    // The journal's stream holds the journal's events and no others.
    return this.#codec.decode(stored) as Logged<JournalEvent>;
  }
}

type JournalAnswer = (state: Parameters<typeof answerPosting>[0]) => ReturnType<typeof answerPosting>;

export const journalOf = (tenantId: string): string =>
  streamName(tenantId, journalDecider.category, JOURNAL_ID);

const answerOf = (event: RecordedEvent<JournalEvent>, position: Position | undefined): Answer => {
  switch (event.type) {
    case 'EntryPosted':
    case 'EntryReversed':
      return { kind: 'posted', posting: event, revision: event.revision, at: event.at, position };
    case 'PostingRefused': {
      const { code, message, details } = event.data;
      return { kind: 'refused', error: new DomainError(code, message, details) };
    }
    case 'AccountOpened':
    case 'AccountChanged':
    case 'BooksLocked':
      throw new Error('this is no answer to an attempt');
    default:
      return event satisfies never;
  }
};
