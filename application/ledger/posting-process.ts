import { DomainError } from '../../domain/core/errors.ts';
import { checkedLines, type Line } from '../../domain/ledger/content.ts';
import {
  attemptOf,
  type Entry,
  type EntryEvent,
  EntryPostingStarted,
  EntryReversalStarted,
  entryStream,
  isInProgress,
  isPosted,
  type NewEntry,
  type OpenAttempt,
  PostingInProgress,
  type StartEvent,
  startsAttempt,
} from '../../domain/ledger/entry.ts';
import type { PostingEvent } from '../../domain/ledger/journal.ts';
import {
  type AnswerPosting,
  checkPosting,
  closePosting,
  discardRefusedDraft,
  mirrorContent,
  postingCommand,
  prepareMirror,
  reversalCommand,
  reverseEntry,
  startPosting,
  startPostingNew,
} from '../../domain/ledger/posting.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { type Cause, dataOf, type EventCodec, type RecordedEvent } from '../core/events/event-codec.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Answer, LedgerJournal } from './journal.ts';
import { ledgerSettingsOf } from './settings.ts';

export type Posted = Written<{ readonly posting: RecordedEvent<PostingEvent> }>;

/** The place of a posting in the order of its caller's postings. */
export interface Slot {
  /** Resolves when all earlier postings are on their way to the journal. */
  readonly reached: Promise<void>;
  readonly release: () => void;
}

/**
 * Posts and reverses entries (decision 14) in three steps, each safe to repeat: claim the entry on its stream, let the
 * journal answer the posting attempt, close the entry's stream.
 */
export class PostingProcess extends WithDeps<{
  readonly streams: Streams;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly journal: LedgerJournal;
  readonly directory: Directory;
  readonly clock: Clock;
}> {
  /** Posting attempts that this process is completing, by the entry's stream. */
  readonly #completing = new Map<string, Promise<void>>();

  /**
   * @throws `not_found`, `immutable`, `unbalanced`, `unknown_account`, `account_inactive`, `period_locked`,
   * `payload_too_large`
   */
  async post(tenantId: string, entryId: string, context: RequestContext): Promise<Posted> {
    const attemptId = this.deps.ids.next();
    const entry = this.deps.streams.of(entryStream, tenantId, entryId);
    const check = ({ state }: { readonly state: Entry }) =>
      this.#check(tenantId, state.status === 'draft' ? state : undefined);
    for (;;) {
      // Checks before the claim, so that a refusal leaves no event. Another node may have changed a cached draft.
      const checking = check(await entry.load()).catch(async () => check(await entry.refresh()));
      const { revision: journalRevision } = await checking;
      const claim = await this.#claim(tenantId, entryId, context, (now) =>
        startPosting(now, { id: attemptId, journalRevision }),
      );
      if (claim !== undefined) return this.#complete(tenantId, claim, context.cause);
    }
  }

  /**
   * Posts an entry with a derived id, once: its draft if there is one, otherwise a new entry.
   * @returns undefined when the entry was posted before
   * @throws `validation_failed`, `payload_too_large`; `unbalanced`, `unknown_account`, `account_inactive` or
   * `period_locked`, each after an existing draft was discarded
   */
  async postOnce(
    tenantId: string,
    { id, source, content: given }: NewEntry,
    context: RequestContext,
    slot?: Slot,
  ): Promise<Posted | undefined> {
    const attemptId = this.deps.ids.next();
    for (;;) {
      await this.completeAttempt(tenantId, id);
      const entry = await this.#entry(tenantId, id);
      if (isPosted(entry)) return undefined;
      const draft = entry.status === 'draft' ? entry.content : undefined;
      const wanted = draft ?? { ...given, lines: checkedLines(given.lines) };
      const checking = this.#check(tenantId, { content: wanted });
      const { revision: journalRevision, lines } = await checking.catch(async (error: unknown) => {
        if (error instanceof DomainError && draft !== undefined) {
          await this.#step(tenantId, id, attemptId, context.cause, discardRefusedDraft);
        }
        throw error;
      });
      // A new entry has the account codes in the chart's spelling.
      const content = draft ?? { ...wanted, lines: [...lines] };
      const claim = await this.#claim(tenantId, id, context, (now) => {
        // The entry was posted after it was loaded: the next round finds this.
        if (isPosted(now)) throw new PostingInProgress();
        return startPostingNew(now, { id, content, source }, { id: attemptId, journalRevision });
      });
      if (claim === undefined) continue;
      await slot?.reached;
      const posted = this.#complete(tenantId, claim, context.cause);
      slot?.release();
      return posted;
    }
  }

  /** @throws `not_found`, `immutable`, `constraint_violated`, `period_locked` */
  async reverse(
    tenantId: string,
    entryId: string,
    wanted: { readonly date?: string | undefined; readonly memo?: string | undefined },
    context: RequestContext,
  ): Promise<Posted> {
    const { journal, ids } = this.deps;
    const { today } = await ledgerSettingsOf(this.deps, tenantId);
    const command = { ...wanted, mirrorId: ids.next(), today };
    for (;;) {
      const entry = await this.#entry(tenantId, entryId);
      let mirror: Pick<AnswerPosting, 'content' | 'reversalOf'> | undefined;
      if (entry.status === 'posted') {
        // This call only checks and dates the mirror, so the journal's revision does not matter.
        const [{ data }] = reverseEntry(entry, command, 0);
        const original = await journal.postingAt(tenantId, entry.revision);
        mirror = { content: mirrorContent(original.data, data), reversalOf: entryId };
      }
      const { revision: journalRevision } = await this.#check(tenantId, mirror);
      const claim = await this.#claim(tenantId, entryId, context, (now) =>
        reverseEntry(now, command, journalRevision),
      );
      if (claim !== undefined) return this.#complete(tenantId, claim, context.cause);
    }
  }

  /**
   * Completes the running posting attempt of an entry, whichever process started it.
   * @param seen a cached state of this revision or later is recent enough; by default the store is read
   */
  async completeAttempt(tenantId: string, entryId: string, seen = Number.POSITIVE_INFINITY): Promise<void> {
    const { streams, events, codec } = this.deps;
    const stream = streams.of(entryStream, tenantId, entryId);
    await this.#completing.get(stream.name)?.catch(() => undefined);
    const cached = stream.cached();
    const isRecent = cached !== undefined && cached.revision >= seen;
    const { state, revision } = isRecent ? cached : await stream.refresh();
    if (!isInProgress(state)) return;
    // After the start of an attempt only its end is appended, so the start is the last event.
    const [stored] = await events.readStream(stream.name, { from: revision, limit: 1 });
    if (stored === undefined) throw new Error(`${stream.name} has no revision ${revision}`);
    const started = codec.decode(stored);
    await this.#answerAndClose(tenantId, state, started.at, causeOf(started)).closed;
  }

  /** The entry's cached state, which may be behind other nodes. */
  async #entry(tenantId: string, entryId: string): Promise<Entry> {
    return (await this.deps.streams.of(entryStream, tenantId, entryId).load()).state;
  }

  /** @returns the journal's revision, and the lines that it would post @throws the errors of {@link checkPosting} */
  #check(
    tenantId: string,
    posting: Pick<AnswerPosting, 'content' | 'reversalOf'> | undefined,
  ): Promise<{ readonly revision: number; readonly lines: readonly Line[] }> {
    return this.deps.journal.check(tenantId, (journal) => ({
      revision: journal.revision,
      lines: posting === undefined ? [] : checkPosting(journal, posting),
    }));
  }

  /** Step 1: claims the entry. @returns undefined if another posting attempt was running, which is complete now */
  async #claim(
    tenantId: string,
    entryId: string,
    context: RequestContext,
    decide: (state: Entry) => readonly EntryEvent[],
  ): Promise<Claim | undefined> {
    try {
      const stream = this.deps.streams.of(entryStream, tenantId, entryId);
      const { events, state } = await stream.execute(context, decide);
      const started = events.find(startsAttempt);
      if (started === undefined) throw new Error('a posting attempt did not start');
      return { started, state };
    } catch (error) {
      if (!(error instanceof PostingInProgress)) throw error;
      await this.completeAttempt(tenantId, entryId);
      return undefined;
    }
  }

  /** Steps 2 and 3. @throws the journal's refusal */
  async #complete(tenantId: string, { started, state }: Claim, cause: Cause): Promise<Posted> {
    const attempt = attemptOf(started.data);
    if (isInProgress(state) && state.attempt.id === attempt.id) {
      const { answer, closed } = this.#answerAndClose(tenantId, state, started.at, cause);
      // The caller waits for the close only after a refusal; `postingFinisher` closes entries left open.
      const ended = closed.catch((error: unknown) =>
        this.deps.logger.warn({ err: error, entry: state.id }, 'a posting is closed later'),
      );
      const given = await answer;
      if (given.event.type === 'PostingRefused') await ended;
      return postedOf(given);
    }
    // An earlier try of the same request started the attempt, which is complete by now.
    return postedOf(await this.deps.journal.findAnswer(tenantId, attempt));
  }

  #answerAndClose(
    tenantId: string,
    state: OpenAttempt,
    startedAt: number,
    cause: Cause,
  ): { readonly answer: Promise<Answer>; readonly closed: Promise<void> } {
    const { id, attempt } = state;
    const { name } = this.deps.streams.of(entryStream, tenantId, id);
    const answer = this.#answer(tenantId, state, startedAt, cause);
    // Step 3: closes the entry's stream with the answer.
    const closed = answer.then(({ event }) =>
      this.#step(tenantId, id, attempt.id, cause, (now) => closePosting(now, attempt.id, event)),
    );
    this.#completing.set(name, closed);
    const ended = (): void => {
      if (this.#completing.get(name) === closed) this.#completing.delete(name);
    };
    closed.then(ended, ended);
    return { answer, closed };
  }

  /** Step 2: makes the journal answer the posting attempt; a repeat gets the same answer. */
  async #answer(tenantId: string, state: OpenAttempt, startedAt: number, cause: Cause): Promise<Answer> {
    let command: AnswerPosting;
    if (state.status === 'posting') command = postingCommand(state);
    else {
      const original = await this.deps.journal.postingAt(tenantId, state.revision);
      command = reversalCommand(state, original.data, startedAt);
      await this.#step(tenantId, state.mirror.id, state.attempt.id, cause, (mirror) =>
        prepareMirror(mirror, state),
      );
    }
    return this.deps.journal.answer(tenantId, command, cause);
  }

  /** The causation of later steps is the attempt, so that a retry of the request finds only the events of the claim. */
  async #step(
    tenantId: string,
    entryId: string,
    attemptId: string,
    cause: Cause,
    decide: (state: Entry) => readonly EntryEvent[],
  ): Promise<void> {
    const stream = this.deps.streams.of(entryStream, tenantId, entryId);
    await stream.execute({ cause: { ...cause, causationId: attemptId } }, decide);
  }
}

interface Claim {
  readonly started: RecordedEvent<StartEvent>;
  readonly state: Entry;
}

/** @throws the refusal */
const postedOf = ({ event, position }: Answer): Posted => {
  if (event.type !== 'PostingRefused') return { posting: event, position };
  const { code, message, details } = event.data;
  throw new DomainError(code, message, details);
};

/** Completes the posting attempts of crashed processes. */
export const postingFinisher = (posting: PostingProcess): Subscriber => ({
  name: 'posting-finisher',
  types: [EntryPostingStarted.type, EntryReversalStarted.type],
  handle: async (event) => {
    const data = dataOf(EntryPostingStarted, event) ?? dataOf(EntryReversalStarted, event);
    if (data !== undefined) await posting.completeAttempt(event.tenantId, data.entry_id, event.revision);
  },
});
