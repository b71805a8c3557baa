import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { openMemoryEventStore } from '../../../infrastructure/event-store/memory.ts';
import { type Sleeper, Wakeup } from '../../../infrastructure/event-store/wakeup.ts';

/** Falls asleep; says whether it still is, once all has been heard that was to be heard. */
const asleep = (sleeper: Sleeper): (() => Promise<boolean>) => {
  let isAsleep = true;
  void sleeper.sleep().then(() => {
    isAsleep = false;
  });
  return async () => {
    await turn();
    return isAsleep;
  };
};

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('A wakeup', () => {
  let wakeup: Wakeup;
  let stopping: AbortController;
  beforeEach(() => {
    wakeup = new Wakeup();
    stopping = new AbortController();
  });
  const enter = (): Sleeper => wakeup.enter(stopping.signal);

  it('wakes who sleeps', async () => {
    const first = asleep(enter());
    expect(await first()).to.equal(true);
    wakeup.wake();
    expect(await first()).to.equal(false);
  });

  it('does not count before one sleeps', async () => {
    const sleeper = enter();
    wakeup.wake();
    const first = asleep(sleeper);
    expect(await first()).to.equal(true);
    wakeup.wake();
    expect(await first()).to.equal(false);
    // Nor does one between two sleeps, or more than one at once.
    wakeup.wake();
    wakeup.wake();
    const second = asleep(sleeper);
    expect(await second()).to.equal(true);
    wakeup.wake();
    expect(await second()).to.equal(false);
  });

  it('wakes all who sleep, and nobody who does not', async () => {
    const [first, second, third] = [enter(), enter(), enter()];
    const [one, two] = [asleep(first), asleep(second)];
    wakeup.wake();
    expect([await one(), await two()]).to.deep.equal([false, false]);
    const [again, three] = [asleep(first), asleep(third)];
    expect([await again(), await three()]).to.deep.equal([true, true]);
    wakeup.wake();
    expect([await again(), await three()]).to.deep.equal([false, false]);
  });

  it('is over with the abort, for good', async () => {
    const sleeper = enter();
    const sleeping = asleep(sleeper);
    stopping.abort();
    expect(await sleeping()).to.equal(false);
    expect(await asleep(sleeper)()).to.equal(false);
    expect(await asleep(sleeper)()).to.equal(false);
    // Whoever comes afterwards does not sleep at all.
    expect(await asleep(enter())()).to.equal(false);
  });

  it('lets the others sleep when one is aborted', async () => {
    const other = asleep(wakeup.enter(new AbortController().signal));
    const mine = asleep(enter());
    stopping.abort();
    expect([await mine(), await other()]).to.deep.equal([false, true]);
    wakeup.wake();
    expect(await other()).to.equal(false);
  });

  it('has one listener for a sleeper, however often that sleeps', async () => {
    const sleeper = enter();
    for (let nth = 0; nth < 100; nth += 1) {
      const sleeping = asleep(sleeper);
      expect(listenersOf(stopping.signal)).to.equal(1);
      wakeup.wake();
      expect(await sleeping()).to.equal(false);
    }
    expect(listenersOf(stopping.signal)).to.equal(1);
    sleeper.leave();
    expect(listenersOf(stopping.signal)).to.equal(0);
  });

  it('knows nothing of who has left', async () => {
    const [gone, other] = [enter(), enter()];
    gone.leave();
    expect(listenersOf(stopping.signal)).to.equal(1);
    const [mine, theirs] = [asleep(gone), asleep(other)];
    wakeup.wake();
    expect([await mine(), await theirs()]).to.deep.equal([true, false]);
    // It may be said twice, and after the abort.
    gone.leave();
    stopping.abort();
    other.leave();
    other.leave();
    expect(listenersOf(stopping.signal)).to.equal(0);
  });

  it('wakes all the same whom another makes leave as it wakes', async () => {
    const [first, second, third] = [enter(), enter(), enter()];
    let late: (() => Promise<boolean>) | undefined;
    const one = first.sleep().then(() => {
      first.leave();
      second.leave();
      late = asleep(enter());
    });
    const [two, three] = [asleep(second), asleep(third)];
    wakeup.wake();
    await one;
    expect([await two(), await three()]).to.deep.equal([false, false]);
    // Who came only then waits for the next time, for which the third is there still.
    expect(await late?.()).to.equal(true);
    const again = asleep(third);
    wakeup.wake();
    expect([await again(), await late?.()]).to.deep.equal([false, false]);
  });

  it('is entered once by a subscription, which leaves when its reader goes, or with the abort', async () => {
    const store = openMemoryEventStore();
    const append = (): void => {
      const made = { id: randomUUID(), type: 'ThingMade', data: '{}', metadata: '{}' };
      void store.append('acme.thing-1', 'any', [made]);
    };
    let seen = 0;
    for await (const batch of store.subscribe({ signal: stopping.signal })) {
      seen += batch.events.length;
      expect(listenersOf(stopping.signal)).to.equal(1);
      if (seen === 50) break;
      // By then it has fallen asleep.
      setImmediate(append);
    }
    expect(listenersOf(stopping.signal)).to.equal(0);

    const ended = (async () => {
      for await (const batch of store.subscribe({ signal: stopping.signal })) seen += batch.events.length;
    })();
    await turn();
    expect([seen, listenersOf(stopping.signal)]).to.deep.equal([100, 1]);
    stopping.abort();
    await ended;
    expect(listenersOf(stopping.signal)).to.equal(0);
    await store.close();
  });
});
