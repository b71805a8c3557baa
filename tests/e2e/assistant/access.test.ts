import { expect } from 'chai';
import { clientOf } from '../../support/client.ts';
import { atPresentPace } from '../../support/pace.ts';
import { startServer } from '../../support/server.ts';
import { tenant as tenantShape } from '../../support/shapes.ts';
import { uploaded } from '../../support/uploads.ts';
import {
  endWorld,
  restartEnded,
  sharedWorld,
  startWorld,
  type TestTenant,
  type World,
} from '../../support/world.ts';
import {
  ASK,
  ask,
  askUntil,
  BACKFILL,
  backfill,
  changeOrder,
  defineOrders,
  entitledTenant,
  MODEL,
  newOrder,
  refusal,
  sourcesOf,
} from './support.ts';

const NOT_ENTITLED = [403, 'assistant_not_entitled'];

describe('The assistant with an embedding model', function () {
  this.timeout(120_000);
  let world: World;

  before(async () => {
    world = await sharedWorld(MODEL);
  });
  after(endWorld);

  const both = async ({ admin: { api } }: TestTenant) => [
    await api.post(ASK, { message: 'Is anybody there?' }),
    await api.post(BACKFILL),
  ];

  for (const [plan, addOn, has] of [
    ['free', false, false],
    ['free', true, false],
    ['hobby', false, false],
    ['hobby', true, true],
    ['pro', false, false],
    ['pro', true, true],
    ['business', false, false],
    ['business', true, true],
    ['enterprise', false, true],
    ['enterprise', true, true],
  ] as const) {
    it(`is ${has ? 'granted' : 'refused'} to ${plan} ${addOn ? 'with' : 'without'} the add-on`, async () => {
      const tenant = await world.tenant();
      const settings = { plan, entitlements: { assistant: addOn } };
      (await world.platform.patch(`/super/tenants/${tenant.id}`, settings)).as(tenantShape);
      for (const answer of await both(tenant)) {
        if (has) expect(answer.status).to.equal(200);
        else {
          expect(refusal(answer)).to.deep.equal(NOT_ENTITLED);
          expect(answer.json).to.have.all.keys('error', 'message');
        }
      }
    });
  }

  it('follows the entitlement at each request', async () => {
    const tenant = await entitledTenant(world);
    for (const [plan, status] of [
      ['free', 403],
      ['enterprise', 200],
      ['pro', 403],
    ] as const) {
      await world.platform.patch(`/super/tenants/${tenant.id}`, { plan });
      for (const answer of await both(tenant)) expect(answer.status, plan).to.equal(status);
    }
  });

  it('is granted to operators, and refuses tenants without the entitlement before it checks the body', async () => {
    const tenant = await entitledTenant(world);
    const otto = await tenant.person('Otto');
    expect((await ask(otto.api, 'Is anybody there?')).retrieved_chunks).to.deep.equal([]);
    expect(await backfill(otto.api)).to.deep.equal({ added: 0, updated: 0, skipped: 0 });
    const plain = await world.tenant();
    expect(refusal(await plain.admin.api.post(ASK, { message: '' }))).to.deep.equal(NOT_ENTITLED);
  });

  it('is separated by tenant, in results and in counts', async () => {
    const [a, b] = [await entitledTenant(world), await entitledTenant(world)];
    await defineOrders(a);
    await defineOrders(b);
    const secret = await newOrder(a.admin.api, {
      name: 'Secret of A',
      promise: 'The vault opens with 4711.',
    });
    await uploaded(a.admin.api, secret, 'The vault stands in the cellar of A.', { filename: 'vault.txt' });
    const question = 'What opens the vault?';
    await askUntil(a.admin, question, (found) => sourcesOf(found).includes(secret.id));
    const found = await ask(b.admin.api, question);
    expect(found.retrieved_chunks).to.deep.equal([]);
    expect(found.reply).not.to.include('4711').and.not.to.include('Secret of A');
    const own = await newOrder(b.admin.api, { name: 'Vault of B', promise: 'It opens with a key.' });
    const mine = await askUntil(b.admin, question, (each) => sourcesOf(each).length > 0);
    expect(sourcesOf(mine)).to.deep.equal([own.id]);
    expect(await backfill(b.admin.api)).to.deep.equal({ added: 0, updated: 0, skipped: 1 });
  });
});

describe('The assistant of servers that end', function () {
  this.timeout(120_000);
  let world: World;

  before(async () => {
    world = await startWorld({ env: MODEL });
  });
  after(endWorld);
  beforeEach(() => restartEnded(world));

  it('finds on one node texts that were written on another, and none that were deleted there', async () => {
    const tenant = await entitledTenant(world);
    await defineOrders(tenant);
    const second = await startServer({ dataDir: world.server.dataDir, env: MODEL });
    const there = { ...tenant.admin, api: (await clientOf(() => second)).with(tenant.admin.token) };
    const order = await newOrder(tenant.admin.api, { name: 'Ferry', promise: 'The ferry leaves at noon.' });
    const question = 'When does the ferry leave?';
    await askUntil(there, question, ({ reply }) => reply.includes('noon'));
    await changeOrder(there.api, order, { promise: 'The ferry leaves at dusk.' });
    await askUntil(tenant.admin, question, ({ reply }) => reply.includes('dusk'));
    await askUntil(there, question, ({ reply }) => reply.includes('dusk') && !reply.includes('noon'));
    await tenant.admin.api.delete(`/api/v1/tenant/entities/orders/records/${order.id}`);
    await askUntil(there, question, ({ retrieved_chunks }) => retrieved_chunks.length === 0);
    await second.stop();
  });

  it('finds what was written just before kill -9', async () => {
    const tenant = await entitledTenant(world);
    await defineOrders(tenant);
    const made = [];
    for (let n = 0; n < 40; n += 1)
      made.push(
        await newOrder(tenant.admin.api, {
          name: `Crate ${n}`,
          promise: `Crate ${n} holds ${n + 100} plums.`,
        }),
      );
    await world.server.kill();
    await world.restart();
    await world.ready();
    for (const n of [0, 20, 39]) {
      await askUntil(tenant.admin, `How many plums does crate ${n} hold?`, ({ reply }) =>
        reply.includes(`${n + 100} plums`),
      );
    }
    expect(await backfill(tenant.admin.api)).to.deep.equal({ added: 0, updated: 0, skipped: made.length });
  });

  it('does not delay a stop while the corpus is built', async () => {
    const tenant = await entitledTenant(world);
    await defineOrders(tenant);
    const order = await newOrder(tenant.admin.api, { name: 'A long read' });
    const lines = Array.from(
      { length: 20_000 },
      (_, n) => `Line ${n} tells of ${n * 7} things in ${n % 91} ways.`,
    );
    await uploaded(tenant.admin.api, order, lines.join('\n'), { filename: 'long.txt' });
    const running = tenant.admin.api.post(BACKFILL).catch(() => undefined);
    const before = performance.now();
    const { code } = await world.server.stop();
    expect(code).to.equal(0);
    expect(performance.now() - before).to.be.lessThan(await atPresentPace(10_000));
    await running;
  });
});

describe('The assistant without an embedding model', function () {
  this.timeout(60_000);
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await startWorld();
    tenant = await entitledTenant(world);
    await defineOrders(tenant);
  });
  after(endWorld);

  it('answers 503 on its two routes, and the rest of the server works', async () => {
    const { api } = tenant.admin;
    const kept = await newOrder(api, { name: 'Kept', promise: 'Pears for the market hall.' });
    const gone = await newOrder(api, { name: 'Gone', promise: 'Quinces for the market hall.' });
    await api.delete(`/api/v1/tenant/entities/orders/records/${gone.id}`);
    await uploaded(api, kept, 'The market hall closes at six.', { filename: 'hours.txt' });
    for (const answer of [await api.post(ASK, { message: 'Pears?' }), await api.post(BACKFILL)])
      expect(refusal(answer)).to.deep.equal([503, 'embedding_model_unavailable']);
    expect(refusal(await api.post(ASK, {})), 'checked before').to.deep.equal([400, 'validation_failed']);
    expect((await api.get('/health/ready')).status).to.equal(200);
    await world.server.stop();
    await world.restart(MODEL);
    await world.ready();
    // Only a vector finds the file by this question. The file gets its vector without a backfill.
    const meant = 'At what time does the shopping arcade shut?';
    await askUntil(tenant.admin, meant, (found) => sourcesOf(found).length > 0);
    const { added, updated, skipped } = await backfill(api);
    expect({ added, total: added + updated + skipped }).to.deep.equal({ added: 0, total: 2 });
    expect(sourcesOf(await ask(api, 'Who gets fruit for the covered market?'))).to.not.include(gone.id);
    expect(sourcesOf(await ask(api, 'When does the market hall close?'))).not.to.deep.equal([]);
  });
});
