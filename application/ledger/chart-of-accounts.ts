import type { DecisionContext } from '../domain/decider.ts';
import { notFound } from '../domain/errors.ts';
import {
  type Account,
  accountOf,
  type ChangeAccount,
  changeAccount,
  type OpenAccount,
  openAccount,
} from '../domain/ledger/account.ts';
import {
  JOURNAL_ID,
  type Journal,
  type JournalEvent,
  journalDecider,
  lockBooks,
} from '../domain/ledger/journal.ts';
import type { CommandHandler, Outcome } from './command-handler.ts';
import type { Position } from './ports/event-store.ts';
import type { RequestContext } from './request-context.ts';
import type { StreamStates } from './stream-states.ts';

export interface AccountOutcome {
  readonly account: Account;
  readonly position: Position | undefined;
}

/** The chart of accounts and the lock of the books (decisions, section 9). */
export class Books {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;

  constructor(deps: { commands: CommandHandler; states: StreamStates }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
  }

  /** @throws `already_exists` */
  async openAccount(
    tenantId: string,
    account: Omit<OpenAccount, 'id'>,
    context: RequestContext,
  ): Promise<AccountOutcome> {
    const id = context.newId();
    const outcome = await this.#onJournal(tenantId, context, ({ chart }) =>
      openAccount(chart, { ...account, id }),
    );
    return accountIn(outcome, account.code);
  }

  /** @throws `not_found`, `already_exists`, `in_use` */
  async changeAccount(
    tenantId: string,
    code: string,
    change: ChangeAccount,
    context: RequestContext,
  ): Promise<AccountOutcome> {
    const outcome = await this.#onJournal(tenantId, context, ({ chart }) =>
      changeAccount(chart, code, change),
    );
    return accountIn(outcome, change.code ?? code);
  }

  async lockedThrough(tenantId: string): Promise<string | null> {
    return (await this.#states.load(tenantId, journalDecider, JOURNAL_ID)).state.lockedThrough;
  }

  /** It may move back, too. */
  async lock(
    tenantId: string,
    lockedThrough: string | null,
    context: RequestContext,
  ): Promise<{ lockedThrough: string | null; position: Position | undefined }> {
    const outcome = await this.#onJournal(tenantId, context, (state) => lockBooks(state, lockedThrough));
    return { lockedThrough, position: outcome.position };
  }

  #onJournal(
    tenantId: string,
    context: RequestContext,
    decide: (state: Journal, at: DecisionContext) => readonly JournalEvent[],
  ): Promise<Outcome<Journal, JournalEvent>> {
    const { cause, again } = context;
    return this.#commands.execute({
      tenantId,
      decider: journalDecider,
      id: JOURNAL_ID,
      cause,
      again,
      decide,
    });
  }
}

/** As the request left it, whatever others have done since. */
const accountIn = (
  { events, state, position }: Outcome<Journal, JournalEvent>,
  code: string,
): AccountOutcome => {
  const event = events.find((each) => each.type === 'AccountOpened' || each.type === 'AccountChanged');
  if (event === undefined) {
    const account = accountOf(state.chart, code);
    if (account === undefined) throw notFound();
    return { account, position };
  }
  const { account_id: id, code: made, name, type, category, active } = event.data;
  // It may have another code by now, and its code may be another account's.
  const now = Object.values(state.chart).find((each) => each.id === id);
  if (now === undefined) throw new Error(`the chart has lost the account ${id}`);
  const account = { ...now, code: made, name, type, category, active, changedAt: event.at };
  return { account, position };
};
