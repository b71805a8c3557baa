import { expect } from 'chai';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  addRecord,
  deliveries,
  deliveryDetail,
  OPEN,
  ofStatus,
  paidTenant,
  plainEntity,
  readDelivery,
  subscribe,
  test,
  WEBHOOKS,
} from './support.ts';

describe('The history of webhook deliveries', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld(OPEN);
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
  });
  afterEach(closeReceivers);
  after(endWorld);

  const idsWhere = async (hook: string, filter: string): Promise<string[]> =>
    (await deliveries(tenant.admin, hook, filter)).map(({ id }) => id);

  it('is listed by status, event and time, newest first, in pages', async () => {
    const receiver = await startReceiver((one) => (one.envelope.event === 'entity.updated' ? 500 : 204));
    const hook = await subscribe(tenant.admin, receiver.url);
    const records = [];
    for (const title of ['a', 'b', 'c', 'd', 'e'])
      records.push(await addRecord(tenant.admin, 'crate', title));
    for (const id of records.slice(0, 2)) {
      await tenant.admin.api.patch(`/api/v1/tenant/entities/crate/records/${id}`, { values: { title: 'x' } });
    }
    await test(tenant.admin, hook.id);
    await ofStatus(tenant.admin, hook.id, 'delivered', 6);
    await ofStatus(tenant.admin, hook.id, 'dead', 2);
    const all = await deliveries(tenant.admin, hook.id);
    const where = (status?: string, event?: string, from = '') =>
      all
        .filter((each) => (status ?? each.status) === each.status && (event ?? each.event) === each.event)
        .filter(({ created_at }) => created_at >= from)
        .map(({ id }) => id);
    for (const limit of [1, 2, 200]) {
      const of = (filter: string) => idsWhere(hook.id, `limit=${limit}&${filter}`);
      expect(await of('status=dead')).to.deep.equal(where('dead'));
      expect(await of('event=entity.created')).to.deep.equal(where(undefined, 'entity.created'));
      expect(await of('status=delivered')).to.deep.equal(where('delivered'));
      expect(await of('status=dead&event=entity.created')).to.deep.equal([]);
      expect(await of('event=webhook.test&status=delivered')).to.deep.equal(
        where('delivered', 'webhook.test'),
      );
      const from = all[3]?.created_at ?? '';
      expect(await of(`from=${from}`)).to.deep.equal(where(undefined, undefined, from));
      expect(await of(`status=delivered&from=${from}`)).to.deep.equal(where('delivered', undefined, from));
    }
  });

  it('refuses invalid filters, and a cursor of another list', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    await test(tenant.admin, hook.id);
    await test(tenant.admin, hook.id);
    const path = `${WEBHOOKS}/${hook.id}/deliveries`;
    for (const query of ['status=lost', 'event=entity.lost', 'from=yesterday', 'status=']) {
      const answer = await tenant.admin.api.get(`${path}?${query}`);
      expect([answer.status, answer.error], query).to.deep.equal([400, 'validation_failed']);
    }
    const page = await tenant.admin.api.get(`${path}?limit=1&event=webhook.test`);
    const cursor = /cursor=([^&>]+)/.exec(page.header('link') ?? '')?.[1];
    expect(cursor).to.be.a('string');
    expect((await tenant.admin.api.get(`${path}?event=entity.created&cursor=${cursor}`)).status).to.equal(
      400,
    );
  });

  it('shows the body as sent and each attempt with its answer', async () => {
    const statuses = [500, 503, 204];
    const receiver = await startReceiver((_one, response) => {
      const status = statuses[receiver.received.length - 1] ?? 204;
      response.writeHead(status).end(status === 204 ? undefined : `not now, ${status}`);
      return undefined;
    });
    const hook = await subscribe(tenant.admin, receiver.url);
    await addRecord(tenant.admin, 'crate', 'Größe 😀 "quoted"\n');
    const [listed] = await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    expect(listed?.last_error, 'a delivered one shows no error').to.equal(null);
    const id = listed?.id ?? '';
    const shown = await readDelivery(tenant.admin, id);
    const { body, history, subscription_id, ...rest } = shown;
    expect(rest).to.deep.equal(listed);
    expect(subscription_id).to.equal(hook.id);
    expect(Buffer.from(body)).to.deep.equal(receiver.received[0]?.body);
    expect(history.map(({ at, ms, ...each }) => each)).to.deep.equal([
      { attempt: 1, status: 'failed', response_code: 500, error: 'HTTP 500: not now, 500' },
      { attempt: 2, status: 'failed', response_code: 503, error: 'HTTP 503: not now, 503' },
      { attempt: 3, status: 'delivered', response_code: 204, error: null },
    ]);
    expect(history.at(-1)?.at).to.equal(shown.last_attempt_at);
    for (const { ms } of history) expect(ms).to.be.within(0, 60_000);
  });

  it('shows a long body whole, and the attempts of replays', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const values = { title: 'Long', text: '"\\'.repeat(49_000), more: '"\\'.repeat(49_000) };
    await tenant.admin.api.post('/api/v1/tenant/entities/crate/records', { values });
    const [one] = await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    const path = `${WEBHOOKS}/deliveries/${one?.id}`;
    for (let count = 1; count <= 3; count += 1) {
      expect((await tenant.admin.api.post(`${path}/replay`)).status).to.equal(202);
      await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    }
    const shown = await readDelivery(tenant.admin, one?.id ?? '');
    expect(Buffer.from(shown.body)).to.deep.equal(receiver.received[0]?.body);
    expect(shown.history.map(({ attempt }) => attempt)).to.deep.equal([1, 2, 3, 4]);
  });

  it('is gone with its subscription', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const id = await test(tenant.admin, hook.id);
    await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    (await tenant.admin.api.get(`${WEBHOOKS}/deliveries/${id}`)).as(deliveryDetail);
    await tenant.admin.api.delete(`${WEBHOOKS}/${hook.id}`);
    const gone = await tenant.admin.api.get(`${WEBHOOKS}/deliveries/${id}`);
    const unknown = await tenant.admin.api.get(`${WEBHOOKS}/deliveries/${hook.id}`);
    expect([gone.status, gone.text]).to.deep.equal([404, unknown.text]);
  });
});
