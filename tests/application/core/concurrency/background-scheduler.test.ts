import { expect } from 'chai';
import fc from 'fast-check';
import {
  BackgroundScheduler,
  QUANTUM_MS,
  type Quantum,
  runInGroups,
} from '../../../../application/core/concurrency/background-scheduler.ts';
import { timeSlices } from '../../../../application/core/concurrency/time-slices.ts';
import { severalTicks } from '../../../support/eventually.ts';
import { useFakeClock, withFakeTimers } from '../../../support/fake-timers.ts';

/** One quantum at a time; each quantum takes the time that its work says. */
const schedule = (clock: ReturnType<typeof useFakeClock>, weightOf: (tenant: string) => number = () => 1) => {
  const scheduler = new BackgroundScheduler({ atOnce: 1, weightOf });
  const served: { readonly tenant: string; readonly from: number; readonly to: number }[] = [];
  const work = async (tenant: string, ms: number): Promise<void> => {
    const quantum = await scheduler.take(tenant, 'test');
    const from = clock.now();
    clock.pass(ms);
    served.push({ tenant, from, to: clock.now() });
    await Promise.resolve();
    quantum.end();
  };
  return { scheduler, served, work, now: clock.now, advance: clock.pass };
};

describe('the quanta of tenants', () => {
  const clock = useFakeClock();

  it("serve a quiet tenant's work after at most one quantum of each busy tenant", async () => {
    const property = fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 8, maxLength: 20 }), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.integer({ min: 1, max: 6 }),
      async (busy, after) => {
        const { served, work, now } = schedule(clock);
        const all = busy.flatMap((works, n) => works.map((ms) => work(`busy${n}`, ms)));
        while (served.length < after) await Promise.resolve();
        const asked = now();
        await work('quiet', 1);
        const before = served.filter(({ tenant, to }) => tenant !== 'quiet' && to > asked);
        const at = served.find(({ tenant }) => tenant === 'quiet');
        const spent = new Map<string, number>();
        for (const { tenant, from, to } of before) {
          if (to > (at?.from ?? 0)) continue;
          spent.set(tenant, Math.max(spent.get(tenant) ?? 0, 0) + to - from);
        }
        // At most a quantum, and the last work that began within it (60 ms at most).
        for (const ms of spent.values()) expect(ms).to.be.below(QUANTUM_MS + 60);
        await Promise.all(all);
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });

  it('are granted one at a time, with pauses, while a read waits for its read model', () =>
    withFakeTimers(async ({ now, pass }) => {
      let longestRead = 1000;
      const scheduler = new BackgroundScheduler({ atOnce: 4, longestRead: () => longestRead });
      const granted: number[] = [];
      const all = Array.from({ length: 6 }, async (_, n) => {
        const quantum = await scheduler.take(`tenant${n}`, 'test');
        granted.push(now());
        quantum.end();
      });
      await pass(149);
      expect(granted).to.deep.equal([0, 50, 100]);
      longestRead = 0;
      await pass(1);
      await Promise.all(all);
      expect(granted.slice(3)).to.deep.equal([150, 150, 150]);
    }));

  it('share the time equally between busy tenants, however long their works are', async () => {
    const { served, work } = schedule(clock);
    const all = [
      ...Array.from({ length: 400 }, () => work('short', 2)),
      ...Array.from({ length: 40 }, () => work('long', 50)),
    ];
    while (served.length < 150) await Promise.resolve();
    const timeOf = (name: string): number =>
      served.reduce((sum, { tenant, from, to }) => (tenant === name ? sum + to - from : sum), 0);
    expect(timeOf('short') / timeOf('long')).to.be.within(0.3, 3);
    await Promise.all(all);
  });

  it('share the time of busy tenants by their weights', async () => {
    const { served, work } = schedule(clock, (tenant) => (tenant === 'heavy' ? 4 : 1));
    const all = ['light', 'heavy'].flatMap((name) => Array.from({ length: 800 }, () => work(name, 5)));
    while (served.length < 500) await Promise.resolve();
    const heavy = served.slice(0, 500).filter(({ tenant }) => tenant === 'heavy').length;
    expect(heavy / (500 - heavy)).to.be.within(3.2, 4.8);
    await Promise.all(all);
  });

  it('give the slot of a work that exceeds its quantum to others while it runs', () =>
    withFakeTimers(async ({ now, pass }) => {
      const scheduler = new BackgroundScheduler({ atOnce: 1 });
      const slow = await scheduler.take('busy', 'test');
      let servedAt = 0;
      const waiting = scheduler.take('quiet', 'test').then((quick) => {
        servedAt = now();
        quick.end();
      });
      await pass(2 * QUANTUM_MS);
      await waiting;
      expect(servedAt).to.equal(QUANTUM_MS);
      slow.end();
      (await scheduler.take('busy', 'test')).end();
    }));

  it('go on until their time is over, and then let others pass', async () => {
    const { scheduler, advance } = schedule(clock);
    const quantum = await scheduler.take('busy', 'test');
    await quantum.next();
    let isServed = false;
    const waiting = scheduler.take('quiet', 'test').then((quiet) => {
      isServed = true;
      quiet.end();
    });
    await quantum.next();
    expect(isServed).to.equal(false);
    advance(QUANTUM_MS);
    await quantum.next();
    expect(isServed).to.equal(true);
    await waiting;
    quantum.end();
  });
});

describe('works in groups', () => {
  const clock = useFakeClock();

  it('start in order, group by group, and end with the first error of a group', async () => {
    const started: number[] = [];
    let granted = 0;
    const quantum: Quantum = {
      isOver: false,
      next: async () => {
        granted += 1;
      },
      begin: () => undefined,
      end: () => undefined,
    };
    const works = Array.from({ length: 80 }, (_, n) => async () => {
      started.push(n);
      await severalTicks(1);
      if (n === 40) throw new Error('the one');
    });
    const error = await runInGroups(works, quantum).catch((reason: unknown) => reason);
    expect(String(error)).to.include('the one');
    expect([granted, started.length]).to.deep.equal([1, 64]);
    expect(started).to.deep.equal(started.toSorted((a, b) => a - b));
  });

  it('begin while a tick has time, alternating with works of other tenants, even if one fails early', async () => {
    const scheduler = new BackgroundScheduler();
    const order: string[] = [];
    const works = Array.from({ length: 8 }, (_, n) => async () => {
      order.push('b');
      clock.pass(3);
      if (n === 0) throw new Error('the first');
    });
    const busy = runInGroups(works, await scheduler.take('busy', 'test')).catch((reason: unknown) => reason);
    const quiet = Array.from({ length: 3 }, async () => {
      await timeSlices.of('quiet', 'request').next();
      order.push('q');
      clock.pass(1);
    });
    await Promise.all(quiet);
    expect(String(await busy)).to.include('the first');
    // Two works fit into the first tick; the third waited before the three requests, which take 3 ms together.
    expect(order.join('')).to.equal('bbbqqqbbbbb');
  });
});
