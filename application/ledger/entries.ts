import {
  type Content,
  checkedLines,
  type EntryOrigin,
  type GivenLine,
  type Line,
  requireBalance,
  requireCurrency,
} from '../../domain/ledger/content.ts';
import {
  changeDraft,
  type Draft,
  discardDraft,
  draftEntry,
  type Entry,
  type EntryEvent,
  entryStream,
  isVacant,
  PostingInProgress,
  requireDraft,
} from '../../domain/ledger/entry.ts';
import { resolveLines } from '../../domain/ledger/journal.ts';
import type { Outcome, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { RecordedEvent } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { LedgerJournal } from './journal.ts';
import type { PostingProcess } from './posting-process.ts';
import { ledgerSettingsOf } from './settings.ts';

/** An entry as given by the caller. */
export interface GivenEntry {
  readonly date: string;
  readonly memo?: string | undefined;
  /** Default: the tenant's currency. */
  readonly currency?: string | undefined;
  readonly lines: readonly GivenLine[];
}

export type DraftOutcome = Written<{ readonly draft: Draft }>;

/** Use cases on drafts (specification, Ledger; decisions, section 9). */
export class Entries extends WithDeps<{
  readonly streams: Streams;
  readonly journal: LedgerJournal;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly posting: PostingProcess;
}> {
  /**
   * @throws `validation_failed` for invalid amounts or a wrong number of lines; `mixed_currency`, `unknown_account`,
   * `account_inactive`, `unbalanced`, `payload_too_large`
   */
  async draft(
    tenantId: string,
    given: GivenEntry,
    source: EntryOrigin,
    context: RequestContext,
  ): Promise<DraftOutcome> {
    const id = context.newId();
    const earlier = await this.#earlier(tenantId, id, context);
    if (earlier !== undefined) return draftIn(earlier);
    const content = await this.checkedContent(tenantId, given);
    return draftIn(
      await this.#stream(tenantId, id).execute(context, (state) =>
        draftEntry(state, { id, content, source }),
      ),
    );
  }

  /**
   * A changed draft may be unbalanced until it is posted.
   * @throws the errors of {@link draft} except `unbalanced`; `not_found`, `immutable`
   */
  async change(
    tenantId: string,
    entryId: string,
    given: { readonly [K in keyof GivenEntry]?: GivenEntry[K] | undefined },
    context: RequestContext,
  ): Promise<DraftOutcome> {
    const { date, memo, currency, lines: givenLines } = given;
    const checked = givenLines === undefined ? undefined : checkedLines(givenLines);
    const earlier = await this.#earlier(tenantId, entryId, context);
    if (earlier !== undefined) return draftIn(earlier);
    return this.#afterAttempt(tenantId, entryId, async () => {
      const { state: known } = await this.#stream(tenantId, entryId).load();
      // Errors of the entry's state come before errors of the chart, so only lines of a draft are checked here.
      const lines =
        checked === undefined || known.status !== 'draft'
          ? undefined
          : await this.#resolved(tenantId, checked);
      const outcome = await this.#stream(tenantId, entryId).execute(context, (state) => {
        const draft = requireDraft(state);
        if (givenLines !== undefined) {
          // The entry has become a draft again since it was loaded: the next round checks the given lines.
          if (lines === undefined) throw new PostingInProgress();
          requireCurrency(givenLines, currency ?? draft.content.currency);
        }
        return changeDraft(state, { date, memo, currency, lines });
      });
      return draftIn(outcome);
    });
  }

  /** @throws `not_found`, `immutable` */
  async discard(tenantId: string, entryId: string, context: RequestContext): Promise<Position | undefined> {
    return this.#afterAttempt(
      tenantId,
      entryId,
      async () => (await this.#stream(tenantId, entryId).execute(context, discardDraft)).position,
    );
  }

  /**
   * Drafts an entry with a derived id, once.
   * @returns undefined when the entry was recorded before
   * @throws the errors of {@link draft}
   */
  async draftOnce(
    tenantId: string,
    entry: {
      readonly id: string;
      readonly given: GivenEntry;
      readonly source: EntryOrigin;
      /** Also drafts an entry again if a person discarded it. */
      readonly redraft?: boolean | undefined;
    },
    context: RequestContext,
  ): Promise<DraftOutcome | undefined> {
    const { id, given, source, redraft } = entry;
    await this.deps.posting.completeAttempt(tenantId, id);
    // A recorded entry is not checked again, since the chart may have changed.
    if (!isVacant((await this.#stream(tenantId, id).load()).state, redraft)) return undefined;
    const content = await this.checkedContent(tenantId, given);
    const outcome = await this.#stream(tenantId, id).execute(context, (state) =>
      draftEntry(state, { id, content, source, redraft }),
    );
    return outcome.events.length === 0 ? undefined : draftIn(outcome);
  }

  /**
   * Fills in currency and memo, replaces account codes by the chart's spelling, and checks that the sides balance.
   * @throws the errors of {@link draft} except `payload_too_large`
   */
  async checkedContent(tenantId: string, given: GivenEntry): Promise<Content> {
    const checked = checkedLines(given.lines);
    const currency = given.currency ?? (await ledgerSettingsOf(this.deps, tenantId)).currency;
    requireCurrency(given.lines, currency);
    const lines = await this.#resolved(tenantId, checked);
    const content = { date: given.date, memo: given.memo ?? '', currency, lines };
    requireBalance(content);
    return content;
  }

  #resolved(tenantId: string, lines: readonly Line[]): Promise<Line[]> {
    return this.deps.journal.check(tenantId, ({ chart }) => resolveLines(chart, lines));
  }

  /** Calls `work`; if a posting attempt of the entry is running, completes it and calls `work` again. */
  async #afterAttempt<T>(tenantId: string, entryId: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof PostingInProgress)) throw error;
        await this.deps.posting.completeAttempt(tenantId, entryId);
      }
    }
  }

  /** The outcome of an earlier try of the same keyed request, without later changes. */
  async #earlier(
    tenantId: string,
    entryId: string,
    context: RequestContext,
  ): Promise<Outcome<Entry, EntryEvent> | undefined> {
    if (context.priorAttempt === undefined) return undefined;
    const outcome = await this.#stream(tenantId, entryId).outcomeOf(context);
    return outcome.events.some(holdsDraft) ? outcome : undefined;
  }

  #stream(tenantId: string, entryId: string) {
    return this.deps.streams.of(entryStream, tenantId, entryId);
  }
}

/** The draft after this request, without later changes. */
const draftIn = ({ events, state, position }: Outcome<Entry, EntryEvent>): DraftOutcome => {
  const event = events.find(holdsDraft);
  if (event === undefined) return { draft: requireDraft(state), position };
  const { entry_id: id, date, memo, currency, lines, source } = event.data;
  const createdAt = event.type === 'EntryDrafted' ? event.at : Date.parse(event.data.drafted_at);
  const content = { date, memo, currency, lines };
  return { draft: { status: 'draft', id, content, source, createdAt }, position };
};

type DraftEvent = Extract<EntryEvent, { type: 'EntryDrafted' | 'EntryDraftChanged' }>;

const holdsDraft = (event: RecordedEvent<EntryEvent>): event is RecordedEvent<DraftEvent> =>
  event.type === 'EntryDrafted' || event.type === 'EntryDraftChanged';
