import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startUpstream, type TestUpstream } from '../../support/billing-upstream.ts';
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
  afterEach(() => upstream.onCall(() => undefined));

  const newInvoice = async (): Promise<Invoice> => {
    const customer = await newCustomer(world, north);
    await send(customer, 1);
    return generate(north, customer);
  };
  const killed = async (work: () => Promise<unknown>): Promise<void> => {
    await unlessKilled(work());
    await world.server.exited;
    upstream.onCall(() => undefined);
    await world.restart();
    await world.ready();
  };
  const issue = ({ id }: Invoice) => north.api.post(`${INVOICES}/${id}/issue`);

  const endsOnce = async (made: Invoice): Promise<void> => {
    const issued = await issuedAfterAll(north, made);
    expect(issued).to.deep.equal({
      ...made,
      state: 'issued',
      issued_at: issued.issued_at,
      upstream_ref: upstream.documents.get(keyOf(made))?.reference,
    });
    const events = eventsOf(world.server, made.id);
    expect(events.filter((type) => type === 'InvoiceIssued')).to.have.length(1);
    expect([...upstream.documents.keys()].filter((key) => key.includes(made.id))).to.have.length(1);
  };

  for (const [when, fault] of [
    ['before the upstream has taken it', 'hang'],
    ['after the upstream has taken it, before its answer', 'accept and hang'],
    ['as its answer comes', 'none'],
  ] as const) {
    it(`ends issued, with one document, when the server is killed ${when}`, async () => {
      const made = await newInvoice();
      upstream.fail(fault);
      upstream.onCall(() => world.server.signal('SIGKILL'));
      await killed(() => issue(made));
      expect(eventsOf(world.server, made.id).slice(0, 2)).to.deep.equal([
        'InvoiceGenerated',
        'InvoiceIssueStarted',
      ]);
      await endsOnce(made);
    }).timeout(120_000);
  }

  it('is issued after a clean stop, which answers requests that wait for the upstream', async () => {
    const made = await newInvoice();
    upstream.fail('accept and hang');
    upstream.onCall(() => world.server.signal('SIGTERM'));
    await killed(async () => (await issue(made)).as(invoice, 202));
    await endsOnce(made);
  }).timeout(120_000);
});

describe('Generating, and issuing by the embedded recorder, under kill -9', () => {
  after(endWorld);

  it('make one invoice per window, and one document per issued invoice', async () => {
    const world = await startWorld();
    const north = await newPartner(world);
    await priceMessages(north);
    const made: Invoice[] = [];
    for (const delay of [10, 60]) {
      const customers = [];
      for (let i = 0; i < 4; i += 1) {
        const customer = await newCustomer(world, north);
        await send(customer, 1);
        customers.push(customer);
      }
      const working = Promise.all(
        customers.map((customer) =>
          unlessKilled(
            (async () => {
              const { id } = await generate(north, customer);
              await north.api.post(`${INVOICES}/${id}/issue`);
            })(),
          ),
        ),
      );
      setTimeout(() => world.server.signal('SIGKILL'), delay);
      await working;
      await world.server.exited;
      await world.restart();
      await world.ready();
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
