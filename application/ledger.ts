import { notFound } from '../domain/errors.ts';
import type { Chart } from '../domain/ledger/account.ts';
import {
  type Content,
  checkedLines,
  type GivenLine,
  type Line,
  requireBalance,
  requireCurrency,
  type Source,
} from '../domain/ledger/content.ts';
import { dayIn } from '../domain/ledger/dates.ts';
import {
  changeDraft,
  type Draft,
  discardDraft,
  draftEntry,
  type Entry,
  entryDecider,
  isVacant,
  requireDraft,
  UnderWay,
} from '../domain/ledger/entry.ts';
import type { EntryEvent } from '../domain/ledger/entry-events.ts';
import { judgePosting, resolveLines } from '../domain/ledger/journal.ts';
import type { RecordedEvent } from './codec.ts';
import type { CommandHandler, Outcome } from './command-handler.ts';
import type { Directory } from './directory.ts';
import type { Clock } from './ports/clock.ts';
import type { Position } from './ports/event-store.ts';
import type { Posted, Postings, Turn } from './postings.ts';
import type { RequestContext } from './request-context.ts';

/** An entry as a caller gives it. */
export interface GivenEntry {
  readonly date: string;
  readonly memo?: string | undefined;
  /** Default: the tenant's. */
  readonly currency?: string | undefined;
  readonly lines: readonly GivenLine[];
}

export interface DraftOutcome {
  readonly draft: Draft;
  readonly position: Position | undefined;
}

/** Use cases of the ledger but for its rules (specification, Ledger; decisions, section 9). */
export class Ledger {
  readonly #commands: CommandHandler;
  readonly #directory: Directory;
  readonly #clock: Clock;
  readonly #postings: Postings;

  constructor(deps: { commands: CommandHandler; directory: Directory; clock: Clock; postings: Postings }) {
    this.#commands = deps.commands;
    this.#directory = deps.directory;
    this.#clock = deps.clock;
    this.#postings = deps.postings;
  }

  /** The accounts as this process knows them. */
  async chart(tenantId: string): Promise<Chart> {
    return (await this.#postings.journal(tenantId)).chart;
  }

  /** @throws `unknown_account`, and `account_inactive` for the first that is not active */
  async requireAccounts(tenantId: string, codes: readonly string[]): Promise<void> {
    await this.#resolved(
      tenantId,
      codes.map((account_code) => ({ account_code })),
    );
  }

  /** The day it is for the tenant, and the currency of what names none. */
  async settings(tenantId: string): Promise<{ readonly today: string; readonly currency: string }> {
    const tenant = await this.#directory.tenant(tenantId);
    if (tenant === undefined) throw notFound();
    return { today: dayIn(this.#clock.now(), tenant.timezone), currency: tenant.currency };
  }

  /**
   * What an entry would say.
   * @throws 400 for amounts and numbers of lines; `mixed_currency`, `unknown_account`, `account_inactive`, `unbalanced`
   */
  async checked(tenantId: string, given: GivenEntry): Promise<Content> {
    const checked = checkedLines(given.lines);
    const currency = given.currency ?? (await this.settings(tenantId)).currency;
    requireCurrency(given.lines, currency);
    const lines = await this.#resolved(tenantId, checked);
    const content = { date: given.date, memo: given.memo ?? '', currency, lines };
    requireBalance(content);
    return content;
  }

  /** @throws as {@link checked} */
  async draft(
    tenantId: string,
    given: GivenEntry,
    source: Source,
    context: RequestContext,
  ): Promise<DraftOutcome> {
    const id = context.newId();
    const earlier = await this.#earlier(tenantId, id, context);
    if (earlier !== undefined) return draftIn(earlier);
    const content = await this.checked(tenantId, given);
    const outcome = await this.#onEntry(tenantId, id, context, (state) =>
      draftEntry(state, id, content, source),
    );
    return draftIn(outcome);
  }

  /**
   * As {@link draft}, or posted at once, under an id that the caller has derived: repeated, it does nothing more.
   * @returns undefined when it was there already
   * @throws as {@link checked}; `period_locked` where it is posted
   */
  async record(
    tenantId: string,
    entry: {
      readonly id: string;
      readonly given: GivenEntry;
      readonly source: Source;
      readonly mode: 'draft' | 'post';
    },
    context: RequestContext,
    turn?: Turn,
  ): Promise<DraftOutcome | Posted | undefined> {
    const { id, given, source, mode } = entry;
    // What is there is not checked again: the books may have changed since.
    if (!isVacant(await this.#postings.entry(tenantId, id, 'store'))) {
      return mode === 'post' ? this.#postings.postOld(tenantId, id, context) : undefined;
    }
    const content = await this.checked(tenantId, given);
    if (mode === 'post') {
      return this.#postings.postNew(tenantId, id, { content, source }, context, turn);
    }
    const outcome = await this.#onEntry(tenantId, id, context, (state) =>
      draftEntry(state, id, content, source),
    );
    return outcome.events.length === 0 ? undefined : draftIn(outcome);
  }

  /** Whether {@link record} has had its effect, as the store knows. */
  async isRecorded(tenantId: string, entryId: string): Promise<boolean> {
    return !isVacant(await this.#postings.entry(tenantId, entryId, 'store'));
  }

  /**
   * What an entry would say, if it were recorded now.
   * @throws as {@link record}
   */
  async foreseen(tenantId: string, given: GivenEntry, mode: 'draft' | 'post'): Promise<Content> {
    const content = await this.checked(tenantId, given);
    if (mode === 'post') {
      await this.#postings.checked(tenantId, (books) => judgePosting(books, { content }));
    }
    return content;
  }

  /**
   * A changed draft may be unbalanced until it is posted.
   * @throws 400 as {@link checked}; `not_found`, `immutable`, `mixed_currency`, `unknown_account`, `account_inactive`
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
    for (;;) {
      const known = await this.#postings.entry(tenantId, entryId);
      // What the draft's state refuses (404, 409) comes before what the chart does.
      const lines =
        checked === undefined || known.status !== 'draft'
          ? undefined
          : await this.#resolved(tenantId, checked);
      try {
        const outcome = await this.#onEntry(tenantId, entryId, context, (state) => {
          const draft = requireDraft(state);
          if (givenLines !== undefined) {
            if (lines === undefined) throw new UnderWay();
            requireCurrency(givenLines, currency ?? draft.content.currency);
          }
          return changeDraft(state, { date, memo, currency, lines });
        });
        return draftIn(outcome);
      } catch (error) {
        if (!(error instanceof UnderWay)) throw error;
        await this.#postings.settle(tenantId, entryId);
      }
    }
  }

  /** @throws `not_found`, `immutable` */
  async discard(tenantId: string, entryId: string, context: RequestContext): Promise<Position | undefined> {
    for (;;) {
      try {
        return (await this.#onEntry(tenantId, entryId, context, discardDraft)).position;
      } catch (error) {
        if (!(error instanceof UnderWay)) throw error;
        await this.#postings.settle(tenantId, entryId);
      }
    }
  }

  /** @throws `not_found`, `immutable`, `unbalanced`, `unknown_account`, `account_inactive`, `period_locked` */
  post(tenantId: string, entryId: string, context: RequestContext): Promise<Posted> {
    return this.#postings.post(tenantId, entryId, context);
  }

  /** @throws `not_found`, `immutable`, `constraint_violated`, `period_locked` */
  async reverse(
    tenantId: string,
    entryId: string,
    wanted: { readonly date?: string | undefined; readonly memo?: string | undefined },
    context: RequestContext,
  ): Promise<Posted> {
    const { today } = await this.settings(tenantId);
    return this.#postings.reverse(tenantId, entryId, wanted, today, context);
  }

  async #resolved<L extends Pick<Line, 'account_code'>>(tenantId: string, lines: readonly L[]): Promise<L[]> {
    const { result } = await this.#postings.checked(tenantId, ({ chart }) => resolveLines(chart, lines));
    return lines.map((each, index) => ({
      ...each,
      account_code: result[index]?.account_code ?? each.account_code,
    }));
  }

  /** What an earlier try of the same keyed request did: its answer does not depend on what has changed since. */
  async #earlier(
    tenantId: string,
    entryId: string,
    context: RequestContext,
  ): Promise<Outcome<Entry, EntryEvent> | undefined> {
    if (context.again === undefined) return undefined;
    const outcome = await this.#onEntry(tenantId, entryId, context, () => []);
    return outcome.events.some(saysDraft) ? outcome : undefined;
  }

  #onEntry(
    tenantId: string,
    entryId: string,
    context: RequestContext,
    decide: (state: Entry) => readonly EntryEvent[],
  ): Promise<Outcome<Entry, EntryEvent>> {
    const { cause, again } = context;
    return this.#commands.execute({ tenantId, decider: entryDecider, id: entryId, cause, again, decide });
  }
}

/** As the request left it, whatever has become of it since. */
const draftIn = ({ events, state, position }: Outcome<Entry, EntryEvent>): DraftOutcome => {
  const event = events.find(saysDraft);
  if (event === undefined) return { draft: requireDraft(state), position };
  const { entry_id: id, date, memo, currency, lines, source } = event.data;
  const createdAt = event.type === 'EntryDrafted' ? event.at : Date.parse(event.data.drafted_at);
  return {
    draft: { status: 'draft', id, content: { date, memo, currency, lines }, source, createdAt },
    position,
  };
};

type Saying = Extract<EntryEvent, { type: 'EntryDrafted' | 'EntryDraftChanged' }>;

const saysDraft = (event: RecordedEvent<EntryEvent>): event is RecordedEvent<Saying> =>
  event.type === 'EntryDrafted' || event.type === 'EntryDraftChanged';
