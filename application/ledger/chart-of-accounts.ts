import { notFound } from '../../domain/core/errors.ts';
import {
  type Account,
  accountOf,
  accountsIn,
  type ChangeAccount,
  changeAccount,
  type OpenAccount,
  openAccount,
} from '../../domain/ledger/account.ts';
import {
  JOURNAL_ID,
  type Journal,
  type JournalEvent,
  journalStream,
  lockPeriod,
} from '../../domain/ledger/journal.ts';
import { checkQuota } from '../../domain/tenancy/quotas.ts';
import type { Plan } from '../../domain/tenancy/tenant.ts';
import type { Outcome, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';

export type AccountOutcome = Written<{ readonly account: Account }>;

/** The chart of accounts and the lock of the ledger (decisions, section 9). */
export class ChartOfAccounts extends WithDeps<{ streams: Streams }> {
  /**
   * @param plan the tenant's plan, which limits the number of accounts; undefined means no limit
   * @throws `already_exists`, `quota_exceeded`
   */
  async openAccount(
    tenantId: string,
    account: Omit<OpenAccount, 'id'>,
    context: RequestContext,
    plan?: Plan,
  ): Promise<AccountOutcome> {
    const id = context.newId();
    const outcome = await this.#stream(tenantId).execute(context, ({ chart }) =>
      openAccount(chart, { ...account, id }, (used) => {
        if (plan !== undefined) checkQuota('accounts', plan, { used, added: 1 });
      }),
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
    const outcome = await this.#stream(tenantId).execute(context, ({ chart }) =>
      changeAccount(chart, code, change),
    );
    return accountIn(outcome, change.code ?? code);
  }

  /** Moves the lock forward or back; null removes it. */
  async lock(
    tenantId: string,
    lockedThrough: string | null,
    context: RequestContext,
  ): Promise<Written<{ lockedThrough: string | null }>> {
    const outcome = await this.#stream(tenantId).execute(context, (state) =>
      lockPeriod(state, lockedThrough),
    );
    return { lockedThrough, position: outcome.position };
  }

  #stream(tenantId: string) {
    return this.deps.streams.of(journalStream, tenantId, JOURNAL_ID);
  }
}

/** The account after this request, without later changes. */
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
  // A later change may have given this account another code, and its former code to another account.
  const now = accountsIn(state.chart).find((each) => each.id === id);
  if (now === undefined) throw new Error(`the chart has lost the account ${id}`);
  const account = { ...now, code: made, name, type, category, active, changedAt: event.at };
  return { account, position };
};
