import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { type Fault, startUpstream, type TestUpstream } from '../../support/billing-upstream.ts';
import type { Answer } from '../../support/client.ts';
import { atPresentPace } from '../../support/pace.ts';
import { newPartner, type TestPartner } from '../../support/partners.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import {
  eventsOf,
  generate,
  INVOICES,
  type Invoice,
  invoice,
  locked,
  newCustomer,
  priceMessages,
  read,
  send,
} from './invoice-support.ts';

const TOKEN = 'the-billing-upstream-token-of-the-tests';
const refusal = z.object({
  error: z.literal('upstream_refused'),
  details: z.object({ reason: z.string() }),
});

/** Answers that count as none. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'a conflict': { status: 409 },
  'too many requests': { status: 429 },
  'a redirect': { status: 307 },
  'a page': { status: 200, body: '<html>Welcome</html>', accepts: true },
  'a success without a reference': { status: 201, body: '{"reference":""}', accepts: true },
  'a body above the size limit': { status: 200, body: ' '.repeat(200_000) },
};

/** Decisions, section 10, Issue: an upstream with every kind of fault. */
describe('Issuing to an upstream billing system', () => {
  let world: World;
  let upstream: TestUpstream;
  let north: TestPartner;
  const retried = new Map<string, Failing>();
  let failingLong: Failing;

  before(async () => {
    upstream = await startUpstream();
    world = await startWorld({ env: { BILLING_UPSTREAM_URL: upstream.url, BILLING_UPSTREAM_TOKEN: TOKEN } });
    north = await newPartner(world);
    await priceMessages(north);
    // The pauses between the attempts of these invoices pass at the same time.
    failingLong = await failing(...Array.from({ length: 5 }, () => ({ status: 500 })));
    for (const [what, fault] of Object.entries(FAULTS)) retried.set(what, await failing(fault));
  });
  after(async () => {
    await endWorld();
    await upstream.end();
  });

  const newInvoice = async (): Promise<Invoice> => {
    const customer = await newCustomer(world, north);
    await send(customer, 1);
    return generate(north, customer);
  };
  const issue = ({ id }: Invoice) => north.api.post(`${INVOICES}/${id}/issue`);
  const keyOf = ({ id, revision }: Invoice) => `partner-invoice-${id}-${revision}`;
  interface Failing {
    readonly made: Invoice;
    readonly answer: Answer;
  }
  /** Issues an invoice whose first posts fail. */
  const failing = async (...faults: readonly Fault[]): Promise<Failing> => {
    const made = await newInvoice();
    upstream.failFor(keyOf(made), ...faults);
    return { made, answer: await issue(made) };
  };
  const callsFor = (made: Invoice) => upstream.calls.filter(({ key }) => key === keyOf(made));
  const issuedInTime = (made: Invoice, withinMs = 30_000) =>
    eventually(
      'issued',
      async () => {
        const now = await read(north, made);
        return now.state === 'issued' ? now : undefined;
      },
      withinMs,
    );

  it('sends the frozen content with key and token, and stores the reference', async () => {
    const made = await newInvoice();
    const answer = await issue(made);
    const issued = answer.as(invoice);
    const [call] = callsFor(made);
    expect(call).to.include({ method: 'POST', authorization: `Bearer ${TOKEN}` });
    const { state: _state, ...frozen } = made;
    expect(JSON.parse(call?.body ?? '')).to.deep.equal({
      ...frozen,
      partner: { id: north.id, name: `Partner ${north.id}` },
    });
    const reference = upstream.documents.get(keyOf(made))?.reference;
    expect(issued).to.deep.equal({
      ...made,
      state: 'issued',
      issued_at: issued.issued_at,
      upstream_ref: reference,
    });
    expect((await issue(made)).text).to.equal(answer.text);
    expect(callsFor(made)).to.have.length(1);
  });

  it('can be refused: the invoice has the state generated again, with the reason', async () => {
    const made = await newInvoice();
    upstream.fail({ status: 400, body: JSON.stringify({ message: `no, ${TOKEN}` }) });
    const refused = (await issue(made)).as(refusal, 422);
    expect(refused.details.reason).to.equal('HTTP 400: no, ***');
    expect(await read(north, made)).to.deep.equal({ ...made, last_error: 'HTTP 400: no, ***' });
    (await issue(made)).as(invoice);
    const other = await newInvoice();
    // A repetition with the same key is refused as well.
    const headers = { 'idempotency-key': randomUUID() };
    upstream.fail({ status: 422 }, { status: 403 });
    for (let round = 0; round < 2; round += 1) {
      const keyed = await north.api.post(`${INVOICES}/${other.id}/issue`, undefined, { headers });
      keyed.as(refusal, 422);
    }
    expect(callsFor(other).map(({ method }) => method)).to.deep.equal(['POST', 'POST']);
    (await north.api.post(`${INVOICES}/${other.id}/void`)).as(invoice);
  });

  it('waits for a lost answer, prevents voiding, and ends with one document', async () => {
    const made = await newInvoice();
    upstream.fail('accept and drop', { status: 503 });
    const waiting = (await issue(made)).as(invoice, 202);
    expect(waiting.state).to.equal('issuing');
    expect(waiting.last_error).to.be.a('string');
    const refused = await north.api.post(`${INVOICES}/${made.id}/void`);
    expect(refused.as(locked, 409).details.state).to.equal('issuing');
    expect((await north.api.patch(`${INVOICES}/${made.id}`, {})).as(locked, 409).details.state).to.equal(
      'issuing',
    );
    const issued = await issuedInTime(made);
    expect(issued.upstream_ref).to.equal(upstream.documents.get(keyOf(made))?.reference);
    expect(issued).not.to.have.property('last_error');
    const bodies = callsFor(made).map(({ body }) => body);
    expect(bodies.length).to.be.greaterThan(1);
    expect(new Set(bodies.filter((body) => body !== '')).size).to.equal(1);
    expect(eventsOf(world.server, made.id).filter((type) => type === 'InvoiceIssued')).to.have.length(1);
  }).timeout(60_000);

  for (const what of Object.keys(FAULTS)) {
    it(`treats ${what} as no answer, and retries`, async () => {
      const { made, answer } = retried.get(what) ?? failingLong;
      answer.as(invoice, 202);
      await issuedInTime(made);
      expect(upstream.documents.has(keyOf(made))).to.equal(true);
      expect(eventsOf(world.server, made.id).at(-1)).to.equal('InvoiceIssued');
    }).timeout(60_000);
  }

  it('answers while the upstream is silent, and continues later', async () => {
    const began = performance.now();
    const { made, answer } = await failing('accept and hang');
    answer.as(invoice, 202);
    expect(performance.now() - began).to.be.within(9000, await atPresentPace(20_000));
    await issuedInTime(made);
  }).timeout(60_000);

  it('succeeds after five failures', async () => {
    const { made, answer } = failingLong;
    answer.as(invoice, 202);
    await issuedInTime(made, 80_000);
    expect(callsFor(made)).to.have.length(6);
  }).timeout(120_000);

  it('sends one document for concurrent requests', async () => {
    const made = await newInvoice();
    const answers = await Promise.all(Array.from({ length: 8 }, () => issue(made)));
    for (const { status } of answers) expect([200, 202]).to.include(status);
    await issuedInTime(made);
    expect(callsFor(made)).to.have.length(1);
  }).timeout(60_000);

  it('excludes concurrent voiding: exactly one of the two succeeds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const made = await newInvoice();
      const [issued, voided] = await Promise.all([
        issue(made),
        north.api.post(`${INVOICES}/${made.id}/void`),
      ]);
      expect([issued.status, voided.status].toSorted()).to.deep.equal([200, 409]);
      expect(upstream.documents.has(keyOf(made))).to.equal(issued.status === 200);
    }
  }).timeout(60_000);

  it('leaves the token out of log and stores', async () => {
    expect(world.server.output()).not.to.include(TOKEN);
    const folder = world.server.dataDir;
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    );
    for (const file of files.filter((each) => statSync(each).isFile())) {
      expect(readFileSync(file).includes(TOKEN), file).to.equal(false);
    }
    expect(files.length).to.be.greaterThan(4);
  });
});
