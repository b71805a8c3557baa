import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Fault, startUpstream, type TestUpstream } from '../../support/billing-upstream.ts';
import { newPartner, type TestPartner } from '../../support/partners.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import {
  eventsOf,
  generate,
  INVOICES,
  type Invoice,
  invoice,
  newCustomer,
  priceMessages,
  read,
  send,
} from './invoice-support.ts';

/** Tolerates only a failed connection: a kill does not explain a wrong answer. */
const unlessKilled = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
};

const keyOf = ({ id, revision }: Invoice) => `partner-invoice-${id}-${revision}`;

const issuedAfterAll = (north: TestPartner, made: Invoice): Promise<Invoice> =>
  eventually(
    'issued',
    async () => {
      const now = await read(north, made);
      return now.state === 'issued' ? now : undefined;
    },
    60_000,
  );

describe('An invoice that is being issued when the server ends', () => {
  let world: World;
  let upstream: TestUpstream;
  let north: TestPartner;

  before(async () => {
    upstream = await startUpstream();
    world = await startWorld({ env: { BILLING_UPSTREAM_URL: upstream.url } });
    north = await newPartner(world);
    await priceMessages(north);
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
  /** Issues an invoice. @returns its answer, once the upstream has the call */
  const issue = async ({ id }: Invoice, fault: Fault, signal?: NodeJS.Signals) => {
    const called = Promise.withResolvers<void>();
    const { server } = world;
    upstream.fail(fault);
    upstream.onCall(() => {
      if (signal !== undefined) server.signal(signal);
      called.resolve();
    });
    const answer = unlessKilled(north.api.post(`${INVOICES}/${id}/issue`));
    await called.promise;
    return { answer };
  };
  const restarted = async (): Promise<void> => {
    await world.server.exited;
    upstream.onCall(() => undefined);
    await world.restart();
    await world.ready();
  };

  const endsOnce = async (made: Invoice): Promise<void> => {
    const issued = await issuedAfterAll(north, made);
    expect(issued).to.deep.equal({
      ...made,
      state: 'issued',
      issued_at: issued.issued_at,
      upstream_ref: upstream.documents.get(keyOf(made))?.reference,
    });
    const events = eventsOf(world.server, made.id);
    expect(events.slice(0, 2)).to.deep.equal(['InvoiceGenerated', 'InvoiceIssueStarted']);
    expect(events.filter((type) => type === 'InvoiceIssued')).to.have.length(1);
    expect([...upstream.documents.keys()].filter((key) => key.includes(made.id))).to.have.length(1);
  };

  /** One kill hits three invoices. */
  describe('by kill -9', () => {
    const made = new Map<Fault, Invoice>();

    before(async () => {
      for (const fault of ['hang', 'accept and hang', 'none'] as const) made.set(fault, await newInvoice());
      for (const [fault, one] of made) await issue(one, fault, fault === 'none' ? 'SIGKILL' : undefined);
      await restarted();
    });

    for (const [when, fault] of [
      ['before the upstream has taken it', 'hang'],
      ['after the upstream has taken it, before its answer', 'accept and hang'],
      ['as its answer comes', 'none'],
    ] as const) {
      it(`ends issued, with one document, when the server is killed ${when}`, async () => {
        await endsOnce(made.get(fault) as Invoice);
      }).timeout(120_000);
    }
  });

  it('is issued after a clean stop, which answers requests that wait for the upstream', async () => {
    const made = await newInvoice();
    const { answer } = await issue(made, 'accept and hang', 'SIGTERM');
    expect((await answer)?.as(invoice, 202).id).to.equal(made.id);
    await restarted();
    await endsOnce(made);
  }).timeout(120_000);
});

describe('Generating, and issuing by the embedded recorder, under kill -9', () => {
  after(endWorld);

  it('make one invoice per window, and one document per issued invoice', async () => {
    const world = await startWorld();
    const north = await newPartner(world);
    await priceMessages(north);
    const customers = [];
    for (let i = 0; i < 8; i += 1) {
      const customer = await newCustomer(world, north);
      await send(customer, 1);
      customers.push(customer);
    }
    let generated = 0;
    const working = customers.map((customer) =>
      unlessKilled(
        (async () => {
          const { id } = await generate(north, customer);
          // Some invoices are being generated at the kill, others are being issued.
          generated += 1;
          if (generated === 5) world.server.signal('SIGKILL');
          await north.api.post(`${INVOICES}/${id}/issue`);
        })(),
      ),
    );
    await Promise.all(working);
    await world.server.exited;
    await world.restart();
    await world.ready();
    const made: Invoice[] = [];
    for (const customer of customers) {
      const again = await north.api.post(`${INVOICES}/generate`, { customer_id: customer.id });
      expect([200, 201]).to.include(again.status);
      const [one, ...others] = (await north.api.get(`${INVOICES}?customer_id=${customer.id}`))
        .json as Invoice[];
      expect(others).to.deep.equal([]);
      if (one === undefined) throw new Error('no invoice');
      const asked = await north.api.post(`${INVOICES}/${one.id}/issue`);
      expect([200, 202]).to.include(asked.status);
      made.push(await issuedAfterAll(north, one));
    }
    const folder = join(world.server.dataDir, 'billing');
    const documents = readdirSync(folder).filter((name) => name.endsWith('.json'));
    expect(documents.toSorted()).to.deep.equal(made.map((each) => `${keyOf(each)}.json`).toSorted());
    for (const each of made) {
      expect(each.upstream_ref).to.equal(`recorded-${keyOf(each)}`);
      expect(JSON.parse(readFileSync(join(folder, `${keyOf(each)}.json`), 'utf8'))).to.deep.include({
        id: each.id,
        number: each.number,
        lines: each.lines,
        totals: each.totals,
      });
      expect(eventsOf(world.server, each.id).filter((type) => type === 'InvoiceIssued')).to.have.length(1);
    }
  }).timeout(180_000);
});
