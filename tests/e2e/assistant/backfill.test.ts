import { expect } from 'chai';
import { z } from 'zod';
import { clientOf } from '../../support/client.ts';
import { eventually, type Server, startServer } from '../../support/server.ts';
import { upload, uploaded } from '../../support/uploads.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  ASK,
  ask,
  askUntil,
  BACKFILL,
  backfill,
  changeOrder,
  defineOrders,
  ENTITIES,
  entitle,
  entitledTenant,
  MODEL,
  newOrder,
  ORDERS,
  refusal,
  sourcesOf,
} from './support.ts';

const THINGS = ['lamps', 'ladders', 'carpets', 'mirrors', 'kettles', 'pianos', 'saddles', 'anchors'];
const WORDS = ['gondolas', 'harmonicas', 'igloos', 'kimonos', 'lanterns', 'zithers', 'xylophones', 'quills'];
const promiseOf = (n: number): string =>
  `Lot ${n} is ${n + 3} ${THINGS[n % THINGS.length]} by week ${n % 52}.`;

/** Creates records. A backfill finds those that were created before the tenant had the assistant. */
const fill = async (tenant: TestTenant, count: number) => {
  const made = [];
  for (let n = 0; n < count; n += 1)
    made.push(await newOrder(tenant.admin.api, { name: `Order of lot ${n}`, promise: promiseOf(n) }));
  return made;
};

describe('The backfill of the corpus', function () {
  this.timeout(240_000);
  let world: World;
  let second: Server;
  let witness: TestTenant;

  before(async () => {
    world = await startWorld({ env: MODEL });
    second = await startServer({ dataDir: world.server.dataDir, env: MODEL });
    witness = await entitle(world, await plain());
  });
  after(endWorld);

  const plain = async (): Promise<TestTenant> => {
    const tenant = await world.tenant();
    await defineOrders(tenant);
    return tenant;
  };

  /** Waits until the corpus has caught up with the log: another tenant's new record is found. */
  const passed = async (): Promise<void> => {
    // Each call uses another word, since the assistant returns only the first of similar passages.
    const word = WORDS.pop();
    if (word === undefined) throw new Error('one more word is needed');
    const later = await newOrder(witness.admin.api, { name: `The ${word}`, promise: word });
    await askUntil(witness.admin, word, (found) => sourcesOf(found).includes(later.id));
  };

  /** Entitles the tenant after its records were created. */
  const entitleLater = async (tenant: TestTenant): Promise<void> => {
    await passed();
    await entitle(world, tenant);
  };

  /** A client of a person on the second node. */
  const onSecond = async (tenant: TestTenant) => (await clientOf(() => second)).with(tenant.admin.token);

  it('counts sources exactly, and a second backfill changes nothing', async () => {
    const tenant = await plain();
    const { api } = tenant.admin;
    const [first] = await fill(tenant, 12);
    if (first === undefined) throw new Error('nothing was made');
    await uploaded(api, first, 'The pianos are tuned each spring.', { filename: 'pianos.txt' });
    await uploaded(api, first, 'a,b\n1,2\n', { filename: 'table.csv', type: 'text/csv' });
    await uploaded(api, first, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0]), {
      filename: 'photo.png',
      type: 'image/png',
    });
    await entitleLater(tenant);
    expect(await backfill(api)).to.deep.equal({ added: 14, updated: 0, skipped: 0 });
    expect(await backfill(api)).to.deep.equal({ added: 0, updated: 0, skipped: 14 });
    expect(sourcesOf(await ask(api, 'When are the pianos tuned?'))).not.to.deep.equal([]);
  });

  it('updates sources that changed while the tenant had no assistant; their old texts are not found', async () => {
    const tenant = await entitle(world, await plain());
    const { api } = tenant.admin;
    const [first, deleted] = await fill(tenant, 2);
    if (first === undefined || deleted === undefined) throw new Error('nothing was made');
    const question = 'What is lot 0?';
    await askUntil(tenant.admin, question, (found) => sourcesOf(found).includes(first.id));
    await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'free' });
    await changeOrder(api, first, { promise: 'Lot 0 is nothing but umbrellas.' });
    expect((await api.delete(`${ENTITIES}/${ORDERS}/records/${deleted.id}`)).status).to.equal(204);
    await entitleLater(tenant);
    const other = await newOrder(api, { name: 'Later than that', promise: 'Parasols' });
    await askUntil(tenant.admin, 'parasols', (found) => sourcesOf(found).includes(other.id));
    expect((await ask(api, question)).reply).not.to.include('lamps');
    const { added, updated, skipped } = await backfill(api);
    expect(added + updated, 'the changed one').to.equal(1);
    expect(skipped).to.equal(1);
    expect((await ask(api, question)).reply).to.include('umbrellas');
  });

  it('follows a change of the schema’s labels', async () => {
    const tenant = await entitle(world, await plain());
    const { api } = tenant.admin;
    await fill(tenant, 3);
    await backfill(api);
    await passed();
    const entity = (await api.get(`${ENTITIES}/${ORDERS}`)).as(
      z.looseObject({ fields: z.array(z.looseObject({ key: z.string() })) }),
    );
    const fields = entity.fields.map((field) =>
      field.key === 'promise' ? { ...field, label: 'Commitment' } : field,
    );
    expect((await api.patch(`${ENTITIES}/${ORDERS}`, { fields })).status).to.equal(200);
    expect(await backfill(api)).to.deep.equal({ added: 0, updated: 3, skipped: 0 });
    expect(await backfill(api)).to.deep.equal({ added: 0, updated: 0, skipped: 3 });
  });

  it('is joined by a second request that arrives while it runs, on the same node or another', async () => {
    const [all, none] = [
      { added: 60, updated: 0, skipped: 0 },
      { added: 0, updated: 0, skipped: 60 },
    ];
    // Repeats, since on a busy machine a request may arrive after the backfill has ended.
    for (let round = 0; round < 5; round += 1) {
      const tenant = await plain();
      await fill(tenant, 60);
      await entitleLater(tenant);
      const there = await onSecond(tenant);
      const { api } = tenant.admin;
      const counts = await Promise.all([backfill(api), backfill(api), backfill(there)]);
      for (const each of counts) expect([all, none]).to.deep.include(each);
      expect(await backfill(there)).to.deep.equal(none);
      if (counts.every(({ added }) => added === 60)) return;
    }
    expect.fail('in no round all requests arrived while the backfill ran');
  });

  it('starts at once on a node whose cached plan still lacks the assistant', async () => {
    const tenant = await plain();
    await fill(tenant, 1);
    const there = await onSecond(tenant);
    // Repeats, since the other node learns of a change of the plan after a varying delay.
    for (let round = 0; round < 5; round += 1) {
      expect((await there.post(ASK, { message: 'What is lot 0?' })).status).to.equal(403);
      await entitle(world, tenant);
      expect((await there.post(BACKFILL)).status, `round ${round}`).to.equal(200);
      await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'free' });
      await eventually('the plan ends', async () => (await there.post(BACKFILL)).status === 403);
    }
  });

  it('never replaces a newer text by an older one during edits, deletions and truncations', async () => {
    const tenant = await plain();
    const { api } = tenant.admin;
    const orders = await fill(tenant, 60);
    const long = Array.from(
      { length: 60 },
      (_, n) => `Clause ${n} of the marble contract speaks of case ${n}.`,
    );
    const shrinking = await newOrder(api, { name: 'Marble contract', promise: long.join('\n') });
    await entitle(world, tenant);
    const running = Promise.all([backfill(api), backfill(await onSecond(tenant))]);
    for (const [n, order] of orders.entries()) {
      if (n % 3 === 0)
        await changeOrder(api, order, { promise: `Lot ${n} has become a giraffe, number ${n}.` });
      if (n % 10 === 1) await api.delete(`${ENTITIES}/${ORDERS}/records/${order.id}`);
    }
    await changeOrder(api, shrinking, { promise: 'The marble contract was cut down to one clause.' });
    await running;
    const last = orders.at(-3);
    await askUntil(tenant.admin, 'What was the marble contract cut down to?', ({ reply }) =>
      reply.includes('cut down to one clause'),
    );
    for (const n of [0, 30, 57]) {
      const found = await askUntil(tenant.admin, `What has lot ${n} become?`, ({ reply }) =>
        reply.includes(`giraffe, number ${n}.`),
      );
      expect(found.reply).not.to.include(promiseOf(n));
    }
    expect(last).not.to.equal(undefined);
    const clause = await ask(api, 'What does clause 44 of the marble contract speak of?');
    expect(clause.reply, 'no tail is left').not.to.include('case 44');
    const deleted = await ask(api, 'What is lot 11?');
    expect(sourcesOf(deleted)).not.to.include(orders[11]?.id);
    const { added, updated } = await backfill(api);
    expect({ added, updated }, 'nothing was left to do').to.deep.equal({ added: 0, updated: 0 });
  });

  it('accepts attachments that are empty, huge, disguised binary or wrongly encoded', async () => {
    const tenant = await plain();
    const { api } = tenant.admin;
    const order = await newOrder(api, { name: 'A place for files' });
    const text = { type: 'text/plain' };
    await uploaded(api, order, '', { filename: 'empty.txt', ...text });
    const line = 'An ordinary line of an enormous file about wool and yarn.\n';
    await uploaded(api, order, 'The password of the wool shed is Merino.\n'.concat(line.repeat(60_000)), {
      filename: 'huge.txt',
      ...text,
    });
    const bytes = new Uint8Array(50_000).map((_, index) => (index * 7919) % 256);
    const disguised = await uploaded(api, order, bytes, { filename: 'disguised.txt', ...text });
    const latin = Buffer.from(
      'Die T\xfcren der K\xfcche wurden in Eiche bestellt, sagte der Tischler.',
      'latin1',
    );
    const broken = await uploaded(api, order, latin, { filename: 'broken.txt', ...text });
    const wide = Buffer.concat([
      Buffer.from([0xff, 0xfe]),
      Buffer.from('Sixteen bits of tulips.', 'utf16le'),
    ]);
    const utf16 = await uploaded(api, order, wide, { filename: 'wide.txt', ...text });
    const csv = await upload(api, order, '"never closed,1\n2,"3"x"\n\0', {
      filename: 'odd.csv',
      type: 'text/csv',
    });
    expect(csv.status).to.equal(201);
    await entitleLater(tenant);
    const { added, updated, skipped } = await backfill(api);
    expect({ total: added + updated + skipped, updated }).to.deep.equal({ total: 7, updated: 0 });
    expect(added, 'record, huge, broken, sixteen bits').to.equal(4);
    expect(await backfill(api)).to.deep.equal({ added: 0, updated: 0, skipped: 7 });
    expect(sourcesOf(await ask(api, 'What is the password of the wool shed?'))).not.to.deep.equal([]);
    expect(sourcesOf(await ask(api, 'Sixteen bits of tulips'))).to.include(utf16.id);
    const doors = await ask(api, 'Eiche bestellt, Tischler');
    expect(sourcesOf(doors)).to.include(broken.id).and.not.to.include(disguised.id);
  });

  it('ends when the tenant loses the assistant', async () => {
    const tenant = await plain();
    await fill(tenant, 80);
    await entitle(world, tenant);
    const running = tenant.admin.api.post(BACKFILL);
    await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'free' });
    const answer = await running;
    expect(refusal(answer)).to.deep.equal([403, 'assistant_not_entitled']);
    expect(answer.json).to.have.all.keys('error', 'message');
  });

  it('continues after kill -9, and loses nothing', async () => {
    const tenant = await plain();
    await fill(tenant, 60);
    await entitle(world, tenant);
    const begun = tenant.admin.api.post(BACKFILL).catch(() => undefined);
    await askUntil(tenant.admin, 'What is lot 1?', (found) => found.retrieved_chunks.length > 0);
    await world.server.kill();
    await begun;
    await world.restart();
    await world.ready();
    const { added, updated, skipped } = await backfill(tenant.admin.api);
    // After the kill, the subscriber resumes at a slightly earlier position. The backfill counts sources that are
    // stored without vectors as updated.
    expect(added + updated + skipped).to.equal(60);
    expect(skipped, 'what was done stayed done').to.be.greaterThan(0);
    expect(await backfill(tenant.admin.api)).to.deep.equal({ added: 0, updated: 0, skipped: 60 });
  });

  it('is taken over by a waiting request when its node crashes', async () => {
    const tenant = await plain();
    await fill(tenant, 60);
    await entitle(world, tenant);
    const begun = (await onSecond(tenant)).post(BACKFILL).catch(() => undefined);
    await askUntil(tenant.admin, 'What is lot 1?', (found) => found.retrieved_chunks.length > 0);
    const waiting = backfill(tenant.admin.api);
    await second.kill();
    await begun;
    const { added, updated, skipped } = await waiting;
    expect(added + updated + skipped).to.equal(60);
    expect(await backfill((await entitledTenant(world)).admin.api)).to.deep.equal({
      added: 0,
      updated: 0,
      skipped: 0,
    });
  });
});
