import { expect } from 'chai';
import { scrapeOf } from '../../support/metrics.ts';
import { eventually } from '../../support/server.ts';
import { listen } from '../../support/socket.ts';
import { forSuite } from '../../support/suite.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, startWorld } from '../../support/world.ts';
import { ASK } from '../assistant/support.ts';
import { committed, edit, preview } from '../bulk/support.ts';
import { create } from '../entities/support.ts';
import { makeRule, withSales } from '../ledger/rules-support.ts';
import {
  addRecord,
  OPEN,
  ofStatus,
  paidTenant,
  plainEntity,
  subscribe,
  WEBHOOKS,
} from '../webhooks/support.ts';

describe('Metrics of a running server', () => {
  const here = forSuite(
    async () => {
      const world = await startWorld({ env: { ...OPEN, LOGIN_LIMIT_PER_MINUTE: '5' } });
      return { world, receiver: await startReceiver() };
    },
    async () => {
      await endWorld();
      await closeReceivers();
    },
  );

  const scrape = async () => scrapeOf((await here().world.anybody.get('/metrics')).text);
  /** Waits for a metric's value; sampled values are up to ten seconds old. */
  const reads = (name: string, expected: number, labels: Readonly<Record<string, string>> = {}) =>
    eventually(
      `${name} ${JSON.stringify(labels)} is ${expected}`,
      async () => ((await scrape()).value(`workflow_${name}`, labels) === expected ? true : undefined),
      60_000,
    );

  it('count webhook attempts by result, pending deliveries, dead letters and paused subscriptions', async () => {
    const { world, receiver } = here();
    const tenant = await paidTenant(world);
    const { admin } = tenant;
    const good = await subscribe(admin, `${receiver.url}/good`);
    const bad = await subscribe(admin, `${receiver.url}/bad`);
    receiver.behave(({ path }) => (path.endsWith('/bad') ? 500 : 204));
    await plainEntity(tenant, 'things');
    await addRecord(admin, 'things', 'one');
    await ofStatus(admin, good.id, 'delivered', 1);
    await ofStatus(admin, bad.id, 'dead', 1);
    await reads('webhook_attempt_duration_seconds_count', 1, { result: 'delivered' });
    await reads('webhook_attempt_duration_seconds_count', 5, { result: 'failed' });
    await admin.api.patch(`${WEBHOOKS}/${good.id}`, { state: 'paused' });
    await reads('webhook_dead_letters', 1);
    await reads('webhook_subscriptions_paused', 1);
    await reads('webhook_deliveries_pending', 0);
    await reads('webhook_oldest_due_seconds', 0);
  });

  it('count deliveries that wait, and how long the oldest has been due', async () => {
    const { world, receiver } = here();
    const tenant = await paidTenant(world);
    const { admin } = tenant;
    let answer: () => void = () => undefined;
    receiver.behave((_received, response) => {
      answer = () => response.writeHead(204).end();
      return undefined;
    });
    await subscribe(admin, `${receiver.url}/slow`);
    await plainEntity(tenant, 'things');
    await addRecord(admin, 'things', 'one');
    await reads('webhook_deliveries_pending', 1);
    await eventually('it has been due for a while', async () => {
      const due = (await scrape()).value('workflow_webhook_oldest_due_seconds') ?? 0;
      return due > 0.2 ? true : undefined;
    });
    answer();
    receiver.behave(() => 204);
    await reads('webhook_deliveries_pending', 0);
  });

  it('count posting failures, rows of bulk commits and questions', async () => {
    const { world } = here();
    const { tenant, entity } = await withSales(world);
    await makeRule(tenant.admin.api, { date: 'values.day' });
    const { id } = await create(tenant.admin, entity, { total: 5 });
    await reads('posting_failures_open', 1);
    const { id: session } = await preview(tenant.admin, entity, edit({ title: 'new' }), [id]);
    await committed(tenant.admin, session);
    await reads('bulk_rows_processed_total', 1, { outcome: 'succeeded' });
    await reads('bulk_rows_queued', 0);
    const paid = await paidTenant(world);
    const asked = await paid.admin.api.post(ASK, { message: 'What is promised?', history: [] });
    expect(asked.status, asked.text).to.equal(503);
    await reads('assistant_question_duration_seconds_count', 1, { outcome: 'unavailable' });
  });

  it('count closed sockets by close code; codes of clients share one series', async () => {
    const { world } = here();
    const { admin } = await world.tenant();
    for (const code of [1000, 4321, 4322]) {
      const socket = await listen(world.server, admin.token);
      socket.raw.close(code);
      await socket.closed;
    }
    await reads('websockets_closed_total', 1, { code: '1000' });
    await reads('websockets_closed_total', 2, { code: 'other' });
  });

  it('count requests beyond a limit', async () => {
    const { world } = here();
    let refused = 0;
    // The limit of 5 admits one more request every 12 s, and a slow machine may take that long.
    for (let i = 0; i < 12; i += 1) {
      const { status } = await world.anybody.post('/auth/login', {});
      if (status === 429) refused += 1;
    }
    expect(refused).to.be.within(1, 7);
    await reads('requests_refused_total', refused, { limit: 'address' });
  });

  it('show lag of subscribers, sizes of stores, age of heads and the build', async () => {
    const headAge = async () => (await scrape()).value('workflow_signed_heads_age_seconds') ?? 61;
    await eventually('heads are signed', async () => (await headAge()) <= 60, 60_000);
    const found = await scrape();
    for (const store of ['log', 'read_models']) {
      expect(found.value('workflow_store_bytes', { store })).to.be.above(4096);
    }
    expect(found.value('workflow_build_info', { role: 'all', node: process.version })).to.equal(1);
    expect(found.value('nodejs_eventloop_lag_p99_seconds')).to.be.a('number');
    for (const subscriber of ['webhook-fan-out', 'mention-notifier', 'rule-poster', 'note-notifier']) {
      expect(found.value('workflow_subscriber_lag_seconds', { subscriber }), subscriber).to.be.at.least(0);
      await reads('subscriber_tenants_behind', 0, { subscriber });
      await reads('subscriber_lag_seconds', 0, { subscriber });
    }
  });

  it('have labels of few values: no ids', async () => {
    const { world } = here();
    const tenant = await world.tenant();
    await tenant.admin.api.get('/api/v1/tenant/me');
    const { text } = await scrape();
    expect(text)
      .not.to.match(/[0-9a-f]{8}-[0-9a-f]{4}-/)
      .and.not.to.contain(tenant.id);
  });
});
