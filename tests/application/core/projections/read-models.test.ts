import { expect } from 'chai';
import { ReadModels } from '../../../../application/core/projections/read-models.ts';
import type { Clock } from '../../../../application/ports/clock.ts';
import type { Position } from '../../../../application/ports/event-store.ts';
import { formatPosition } from '../../../../infrastructure/event-store/positions.ts';
import { systemClock } from '../../../../infrastructure/identity/ids.ts';
import { refusalCode, severalTicks, untilPasses } from '../../../support/eventually.ts';
import { withFakeTimers } from '../../../support/fake-timers.ts';
import {
  GENERATION,
  poison,
  type ReadModelKit,
  readModelKit,
  tallies,
} from '../../../support/read-model-kit.ts';

const FAR = formatPosition(1_000_000);
const stamped = (position: Position | undefined): Position => {
  if (position === undefined) throw new Error('no position');
  return position;
};
const tallyOf = async (models: ReadModels, tenant = 'acme') =>
  models.reader('tallies').get<{ entries: string[] }>('tallies', tenant, 'one');

describe('read models', () => {
  let kit: ReadModelKit;
  const ends: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    poison.active = true;
    kit = await readModelKit();
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await kit.store.close();
  });

  /** Read models of a node whose projection runner is running. */
  const folding = async (clock: Clock = kit.clock): Promise<ReadModels> => {
    const { store } = kit;
    const models = new ReadModels([tallies()], store, clock);
    const host = kit.runner({ store });
    const stopping = new AbortController();
    const work = host.run(stopping.signal);
    ends.push(async () => {
      stopping.abort();
      await work;
    });
    models.attach([host]);
    await untilPasses(() => expect(host.folds('v1')).to.equal(true));
    return models;
  };
  /** Read models of a node without a projection runner. */
  const reading = (): ReadModels => new ReadModels([tallies()], kit.store, kit.node.clock);

  it('show a tenant its own writes at once', async () => {
    const models = await folding();
    for (let n = 1; n <= 20; n += 1) {
      const { position } = await kit.write('acme', `a${n}`);
      models.answered('acme', stamped(position));
      await models.waitFor('acme', ['tallies'], undefined);
      expect((await tallyOf(models))?.entries).to.have.length(n);
    }
  });

  it('read no store when there is nothing to wait for', async () => {
    const models = await folding();
    models.answered('acme', stamped((await kit.write('acme', 'a1')).position));
    await models.waitFor('acme', ['tallies'], undefined);
    expect(models.waitFor('acme', ['tallies'], undefined)).to.equal(undefined);
    expect(models.waitFor('beta', ['tallies'], undefined)).to.equal(undefined);
    expect(models.waitFor('acme', [], undefined)).to.equal(undefined);
  });

  it('do not wait for another tenant’s writes or background work', async () => {
    const models = await folding();
    models.answered('acme', stamped((await kit.write('acme', 'a1')).position));
    await models.waitFor('acme', ['tallies'], undefined);
    models.answered('beta', FAR);
    expect(models.waitFor('acme', ['tallies'], undefined)).to.equal(undefined);
  });

  it('report the longest wait and count requests', () =>
    withFakeTimers(async ({ pass }) => {
      const models = reading();
      expect(models.longestWait()).to.equal(0);
      const before = models.requestCount;
      const refused = refusalCode(models.waitFor('acme', ['tallies'], FAR) ?? Promise.resolve());
      await pass(300);
      expect(models.longestWait()).to.equal(300);
      await pass(5000);
      expect(await refused).to.equal('read_model_behind');
      expect(models.longestWait()).to.equal(0);
      expect(models.requestCount).to.be.greaterThan(before);
    }));

  it('tell whether a projection folded here reaches a position in time', async () => {
    const models = await folding();
    const position = stamped((await kit.write('acme', 'a1')).position);
    await models.waitFor('acme', ['tallies'], undefined);
    expect(await models.reachesWithin('tallies', position, 5000)).to.equal(true);
    expect(await models.reachesWithin('tallies', FAR, 30)).to.equal(false);
    expect(await models.reachesWithin('unknown', FAR, 30)).to.equal(true);
    expect(await reading().reachesWithin('tallies', FAR, 30), 'folded elsewhere').to.equal(true);
  });

  it('wait for all tenants’ writes when read across tenants', async () => {
    const models = await folding();
    const { position } = await kit.write('acme', 'a1');
    models.answered('acme', stamped(position));
    await models.waitFor(undefined, ['tallies'], undefined);
    expect((await tallyOf(models))?.entries).to.deep.equal(['a1']);
  });

  it('wait for a requested position and answer 503 when it is not reached', async () => {
    const models = await folding();
    const { position } = await kit.write('acme', 'a1');
    await models.waitFor('acme', ['tallies'], stamped(position));
    await withFakeTimers(async ({ pass }) => {
      const waiting = models.waitFor('acme', ['tallies'], FAR);
      if (waiting === undefined) throw new Error('it did not wait');
      let answer: string | undefined;
      const refused = refusalCode(waiting).then((code) => {
        answer = code;
      });
      await pass(4900);
      expect(answer).to.equal(undefined);
      await pass(200);
      await refused;
      expect(answer).to.equal('read_model_behind');
    });
  });

  it('answer 503 at once for a parked tenant, and for no other tenant', async () => {
    const models = await folding();
    models.answered('acme', stamped((await kit.write('acme', 'a1', 'poison')).position));
    models.answered('beta', stamped((await kit.write('beta', 'b1')).position));
    await models.waitFor('beta', ['tallies'], undefined);
    const waiting = models.waitFor('acme', ['tallies'], undefined);
    if (waiting === undefined) throw new Error('it did not wait');
    expect(await refusalCode(waiting)).to.equal('read_model_behind');
  });

  it('of a node without folding wait for stored checkpoints', async () => {
    await folding();
    const models = reading();
    for (let n = 1; n <= 5; n += 1) {
      const { position } = await kit.write('acme', `a${n}`);
      models.answered('acme', stamped(position));
      await models.waitFor('acme', ['tallies'], undefined);
      expect((await tallyOf(models))?.entries).to.have.length(n);
      expect(await models.reached(position)).to.equal(true);
    }
    expect(await models.reached(FAR)).to.equal(false);
  });

  it('of a node without folding know parked tenants too', async () => {
    const folder = await folding();
    const models = reading();
    models.answered('acme', stamped((await kit.write('acme', 'a1', 'poison')).position));
    folder.answered('beta', stamped((await kit.write('beta', 'b1')).position));
    await folder.waitFor('beta', ['tallies'], undefined);
    const waiting = models.waitFor('acme', ['tallies'], undefined);
    if (waiting === undefined) throw new Error('it did not wait');
    expect(await refusalCode(waiting)).to.equal('read_model_behind');
  });

  it('report no checkpoint for a parked tenant', async () => {
    const folder = await folding();
    await kit.write('acme', 'a1', 'poison');
    folder.answered('beta', stamped((await kit.write('beta', 'b1')).position));
    await folder.waitFor('beta', ['tallies'], undefined);
    await untilPasses(async () => {
      for (const models of [folder, reading()]) {
        expect(await models.reader('tallies').checkpoint('acme')).to.equal(undefined);
        expect(await models.reader('tallies').checkpoint('beta')).to.equal(await kit.events.end());
      }
    });
  });

  it('answer from an older build’s generation while this build’s is built', async () => {
    const models = new ReadModels([tallies(2)], kit.store, kit.node.clock);
    await kit.store.prepare(GENERATION, tallies().collections);
    await kit.store.setActiveGeneration('tallies', { active: 'v1', building: 'v2' });
    models.answered('acme', FAR);
    await models.waitFor('acme', ['tallies'], undefined);
    expect(await tallyOf(models)).to.equal(undefined);
  });

  it('answer 503 until this build’s version is active when that is required', async () => {
    const models = new ReadModels([tallies(2)], kit.store, kit.node.clock);
    await kit.store.prepare(GENERATION, tallies().collections);
    await kit.store.setActiveGeneration('tallies', { active: 'v1', building: 'v2' });
    expect(await refusalCode(models.requirePresentVersion('tallies'))).to.equal('read_model_behind');
    await kit.store.setActiveGeneration('tallies', { active: 'v2', building: undefined });
    const later = new ReadModels([tallies(2)], kit.store, kit.node.clock);
    await later.requirePresentVersion('tallies');
  });

  it('continue during a rebuild and always show earlier writes', async () => {
    const models = await folding(systemClock);
    const asker = kit.runner({ name: 'asker' });
    const tookOver = async () => (await kit.store.activeGeneration('tallies')).active === 'v1.1';
    // Writes until the rebuild is active and 50 times more, since readers notice it later.
    for (let n = 1, after = 0; after < 50; n += 1) {
      const { position } = await kit.write('acme', `a${n}`);
      models.answered('acme', stamped(position));
      if (n === 5) expect(await asker.rebuild()).to.equal('v1.1');
      await models.waitFor('acme', ['tallies'], undefined);
      expect((await tallyOf(models))?.entries).to.have.length(n);
      if (await tookOver()) after += 1;
      await severalTicks(5);
    }
  }).timeout(15_000);
});
