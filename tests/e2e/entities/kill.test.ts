import { expect } from 'chai';
import { untilPasses } from '../../support/eventually.ts';
import { endWorld, type Member, startWorld, type World } from '../../support/world.ts';
import { at, create, define, pointing, records, remove } from './support.ts';

describe('kill -9 during a deletion', () => {
  let world: World;
  let ada: Member;
  let customer: string;
  let order: string;
  let keeper: string;

  before(async () => {
    world = await startWorld();
    const tenant = await world.tenant();
    ada = tenant.admin;
    customer = await define(ada, { key: 'name', type: 'text' });
    order = await define(
      ada,
      pointing('customer', customer, 'cascade'),
      pointing('billed_to', customer, 'clear'),
      { key: 'n', type: 'integer' },
    );
    keeper = await define(ada, pointing('order', order, 'restrict'));
  });
  after(endWorld);

  const SIDE = 60;
  const family = async () => {
    const root = await create(ada, customer);
    const numbers = Array.from({ length: SIDE }, (_, n) => n);
    const goes = await Promise.all(numbers.map((n) => create(ada, order, { customer: root.id, n })));
    const stays = await Promise.all(numbers.map((n) => create(ada, order, { billed_to: root.id, n })));
    return { root, goes, stays };
  };
  const statusOf = async (name: string, id: string) => (await ada.api.get(at(name, id))).status;
  const pointers = async (id: string): Promise<number> => {
    const filter = encodeURIComponent(`customer == "${id}" || billed_to == "${id}"`);
    const found: number[] = [];
    let path: string | undefined = `${at(order)}?limit=200&filter=${filter}`;
    while (path !== undefined) {
      const page = await ada.api.get(path);
      found.push(page.as(records).length);
      path = /<([^>]+)>/.exec(page.header('link') ?? '')?.[1];
    }
    return found.reduce((sum, length) => sum + length, 0);
  };
  const killAfter = async (ms: number): Promise<void> => {
    setTimeout(() => world.server.signal('SIGKILL'), ms);
    expect((await world.server.exited).signal).to.equal('SIGKILL');
    await world.restart();
    await world.ready();
  };

  for (const ms of [8, 60]) {
    it(`after ${ms} ms leaves all or nothing, and no dangling reference`, async () => {
      const { root, goes, stays } = await family();
      const deleting = remove(ada, root).then(
        ({ status }) => status,
        () => 'cut off',
      );
      await killAfter(ms);
      const answered = await deleting;
      await untilPasses(async () => {
        const status = await statusOf(customer, root.id);
        const expected = status === 404 ? 0 : 2 * SIDE;
        expect(await pointers(root.id)).to.equal(expected);
        for (const { id } of [goes[0], goes.at(-1)].filter((each) => each !== undefined)) {
          expect(await statusOf(order, id)).to.equal(status);
        }
      });
      if (answered === 204) expect(await statusOf(customer, root.id)).to.equal(404);
      for (const { id } of stays.slice(0, 5)) expect(await statusOf(order, id)).to.equal(200);
    }).timeout(60_000);
  }

  it('that is restricted leaves everything', async () => {
    const { root, goes } = await family();
    const last = await create(ada, keeper, { order: goes.at(-1)?.id });
    const deleting = remove(ada, root).catch(() => undefined);
    await killAfter(40);
    await deleting;
    await untilPasses(async () => {
      expect(await statusOf(customer, root.id)).to.equal(200);
      expect(await pointers(root.id)).to.equal(2 * SIDE);
    });
    expect((await remove(ada, root)).error).to.equal('in_use');
    expect((await remove(ada, last)).status).to.equal(204);
    expect((await remove(ada, root)).status).to.equal(204);
    await untilPasses(async () => expect(await pointers(root.id)).to.equal(0));
  }).timeout(60_000);
});
