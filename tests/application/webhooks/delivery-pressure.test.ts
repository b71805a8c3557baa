import { expect } from 'chai';
import { DeliveryPressure } from '../../../application/webhooks/delivery-pressure.ts';
import { severalTicks, untilPasses } from '../../support/eventually.ts';
import { answered, deliveryOf, running } from './support.ts';

const START = 1_000_000;

/** Two stages of delivery. `first` and `second` hold the time since which a tenant’s oldest webhook waits in each. */
const world = () => {
  const state = { now: START, utilization: 1 };
  const pressure = new DeliveryPressure({ now: () => state.now }, () => state.utilization);
  const first = new Map<string, number>();
  const second = new Map<string, number>();
  const unwatch = pressure.watch((tenantId) => first.get(tenantId));
  pressure.watch((tenantId) => second.get(tenantId));
  return { state, pressure, first, second, unwatch };
};

describe('The pressure of webhooks that wait', () => {
  it('delays writes longer as the tenant’s oldest webhook waits longer, up to a second', () => {
    const { pressure, first, second, state } = world();
    const waits = [0, 250, 450, 1_250, 60_000].map((lag) => {
      state.now += 1_000;
      first.set('acme', state.now - lag);
      second.set('acme', state.now - lag / 2);
      return pressure.delayOf('acme');
    });
    expect(waits).to.deep.equal([0, 0, 100, 500, 1_000]);
    expect(pressure.delayOf('other')).to.equal(0);
  });

  it('delays nothing while the process is idle, since then a slow endpoint causes the wait', () => {
    const { pressure, first, state } = world();
    first.set('acme', START - 10_000);
    state.utilization = 0.5;
    expect(pressure.delayOf('acme')).to.equal(0);
    expect(pressure.pace('acme')).to.equal(undefined);
  });

  it('ends when the stage stops or the clock is set back', () => {
    const { pressure, first, state, unwatch } = world();
    first.set('acme', START - 1_250);
    expect(pressure.delayOf('acme')).to.equal(500);
    state.now -= 3_600_000;
    expect(pressure.delayOf('acme')).to.equal(0);
    state.now = START + 1;
    unwatch();
    state.now += 100;
    expect(pressure.delayOf('acme')).to.equal(0);
  });
});

describe('A webhook that is due', () => {
  const started = running();

  it('counts while its call is under way, and does not count once it is delivered', async () => {
    const { run, schedule, calls, clock, node, pressure, answer } = await started();
    const { promise, resolve } = Promise.withResolvers<void>();
    answer(async () => {
      await promise;
      return answered(200);
    });
    run();
    const id = await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    clock.advance(1_250);
    expect(pressure.delayOf('acme')).to.equal(500);
    expect(pressure.delayOf('globex')).to.equal(0);
    resolve();
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).status).to.equal('delivered'));
    clock.advance(1_250);
    await untilPasses(() => expect(pressure.delayOf('acme')).to.equal(0));
  });

  it('does not count while its endpoint fails', async () => {
    const { run, schedule, calls, clock, node, pressure, answer } = await started();
    answer(() => answered(500));
    run();
    const id = await schedule('a');
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(1));
    await severalTicks();
    // The next attempt is due, and its answer does not come until the end of the test.
    const { promise, resolve } = Promise.withResolvers<void>();
    answer(async () => {
      await promise;
      return answered(500);
    });
    clock.advance(60_000);
    await untilPasses(() => expect(calls).to.have.length(2));
    clock.advance(30_000);
    expect(pressure.delayOf('acme')).to.equal(0);
    resolve();
  });
});
