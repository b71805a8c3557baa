import { expect } from 'chai';
import { startUpstream, type TestUpstream } from '../../support/billing-upstream.ts';
import { newPartner, type TestPartner } from '../../support/partners.ts';
import { eventually, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import {
  GENERATE,
  INVOICES,
  type Invoice,
  invoice,
  locked,
  monthAhead,
  newCustomer,
  priceMessages,
  read,
  send,
} from './invoice-support.ts';

describe('Invoices on two processes', () => {
  let world: World;
  let other: Server;
  let upstream: TestUpstream;
  let north: TestPartner;

  before(async () => {
    upstream = await startUpstream();
    const dataDir = await newDataFolder();
    const env = { BILLING_UPSTREAM_URL: upstream.url };
    other = await startServer({ dataDir, env });
    world = await startWorld({ dataDir, env });
    north = await newPartner(world);
    await priceMessages(north);
  });
  after(async () => {
    await endWorld();
    await upstream.end();
  });

  const on = (which: number) => (which % 2 === 0 ? north.api : north.api.at(other));
  const keyOf = ({ id, revision }: Invoice) => `partner-invoice-${id}-${revision}`;
  const generated = async (which: number): Promise<Invoice> => {
    const customer = await newCustomer(world, north);
    await send(customer, 1);
    return (await on(which).post(GENERATE, { customer_id: customer.id })).as(invoice, 201);
  };

  it('are generated once per window', async () => {
    for (let round = 0; round < 2; round += 1) {
      const customer = await newCustomer(world, north);
      await send(customer, 1);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => on(i).post(GENERATE, { customer_id: customer.id })),
      );
      expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 200, 200, 200, 200, 201]);
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    }
  }).timeout(60_000);

  it('are generated for exactly one of twenty overlapping windows requested at once', async () => {
    const customer = await newCustomer(world, north);
    await send(customer, 1);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        on(i).post(GENERATE, { customer_id: customer.id, from: monthAhead(-i), to: monthAhead(1) }),
      ),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).to.deep.equal([201, ...Array<number>(19).fill(409)]);
    for (const { status, error } of answers) if (status === 409) expect(error).to.equal('window_overlap');
    const made = answers.find(({ status }) => status === 201)?.as(invoice, 201);
    const listed = await north.api.get(`${INVOICES}?customer_id=${customer.id}`);
    expect(listed.json).to.deep.equal([made]);
  }).timeout(60_000);

  it('are visible to the other process at once', async () => {
    for (let round = 0; round < 4; round += 1) {
      const made = await generated(round);
      const path = `${INVOICES}/${made.id}`;
      if (round < 2) {
        expect((await on(round + 1).post(`${path}/issue`)).as(invoice).state).to.equal('issued');
        expect((await on(round).post(`${path}/void`)).as(locked, 409).details.state).to.equal('issued');
      } else {
        expect((await on(round + 1).post(`${path}/void`)).as(invoice).state).to.equal('void');
        expect((await on(round).post(`${path}/issue`)).as(locked, 409).details.state).to.equal('void');
      }
    }
  }).timeout(60_000);

  it('are issued by one call to the upstream, whichever process gets the request', async () => {
    for (let round = 0; round < 2; round += 1) {
      const made = await generated(round);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => on(i).post(`${INVOICES}/${made.id}/issue`)),
      );
      for (const { status } of answers) expect([200, 202]).to.include(status);
      await eventually('issued', async () => (await read(north, made)).state === 'issued', 30_000);
      expect(upstream.calls.filter(({ key }) => key === keyOf(made))).to.have.length(1);
    }
  }).timeout(120_000);

  it('are issued by the remaining process when the other is killed', async () => {
    const made = await generated(0);
    upstream.fail({ status: 503 }, 'accept and drop', { status: 503 });
    (await on(1).post(`${INVOICES}/${made.id}/issue`)).as(invoice, 202);
    other.signal('SIGKILL');
    await other.exited;
    await eventually('issued', async () => (await read(north, made)).state === 'issued', 60_000);
    expect([...upstream.documents.keys()].filter((key) => key === keyOf(made))).to.have.length(1);
  }).timeout(120_000);
});
