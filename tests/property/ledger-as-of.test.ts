import { expect } from 'chai';
import fc from 'fast-check';
import { TimeTravel } from '../../application/audit/time-travel.ts';
import type { LoggedEvent, RecordedEvent } from '../../application/core/events/event-codec.ts';
import type { Position } from '../../application/ports/event-store.ts';
import { DomainError } from '../../domain/core/errors.ts';
import { JOURNAL_ID, type JournalEvent, journalStream } from '../../domain/ledger/journal.ts';
import { ledgerProjection } from '../../projections/ledger/ledger.ts';
import { balancesAsOf } from '../../projections/ledger/ledger-as-of.ts';
import { recordedBefore } from '../../projections/ledger/ledger-recorded.ts';
import { balanceSheet, profitAndLoss, trialBalance } from '../../projections/ledger/ledger-reports.ts';
import {
  CHART,
  fill,
  type LedgerNode,
  move,
  request,
  startLedger,
  TENANT,
} from '../application/ledger/support.ts';
import { testClock } from '../support/fakes.ts';
import { presentBalanceSheet, presentProfitAndLoss, presentTrialBalance } from '../support/ledger-reports.ts';
import { memoryReadModel } from '../support/memory-reader.ts';

const DAY_MS = 86_400_000;
const DAYS = ['2025-12-31', '2026-01-01', '2026-01-31', '2026-02-28', '2026-03-15', '2027-01-01'];
const CODES = CHART.map(([code]) => code);

const day = fc.constantFrom(...DAYS);
const code = fc.constantFrom(...CODES);
const amount = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.constant(Number.MAX_SAFE_INTEGER));
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('post' as const),
      date: day,
      debit: code,
      credit: code,
      amount,
      currency: fc.constantFrom('EUR', 'USD'),
    }),
  },
  fc.record({ kind: fc.constant('reverse' as const), which: fc.nat(30) }),
  fc.record({ kind: fc.constant('open' as const), code: fc.constantFrom('7000', 'a.1', 'Z-2') }),
  fc.record({ kind: fc.constant('rename' as const), code, name: fc.string({ minLength: 1, maxLength: 5 }) }),
  fc.record({
    kind: fc.constant('recode' as const),
    code: fc.constantFrom('7000', 'a.1'),
    to: fc.constantFrom('7001', 'b.1'),
  }),
  fc.record({ kind: fc.constant('lock' as const), through: fc.option(day) }),
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), days: fc.constantFrom(1, 20, 70) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const play = async (node: Node, given: Step, posted: string[]): Promise<void> => {
  const { entries, posting, chart, clock } = node;
  switch (given.kind) {
    case 'post': {
      const { date, currency } = given;
      const lines = move(given.debit, given.credit, given.amount);
      const { draft } = await entries.draft(TENANT, { date, lines, currency }, { kind: 'manual' }, request());
      await posting.post(TENANT, draft.id, request());
      posted.push(draft.id);
      return;
    }
    case 'reverse': {
      const id = posted[given.which % Math.max(posted.length, 1)];
      if (id !== undefined) await posting.reverse(TENANT, id, {}, request());
      return;
    }
    case 'open':
      await chart.openAccount(
        TENANT,
        { code: given.code, name: 'New', type: 'Asset', active: true },
        request(),
      );
      return;
    case 'rename':
      await chart.changeAccount(TENANT, given.code, { name: given.name }, request());
      return;
    case 'recode':
      await chart.changeAccount(TENANT, given.code, { code: given.to }, request());
      return;
    case 'lock':
      await chart.lock(TENANT, given.through, request());
      return;
    case 'wait':
      clock.advance(given.days * DAY_MS);
      return;
    default:
      return given satisfies never;
  }
};

type Node = LedgerNode & { readonly clock: ReturnType<typeof testClock> };

/** The answers of all reports at one position, in one currency. */
interface Asked {
  readonly position: Position;
  readonly currency: string;
  readonly answers: readonly unknown[];
}

describe('A report as of a position', () => {
  it('equals the report given when the log ended there, for every position of any history', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 25 }),
        day,
        day,
        fc.nat(40),
        async (steps, one, two, lag) => {
          const clock = testClock();
          const node = { ...startLedger({ clock }), clock };
          await fill(node);
          const [from = one, to = two] = [one, two].sort();
          const model = memoryReadModel(ledgerProjection);
          // A late read model that has only the beginning of the log.
          const late = memoryReadModel(ledgerProjection);
          const asked: Asked[] = [];
          let seen = 0;
          // Asks for all reports after each new event, also after the events within one use case.
          const askAll = async (): Promise<void> => {
            for (const event of (await node.readAll()).slice(seen)) {
              seen += 1;
              model.fold(event);
              if (seen <= lag) late.fold(event);
              for (const currency of ['EUR', 'USD']) {
                const answers = [
                  await presentTrialBalance(model.reader, TENANT, { currency, from: undefined, to }),
                  await presentTrialBalance(model.reader, TENANT, { currency, from, to }),
                  await presentProfitAndLoss(model.reader, TENANT, { currency, from, to }),
                  await presentBalanceSheet(model.reader, TENANT, { currency, asOf: to }),
                ];
                asked.push({ position: event.position, currency, answers });
              }
            }
          };
          const posted: string[] = [];
          for (const each of steps) {
            await play(node, each, posted).catch((error: unknown) => {
              if (!(error instanceof DomainError)) throw error;
            });
            await askAll();
          }
          const travel = new TimeTravel(node);
          const journal = { tenantId: TENANT, category: journalStream.category, id: JOURNAL_ID };
          for (const { position, currency, answers } of asked) {
            const recordedIn = ({ reader }: typeof model) =>
              recordedBefore(reader, TENANT, currency, position, position);
            for (const recorded of [undefined, await recordedIn(model), await recordedIn(late)]) {
              const balancesOf = async (start: string | undefined) => {
                const fold = balancesAsOf({ currency, from: start, to }, recorded);
                const add = (event: LoggedEvent) => fold.add(event as RecordedEvent<JournalEvent>);
                await travel.through(journal, position, add, recorded?.next);
                return fold.balances();
              };
              const [whole, ranged] = [await balancesOf(undefined), await balancesOf(from)];
              expect([
                trialBalance(whole, { currency, from: undefined, to }),
                trialBalance(ranged, { currency, from, to }),
                profitAndLoss(ranged, { currency, from, to }),
                balanceSheet(whole, { currency, asOf: to }),
              ]).to.deep.equal(answers);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  }).timeout(120_000);
});
