import { expect } from 'chai';
import fc from 'fast-check';
import {
  delayIssue,
  finishIssue,
  generateInvoice,
  type InvoiceDraft,
  type InvoiceEvent,
  type InvoicesState,
  invoicesStream,
  liveInvoice,
  refuseIssue,
  startIssue,
  voidInvoice,
} from '../../../domain/billing/invoice.ts';
import { foldInvoice } from '../../../domain/billing/invoice-view.ts';
import type { StatementLine, Window } from '../../../domain/billing/shapes.ts';
import { BEGINNING, given, refusal } from '../../support/given.ts';

const line = (own: Partial<StatementLine> = {}): StatementLine => ({
  meter: 'jobs_started',
  quantity: 12,
  included: 2,
  billable: 10,
  wholesale_rate: '50',
  retail_rate: '80',
  wholesale: 500,
  retail: 800,
  item_name: 'Jobs',
  item_description: '',
  ...own,
});

const draft = (...lines: readonly StatementLine[]): InvoiceDraft => ({
  partner: { id: 'north', name: 'North' },
  customer: { id: 'acme', name: 'Acme' },
  currency: 'EUR',
  rate_card_version: 3,
  lines: lines.length === 0 ? [line()] : lines,
  totals: { wholesale: 500, retail: 800, margin: 300, margin_pct: 37.5 },
  through: '42',
});

const month = (number: number): Window => ({
  from: `2026-${String(number).padStart(2, '0')}-01T00:00:00.000Z`,
  to: `2026-${String(number + 1).padStart(2, '0')}-01T00:00:00.000Z`,
});
const JAN = month(1);
const FEB = month(2);

const generated = (id: string, window = JAN, revision = 1, n = 1): InvoiceEvent => ({
  type: 'InvoiceGenerated',
  data: {
    ...draft(),
    lines: [line()],
    invoice_id: id,
    number: `acme-${n}`,
    window,
    revision,
    through: '42',
  },
});
const started = (id: string, attempt = 1): InvoiceEvent => ({
  type: 'InvoiceIssueStarted',
  data: { invoice_id: id, revision: 1, attempt },
});
const refused = (id: string, attempt = 1): InvoiceEvent => ({
  type: 'InvoiceIssueRefused',
  data: { invoice_id: id, revision: 1, attempt, error: 'no' },
});
const issued = (id: string): InvoiceEvent => ({
  type: 'InvoiceIssued',
  data: {
    invoice_id: id,
    number: 'acme-1',
    partner: { id: 'north', name: 'North' },
    customer: { id: 'acme', name: 'Acme' },
    window: JAN,
    revision: 1,
    currency: 'EUR',
    lines: [line()],
    totals: draft().totals,
    rate_card_version: 3,
    upstream_ref: 'up-1',
    issued_at: new Date(BEGINNING + 9000).toISOString(),
  },
});
const voided = (id: string, window = JAN, revision = 1): InvoiceEvent => ({
  type: 'InvoiceVoided',
  data: { invoice_id: id, revision, window },
});

const of = (...history: readonly InvoiceEvent[]) => given(invoicesStream, ...history);

describe('An invoice of a customer', () => {
  it('freezes the statement as revision 1, with a number', () => {
    of()
      .when((state) => generateInvoice(state, 'one', JAN, draft()))
      .gives(generated('one'));
  });

  it('is generated once for each window', () => {
    of(generated('one'))
      .when((state) => generateInvoice(state, 'two', JAN, undefined))
      .givesNothing();
    of(generated('one'))
      .when((state) => generateInvoice(state, 'two', FEB, draft()))
      .gives(generated('two', FEB, 1, 2));
  });

  it('refuses a window that overlaps another, but not one that touches it', () => {
    const cut = (from: string, to: string) => ({
      from: `2026-${from}T00:00:00.000Z`,
      to: `2026-${to}T00:00:00.000Z`,
    });
    for (const window of [
      cut('01-31', '02-02'),
      cut('01-10', '01-11'),
      cut('01-01', '02-02'),
      { ...cut('01-01', '02-01'), from: '2025-12-01T00:00:00.000Z' },
    ]) {
      of(generated('one'))
        .when((state) => generateInvoice(state, 'two', window, draft()))
        .isRefused('window_overlap', { invoice_id: 'one', window: JAN });
    }
    const before = { from: '2025-12-01T00:00:00.000Z', to: JAN.from };
    for (const window of [before, FEB]) {
      expect(
        of(generated('one'))
          .when((s) => generateInvoice(s, 'two', window, draft()))
          .events(),
      ).to.have.length(1);
    }
  });

  it('is refused without billable usage', () => {
    for (const lines of [
      [line({ quantity: 2, billable: 0, retail: 0, wholesale: 0 })],
      [line({ unrated: true, wholesale_rate: null, retail_rate: null, retail: 0, wholesale: 0 })],
    ]) {
      of()
        .when((state) => generateInvoice(state, 'one', JAN, draft(...lines)))
        .isRefused('nothing_to_invoice');
    }
    of()
      .when((state) => generateInvoice(state, 'one', JAN, { ...draft(), lines: [] }))
      .isRefused('nothing_to_invoice');
    const free = line({ retail_rate: '0', retail: 0 });
    expect(
      of()
        .when((s) => generateInvoice(s, 'one', JAN, draft(free)))
        .events(),
    ).to.have.length(1);
  });

  it('frees its window when void, for the next revision, but not its number', () => {
    of(generated('one'), voided('one'))
      .when((state) => generateInvoice(state, 'two', JAN, draft()))
      .gives(generated('two', JAN, 2, 2));
    of(generated('one'), voided('one'), generated('two', JAN, 2, 2), voided('two', JAN, 2))
      .when((state) => generateInvoice(state, 'three', JAN, draft()))
      .gives(generated('three', JAN, 3, 3));
    of(generated('one'), voided('one'))
      .when((state) => generateInvoice(state, 'two', FEB, draft()))
      .gives(generated('two', FEB, 1, 2));
  });

  it('can be voided only while it is generated', () => {
    of(generated('one'))
      .when((state) => voidInvoice(state, 'one'))
      .gives(voided('one'));
    const locked = (state: string, ...history: InvoiceEvent[]) =>
      of(generated('one'), ...history)
        .when((invoices) => voidInvoice(invoices, 'one'))
        .isRefused('invoice_locked', { state });
    locked('issuing', started('one'));
    locked('issued', started('one'), issued('one'));
    locked('void', voided('one'));
    of(generated('one'), started('one'), refused('one'))
      .when((state) => voidInvoice(state, 'one'))
      .gives(voided('one'));
  });
});

describe('Issuing an invoice', () => {
  const context = { now: BEGINNING + 9000 };
  const content = { ...draft(), number: 'acme-1', window: JAN, revision: 1 };

  it('begins once', () => {
    of(generated('one'))
      .when((state) => startIssue(state, 'one'))
      .gives(started('one'));
    of(generated('one'), started('one'))
      .when((state) => startIssue(state, 'one'))
      .givesNothing();
    of(generated('one'), started('one'), issued('one'))
      .when((s) => startIssue(s, 'one'))
      .givesNothing();
    of(generated('one'), voided('one'))
      .when((state) => startIssue(state, 'one'))
      .isRefused('invoice_locked', { state: 'void' });
  });

  it('can begin again after a refusal', () => {
    of(generated('one'), started('one'), refused('one'))
      .when((state) => startIssue(state, 'one'))
      .gives(started('one', 2));
  });

  it('ends with the accepted content, announced once and in full', () => {
    const record = (state: InvoicesState) => finishIssue(state, 'one', 'up-1', content, context);
    of(generated('one'), started('one')).when(record, context.now).gives(issued('one'));
    of(generated('one'), started('one')).when(record, context.now).thenAgainNothing();
  });

  it('records an acceptance after a refusal, but not of a void invoice', () => {
    const record = (state: InvoicesState) => finishIssue(state, 'one', 'up-1', content, context);
    of(generated('one'), started('one'), refused('one')).when(record).gives(issued('one'));
    of(generated('one'), started('one'), refused('one'), voided('one')).when(record).givesNothing();
  });

  it('ignores a refusal of an earlier attempt', () => {
    const history = [generated('one'), started('one'), refused('one'), started('one', 2)];
    of(...history)
      .when((state) => refuseIssue(state, 'one', 1, 'no'))
      .givesNothing();
    of(...history)
      .when((state) => refuseIssue(state, 'one', 2, 'no'))
      .gives(refused('one', 2));
    of(generated('one'), started('one'), issued('one'))
      .when((state) => refuseIssue(state, 'one', 1, 'no'))
      .givesNothing();
  });

  it('records each new reason of a delay, at most ten', () => {
    const delayed = (error: string): InvoiceEvent => ({
      type: 'InvoiceIssueDelayed',
      data: { invoice_id: 'one', revision: 1, attempt: 1, error },
    });
    const history = [generated('one'), started('one')];
    of(...history)
      .when((state) => delayIssue(state, 'one', 1, 'a'))
      .gives(delayed('a'));
    of(...history)
      .when((state) => delayIssue(state, 'one', 1, 'a'))
      .thenAgainNothing();
    of(...history, delayed('a'))
      .when((state) => delayIssue(state, 'one', 1, 'b'))
      .gives(delayed('b'));
    const ten = Array.from({ length: 10 }, (_, i) => delayed(`${i}`));
    of(...history, ...ten)
      .when((state) => delayIssue(state, 'one', 1, 'x'))
      .givesNothing();
  });
});

describe('The state of a customer’s invoices', () => {
  it('follows each invoice’s own events, and has no overlaps, after any history', () => {
    const step = fc.record({
      kind: fc.constantFrom('generate', 'start', 'accept', 'refuse', 'delay', 'void'),
      window: fc.record({ from: fc.integer({ min: 1, max: 6 }), length: fc.integer({ min: 1, max: 3 }) }),
      which: fc.nat(8),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let state = invoicesStream.initial;
        const log: InvoiceEvent[] = [];
        const ids: string[] = [];
        steps.forEach(({ kind, window: { from, length }, which }, index) => {
          const id = ids[which % Math.max(1, ids.length)] ?? 'none';
          const window = { from: month(from).from, to: month(from + length - 1).to };
          const attempt = liveInvoice(state, id)?.attempt ?? 0;
          const decide = (): readonly InvoiceEvent[] => {
            switch (kind) {
              case 'generate':
                return generateInvoice(state, `i${index}`, window, draft());
              case 'start':
                return startIssue(state, id);
              case 'accept': {
                const content = { ...draft(), number: 'n', window, revision: 1 };
                return finishIssue(state, id, 'up', content, { now: BEGINNING });
              }
              case 'refuse':
                return refuseIssue(state, id, attempt, 'no');
              case 'delay':
                return delayIssue(state, id, attempt, `e${index}`);
              default:
                return voidInvoice(state, id);
            }
          };
          let events: readonly InvoiceEvent[] = [];
          try {
            events = decide();
          } catch {
            expect(['window_overlap', 'invoice_locked']).to.include(refusal(decide).code);
          }
          for (const event of events) {
            state = invoicesStream.evolve(state, event, { at: BEGINNING + index, revision: log.length });
            log.push(event);
            if (event.type === 'InvoiceGenerated') ids.push(event.data.invoice_id);
          }
        });
        const shown = ids.map((id) =>
          log
            .filter(({ data }) => data.invoice_id === id)
            .reduce<ReturnType<typeof foldInvoice>>(
              (doc, event) => foldInvoice(doc, event, { at: BEGINNING, revision: 0 }),
              undefined,
            ),
        );
        const live = shown.filter((invoice) => invoice?.state !== 'void');
        expect(state.live.map(({ id, state: at, window }) => [id, at, window])).to.deep.equal(
          live.map((invoice) => [invoice?.id, invoice?.state, invoice?.window]),
        );
        for (const { id, at } of state.live) {
          expect(log[at]).to.include({ type: 'InvoiceGenerated' });
          expect(log[at]?.data.invoice_id).to.equal(id);
        }
        const sorted = state.live.toSorted((a, b) => (a.window.from < b.window.from ? -1 : 1));
        sorted.slice(1).forEach((each, i) => {
          expect((sorted[i]?.window.to ?? '') <= each.window.from).to.equal(true);
        });
        const keys = shown.map(
          (invoice) => `${invoice?.window.from}/${invoice?.window.to}/${invoice?.revision}`,
        );
        expect(new Set(keys).size).to.equal(keys.length);
        const numbers = shown.map((invoice) => invoice?.number);
        expect(new Set(numbers.filter((each) => each !== 'n')).size).to.equal(numbers.length);
      }),
    );
  });
});
