import { expect } from 'chai';
import { watchEventLoop } from '../../api/event-loop.ts';
import { mark } from '../../application/core/concurrency/tick-marks.ts';
import { TimeSlices } from '../../application/core/concurrency/time-slices.ts';
import { busyFor } from '../support/busy.ts';
import { untilPasses } from '../support/eventually.ts';
import { useFakeClock } from '../support/fake-timers.ts';

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
      busyFor(2);
      mark('exportEverything');
      busyFor(80);
      mark('short');
      busyFor(2);
      await untilPasses(() => expect(seen).to.have.length(1));
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
  const clock = useFakeClock();

  it('run one per tick, alternating between tenants, when each uses the time of a tick', async () => {
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
        clock.pass(12);
        at.set(ticks, (at.get(ticks) ?? 0) + 1);
      }
    };
    await Promise.all([loop('a'), loop('a'), loop('a'), loop('b')]);
    isOver = true;
    // Tenant b began its loop last, yet waits for only one step of tenant a before each of its own.
    expect(order.slice(0, 6).join('')).to.equal('ababab');
    expect(Math.max(...at.values())).to.equal(1);
  });

  it('give tenants equal time: one starts four short works for each long work of another', async () => {
    const slices = new TimeSlices();
    const order: string[] = [];
    const work = async (tenant: string, ms: number): Promise<void> => {
      await slices.of(tenant, 'work').next();
      order.push(tenant);
      clock.pass(ms);
    };
    const long = Array.from({ length: 4 }, () => work('busy', 4));
    const short = Array.from({ length: 12 }, () => work('quiet', 1));
    await Promise.all([...long, ...short]);
    expect(order.join(' ').replaceAll('quiet', 'q').replaceAll('busy', 'B')).to.equal(
      'B q q q q B q q q q B q q q q B',
    );
  });

  it('serve a tenant that comes later before a tenant that has used more time', async () => {
    const slices = new TimeSlices();
    const order: string[] = [];
    let last: Promise<void> | undefined;
    const busy = async (): Promise<void> => {
      const slice = slices.of('busy', 'loop');
      for (let step = 0; step < 5; step += 1) {
        await slice.next();
        order.push('busy');
        clock.pass(4);
        if (step === 2) last = late();
      }
    };
    const late = async (): Promise<void> => {
      for (let step = 0; step < 3; step += 1) {
        await slices.of('late', 'work').next();
        order.push('late');
        clock.pass(1);
      }
    };
    await busy();
    await last;
    expect(order).to.deep.equal(['busy', 'busy', 'busy', 'late', 'late', 'late', 'busy', 'busy']);
  });

  it('start late works in the same tick as works that waited when the tick was scheduled', async () => {
    const slices = new TimeSlices();
    let ticks = 0;
    let isOver = false;
    const tick = (): void => {
      ticks += 1;
      if (!isOver) setImmediate(tick);
    };
    const begin = async (): Promise<number> => {
      await slices.of('a', 'short').next();
      return ticks;
    };
    const first = begin();
    const others: Promise<number>[] = [];
    // Runs after the first work scheduled the end of the tick, like requests that arrive from sockets.
    queueMicrotask(() => {
      for (let nth = 0; nth < 8; nth += 1) others.push(begin());
    });
    setImmediate(tick);
    const at = await first;
    isOver = true;
    expect(await Promise.all(others)).to.deep.equal(Array.from({ length: 8 }, () => at));
  });

  it('charge a minimum for works that only queue a command, and a maximum for works that were held up', async () => {
    const slices = new TimeSlices();
    const order: string[] = [];
    const queueing = async (): Promise<void> => {
      for (let nth = 0; nth < 100; nth += 1) {
        await slices.of('queueing', 'command').next();
        order.push('queueing');
      }
    };
    const heldUp = async (): Promise<void> => {
      for (const ms of [500, 1]) {
        await slices.of('held up', 'request').next();
        order.push('held up');
        clock.pass(ms);
      }
    };
    await Promise.all([queueing(), heldUp()]);
    expect(order.lastIndexOf('held up')).to.be.within(10, 50);
  });

  it('go on without waiting while their time lasts', async () => {
    const slice = new TimeSlices().of('a', 'loop');
    await slice.next();
    expect(slice.pause()).to.equal(undefined);
    clock.pass(12);
    expect(slice.pause()).to.be.instanceOf(Promise);
  });

  it('let short works begin together while a tick has time, and the rest in later ticks', async () => {
    const slices = new TimeSlices();
    expect(slices.of('a', 'short').begin()).to.equal(undefined);
    expect(slices.of('b', 'short').begin()).to.equal(undefined);
    clock.pass(12);
    const order: string[] = [];
    const begin = async (tenant: string): Promise<void> => {
      await slices.of(tenant, 'short').begin();
      order.push(tenant);
    };
    await Promise.all([begin('a'), begin('a'), begin('a'), begin('b')]);
    expect(order.join('')).to.equal('abaa');
  });
});
