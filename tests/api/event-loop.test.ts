import { expect } from 'chai';
import { watchEventLoop } from '../../api/event-loop.ts';
import { mark } from '../../application/core/concurrency/tick-marks.ts';
import { TimeSlices } from '../../application/core/concurrency/time-slices.ts';
import { eventually } from '../support/eventually.ts';

const work = (ms: number): void => {
  const began = process.threadCpuUsage().user;
  while (process.threadCpuUsage().user - began < ms * 1000);
};

describe('The watch of the event loop', () => {
  it('names the code that held a tick, and how long', async () => {
    const seen: [string, number][] = [];
    const logged: object[] = [];
    const stop = watchEventLoop(
      { eventLoopBlocked: (code, seconds) => seen.push([code, seconds]) },
      { debug: (fields) => logged.push(fields), warn: (fields) => logged.push(fields) },
    );
    try {
      mark('short');
      work(2);
      mark('exportEverything');
      work(80);
      mark('short');
      work(2);
      await eventually(() => expect(seen).to.have.length(1));
      const [[code, seconds] = ['', 0]] = seen;
      expect(code).to.equal('exportEverything');
      expect(seconds).to.be.within(0.06, 0.6);
      expect(logged).to.have.length(1);
      expect(logged[0]).to.include({ code: 'exportEverything' });
    } finally {
      stop();
    }
  });
});

describe('Slices of long loops', () => {
  it('run one per tick when they use its time, tenants in turn', async () => {
    const slices = new TimeSlices();
    const order: string[] = [];
    let ticks = 0;
    let isOver = false;
    const tick = (): void => {
      ticks += 1;
      if (!isOver) setImmediate(tick);
    };
    tick();
    const at = new Map<number, number>();
    const loop = async (tenant: string): Promise<void> => {
      const slice = slices.of(tenant, 'loop');
      for (let step = 0; step < 3; step += 1) {
        await slice.next();
        order.push(tenant);
        work(12);
        at.set(ticks, (at.get(ticks) ?? 0) + 1);
      }
    };
    await Promise.all([loop('a'), loop('a'), loop('a'), loop('b')]);
    isOver = true;
    // The fourth loop is the second tenant's: it never waits for more than one of the others.
    expect(order.slice(0, 6).join('')).to.equal('ababab');
    expect(Math.max(...at.values())).to.equal(1);
  });

  it('go on without waiting while their time lasts', async () => {
    const slice = new TimeSlices().of('a', 'loop');
    await slice.next();
    expect(slice.pause()).to.equal(undefined);
    work(12);
    expect(slice.pause()).to.be.instanceOf(Promise);
  });

  it('let short works begin together while a tick has time, and others in the next ones', async () => {
    const slices = new TimeSlices();
    expect(slices.of('a', 'short').begin()).to.equal(undefined);
    expect(slices.of('b', 'short').begin()).to.equal(undefined);
    work(12);
    const order: string[] = [];
    const begin = async (tenant: string): Promise<void> => {
      await slices.of(tenant, 'short').begin();
      order.push(tenant);
    };
    await Promise.all([begin('a'), begin('a'), begin('a'), begin('b')]);
    expect(order.join('')).to.equal('abaa');
  });
});
