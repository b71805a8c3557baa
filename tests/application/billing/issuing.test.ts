import { expect } from 'chai';
import { upstreamKey } from '../../../application/billing/issuing.ts';
import { invoicesStream, refuseIssue, voidInvoice } from '../../../domain/billing/invoice.ts';
import type { Invoice } from '../../../domain/billing/invoice-view.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { severalTicks, untilPasses } from '../../support/eventually.ts';
import { faultyEvents } from '../../support/faults.ts';
import {
  cause,
  type Invoicing,
  invoicesOf,
  invoicing,
  JAN,
  SCOPE,
  type SendFault,
  statesOf,
  typesOf,
} from './support.ts';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

describe('Issuing an invoice to the upstream', () => {
  let at: Invoicing;
  let invoice: Invoice;
  let key: string;

  beforeEach(async () => {
    at = await invoicing();
    ({ invoice } = await at.node.invoices.generate('north', 'acme', JAN, at.context()));
    key = upstreamKey(invoice);
  });

  const issue = (on = at.node) => on.invoices.issue('north', invoice.id, at.context());
  const one = () => ({ scope: SCOPE, customerId: 'acme', invoiceId: invoice.id });
  const refusalOf = async (work: Promise<unknown>): Promise<DomainError> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error instanceof DomainError) return error;
    throw new Error('it was not refused', { cause: error });
  };

  it('ends as issued, and a repeated request does not call the upstream', async () => {
    const { invoice: issued } = await issue();
    expect(issued).to.include({ state: 'issued', upstream_ref: `ref-${key}` });
    const again = await issue();
    expect(again.invoice).to.deep.equal(issued);
    expect(at.upstream.calls).to.deep.equal([`send ${key}`]);
    expect(await typesOf(at.node)).to.deep.equal([
      'InvoiceGenerated',
      'InvoiceIssueStarted',
      'InvoiceIssued',
    ]);
  });

  it('stores the intent before the call', async () => {
    at.upstream.pause = async () => {
      expect(await typesOf(at.node)).to.deep.equal(['InvoiceGenerated', 'InvoiceIssueStarted']);
    };
    await issue();
  });

  it('stores all fields that posting rules need', async () => {
    await issue();
    const [, , stored] = await at.node.events.readStream(`${SCOPE}.invoices-acme`);
    const { data } = JSON.parse(JSON.stringify(at.node.codec.decode(stored ?? expect.fail('no event'))));
    expect(data).to.deep.equal({
      invoice_id: invoice.id,
      number: 'acme-1',
      partner: { id: 'north', name: 'Partner north' },
      customer: { id: 'acme', name: 'Tenant acme' },
      window: JAN,
      revision: 1,
      currency: 'EUR',
      lines: invoice.lines,
      totals: { wholesale: 500, retail: 800, margin: 300, margin_pct: 37.5 },
      rate_card_version: 1,
      upstream_ref: `ref-${key}`,
      issued_at: data.issued_at,
    });
  });

  it('returns to generated with the reason after a final refusal, and can be issued again', async () => {
    at.upstream.sends = ['refuse'];
    const error = await refusalOf(issue());
    expect([error.code, error.details]).to.deep.equal(['upstream_refused', { reason: 'HTTP 422: no' }]);
    // The stored refusal counts as a write of the caller (read your writes).
    const { position } = await invoicesOf(at.node);
    expect(at.wrote).to.deep.equal([position]);
    expect(await at.node.log.invoice(SCOPE, 'acme', invoice.id)).to.deep.equal({
      ...invoice,
      last_error: 'HTTP 422: no',
    });
    const { invoice: issued } = await issue();
    expect(issued.state).to.equal('issued');
    expect(issued).not.to.have.property('last_error');
    expect(at.upstream.calls).to.deep.equal([`send ${key}`, `send ${key}`]);
  });

  it('accepts a refusal of a keyed request without a look-up', async () => {
    at.upstream.sends = ['refuse'];
    const error = await refusalOf(at.node.invoices.issue('north', invoice.id, at.context('key')));
    expect(error.code).to.equal('upstream_refused');
    expect(at.upstream.calls).to.deep.equal([`send ${key}`]);
  });

  it('looks the invoice up when an earlier try of a keyed request may have called', async () => {
    const stop = at.nodeOf();
    at.upstream.sends = ['accept unheard', 'refuse'];
    at.upstream.pause = async (call) => {
      if (call === 'send') stop.invoices.stop();
    };
    const cut = await stop.invoices.issue('north', invoice.id, at.context('key'));
    expect(cut.invoice.state).to.equal('issuing');
    const { invoice: issued } = await at.node.invoices.issue('north', invoice.id, at.context('key'));
    expect(issued.state).to.equal('issued');
    expect(at.upstream.calls).to.deep.equal([`send ${key}`, `send ${key}`, `find ${key}`]);
  });

  it('stays issuing without an answer, cannot be voided, and a repeated request does not call', async () => {
    at.upstream.sends = ['unheard'];
    const { invoice: waiting } = await issue();
    expect(waiting).to.include({ state: 'issuing', last_error: 'There was no answer.' });
    expect((await issue()).invoice).to.deep.equal(waiting);
    expect(at.upstream.calls).to.have.length(1);
    const error = await refusalOf(at.node.invoices.void('north', invoice.id, at.context()));
    expect([error.code, error.details]).to.deep.equal(['invoice_locked', { state: 'issuing' }]);
  });

  it('is retried in the background after 1, 2, 4, … at most 60 s', async () => {
    const sends: SendFault[] = Array.from({ length: 9 }, () => 'unheard');
    at.upstream.sends = [...sends];
    await issue();
    const began = at.clock.now();
    const worker = at.node.run();
    const times: number[] = [];
    for (let calls = 2; calls <= 10; ) {
      if (at.upstream.calls.length >= calls) {
        times.push((at.clock.now() - began) / 1000);
        calls += 1;
      }
      await severalTicks();
      await untilPasses(() => expect(at.clock.next()).not.to.equal(undefined));
      at.clock.advance(at.clock.next() ?? 0);
    }
    await untilPasses(async () => expect(await statesOf(at.node)).to.deep.equal(['issued']));
    await worker.end();
    const gaps = times.map((time, i) => time - (times[i - 1] ?? 0));
    [1, 2, 4, 8, 16, 32, 60, 60, 60].forEach((wanted, i) => {
      expect(gaps[i], `${gaps}`).to.be.within(wanted, wanted + 1.5);
    });
    expect(at.upstream.documents.size).to.equal(1);
    // A repeated reason appends no further event.
    expect(await typesOf(at.node)).to.deep.equal([
      'InvoiceGenerated',
      'InvoiceIssueStarted',
      'InvoiceIssueDelayed',
      'InvoiceIssued',
    ]);
  }).timeout(20_000);

  it('has one document when the answer was lost', async () => {
    at.upstream.sends = ['accept unheard'];
    expect((await issue()).invoice.state).to.equal('issuing');
    expect(await at.node.issuing.attempt(one(), false, never)).to.equal('ended');
    expect(await statesOf(at.node)).to.deep.equal(['issued']);
    expect(at.upstream.documents.size).to.equal(1);
  });

  it('looks the invoice up before it sends more than an hour late', async () => {
    at.upstream.sends = ['unheard', 'unheard'];
    await issue();
    at.clock.advance(HOUR_MS);
    await at.node.issuing.attempt(one(), false, never);
    at.clock.advance(1);
    at.upstream.finds = ['unheard'];
    expect(await at.node.issuing.attempt(one(), false, never)).to.equal('waiting');
    expect(await at.node.issuing.attempt(one(), false, never)).to.equal('ended');
    expect(at.upstream.calls.map((call) => call.split(' ')[0])).to.deep.equal([
      'send',
      'send',
      'find',
      'find',
      'send',
    ]);
    expect(await statesOf(at.node)).to.deep.equal(['issued']);
  });

  it('does not send an invoice that the late look-up found', async () => {
    at.upstream.sends = ['accept unheard'];
    await issue();
    at.clock.advance(HOUR_MS + 1);
    expect(await at.node.issuing.attempt(one(), false, never)).to.equal('ended');
    expect(at.upstream.calls).to.deep.equal([`send ${key}`, `find ${key}`]);
    expect(await statesOf(at.node)).to.deep.equal(['issued']);
  });

  it('does not accept a refusal when an earlier call may have been accepted', async () => {
    at.upstream.sends = ['accept unheard', 'refuse'];
    await issue();
    at.upstream.finds = ['unheard'];
    expect(await at.node.issuing.attempt(one(), false, never)).to.equal('waiting');
    expect(await statesOf(at.node)).to.deep.equal(['issuing']);
    at.upstream.sends = ['refuse'];
    expect(await at.node.issuing.attempt(one(), false, never)).to.equal('ended');
    expect(await statesOf(at.node)).to.deep.equal(['issued']);
  });

  it('stays void when the void came before the answer, and logs that the upstream has the invoice', async () => {
    at.upstream.pause = async () => {
      // Another process records a refusal and then voids the invoice.
      const of = { tenantId: SCOPE, type: invoicesStream, id: 'acme', cause: cause('another') };
      await at.node.commands.execute({ ...of, decide: (state) => refuseIssue(state, invoice.id, 1, 'no') });
      await at.node.commands.execute({ ...of, decide: (state) => voidInvoice(state, invoice.id) });
    };
    await refusalOf(issue());
    expect((await at.node.log.invoice(SCOPE, 'acme', invoice.id))?.state).to.equal('void');
    expect(at.node.logger.lines).to.deep.include({
      level: 'error',
      fields: { invoice_id: invoice.id, upstream_ref: `ref-${key}` },
      message: 'the upstream accepted an invoice that is void',
    });
  });

  it('accepts the refusal when the upstream has no invoice', async () => {
    at.upstream.sends = ['unheard', 'refuse'];
    await issue();
    expect(await at.node.issuing.attempt(one(), false, never)).to.equal('ended');
    expect(await statesOf(at.node)).to.deep.equal(['generated']);
  });

  it('sends one document for concurrent requests on two nodes', async () => {
    const other = at.nodeOf();
    const held = Promise.withResolvers<void>();
    at.upstream.pause = () => held.promise;
    const all = Promise.all(Array.from({ length: 10 }, (_, i) => issue(i % 2 === 0 ? at.node : other)));
    await untilPasses(() => expect(at.upstream.calls).to.have.length(1));
    await severalTicks();
    held.resolve();
    const states = (await all).map(({ invoice: each }) => each.state);
    expect(states).to.include('issued');
    expect(states.every((state) => state === 'issued' || state === 'issuing')).to.equal(true);
    expect(at.upstream.calls).to.have.length(1);
    expect(await typesOf(at.node)).to.deep.equal([
      'InvoiceGenerated',
      'InvoiceIssueStarted',
      'InvoiceIssued',
    ]);
  });

  it('is aborted when the process stops, and continued by the next process', async () => {
    const held = Promise.withResolvers<void>();
    at.upstream.pause = () => held.promise;
    at.upstream.sends = ['accept unheard'];
    const asked = issue();
    await untilPasses(() => expect(at.upstream.calls).to.have.length(1));
    at.node.invoices.stop();
    held.resolve();
    expect((await asked).invoice.state).to.equal('issuing');
    at.upstream.pause = async () => undefined;
    const next = at.nodeOf();
    const worker = next.run();
    at.clock.advance(1000);
    await untilPasses(async () => expect(await statesOf(next)).to.deep.equal(['issued']));
    await worker.end();
    expect(at.upstream.documents.size).to.equal(1);
  });

  for (const fault of ['unavailable before', 'unavailable after'] as const) {
    it(`ends as issued with one document when the answer cannot be stored (${fault})`, async () => {
      const node = at.nodeOf({ events: faultyEvents(at.stores.events, ['none', fault]) });
      const answer = await issue(node);
      expect(answer.invoice.state).to.equal(fault === 'unavailable before' ? 'issuing' : 'issued');
      const next = at.nodeOf();
      const worker = next.run();
      at.clock.advance(1000);
      await untilPasses(async () => expect(await statesOf(next)).to.deep.equal(['issued']));
      await worker.end();
      expect(at.upstream.documents.size).to.equal(1);
      expect((await typesOf(next)).filter((type) => type === 'InvoiceIssued')).to.have.length(1);
    });
  }

  it('continues after an interrupted keyed request whose start was stored', async () => {
    const held = at.nodeOf({ events: faultyEvents(at.stores.events, ['unavailable after']) });
    const cut = await held.invoices
      .issue('north', invoice.id, at.context('key'))
      .catch((error: unknown) => error);
    expect(cut).to.be.instanceOf(Error);
    expect(at.upstream.calls).to.deep.equal([]);
    const { invoice: issued } = await at.node.invoices.issue('north', invoice.id, at.context('key'));
    expect(issued.state).to.equal('issued');
    expect(at.upstream.calls).to.have.length(1);
  });
});
