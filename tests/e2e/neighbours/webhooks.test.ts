import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, startWorld } from '../../support/world.ts';
import { addRecord, OPEN, paidTenant, plainEntity, subscribe } from '../webhooks/support.ts';
import { allDone, doneAfter, numbers, pooled } from './busy-tenant.ts';

const SUBSCRIPTIONS = 100;
const RECORDS = 15;

describe('many webhooks in one tenant', () => {
  const here = forSuite(
    async () => {
      const world = await startWorld({ env: OPEN });
      return { world, busy: await paidTenant(world), quiet: await paidTenant(world) };
    },
    async () => {
      await closeReceivers();
      await endWorld();
    },
  );

  it("do not delay another tenant's webhook, and all are delivered", async () => {
    const { world, busy, quiet } = here();
    const receiver = await startReceiver();
    for (const tenant of [busy, quiet]) await plainEntity(tenant, 'thing');
    await pooled(numbers(SUBSCRIPTIONS), 16, () => subscribe(busy.admin, receiver.url));
    await subscribe(quiet.admin, receiver.url.replace('/hook', '/quiet'));
    await pooled(numbers(RECORDS), 8, (n) => addRecord(busy.admin, 'thing', `${n}`));
    await addRecord(quiet.admin, 'thing', 'quiet');
    const arrived = () => receiver.received.findIndex(({ path }) => path === '/quiet');
    await eventually("the quiet tenant's webhook", () => arrived() >= 0, 20_000);
    await allDone(world, busy, 'DeliverySucceeded', SUBSCRIPTIONS * RECORDS, 60_000);
    // A late answer may make a call come twice.
    const sent = new Set(receiver.received.map(({ envelope }) => envelope.id));
    expect(sent.size).to.equal(SUBSCRIPTIONS * RECORDS + 1);
    expect(receiver.received.length - arrived()).to.be.greaterThan((SUBSCRIPTIONS * RECORDS) / 4);
    const scheduled = await doneAfter(world, 'DeliveryScheduled', { quiet, busy });
    expect(scheduled).to.be.greaterThan((SUBSCRIPTIONS * RECORDS) / 4);
  }).timeout(120_000);
});
