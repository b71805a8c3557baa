import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { Deadline, TIMED_OUT, withDeadline } from '../../../infrastructure/http/deadline.ts';
import { rejection, severalTurns } from '../../support/eventually.ts';

const LONG_MS = 60_000;
const forever = (): Promise<never> => new Promise(() => undefined);

describe('a deadline', () => {
  it('ends what does not look at it, and is why whatever breaks has broken', async () => {
    expect(await rejection(withDeadline(20, undefined, forever))).to.equal(TIMED_OUT);
    const breaks = withDeadline(20, undefined, async (deadline) => {
      await new Promise((resolve) => deadline.whenOver(resolve));
      throw new Error('broken because of it');
    });
    expect(await rejection(breaks)).to.equal(TIMED_OUT);
    const own = new Error('of its own');
    expect(await rejection(withDeadline(LONG_MS, undefined, () => Promise.reject(own)))).to.equal(own);
    const thrown = withDeadline(LONG_MS, undefined, () => {
      throw own;
    });
    expect(await rejection(thrown)).to.equal(own);
    expect(await withDeadline(LONG_MS, undefined, async () => 'done')).to.equal('done');
  });

  it('of many exchanges with one signal is given up with it, by one listener for all', async () => {
    const stop = new AbortController();
    const why = new Error('stopping');
    const over = await withDeadline(LONG_MS, stop.signal, async () => 'over before');
    const all = Array.from({ length: 100 }, () => rejection(withDeadline(LONG_MS, stop.signal, forever)));
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(1);
    stop.abort(why);
    expect(new Set(await Promise.all(all))).to.deep.equal(new Set([why]));
    expect(over).to.equal('over before');
    let ran = false;
    const late = withDeadline(LONG_MS, stop.signal, async () => {
      ran = true;
    });
    expect(await rejection(late)).to.equal(why);
    expect(ran).to.equal(false);
  });

  it('is a signal for those who need one, whenever they ask for it', () => {
    const deadline = new Deadline(LONG_MS, undefined);
    const { signal } = deadline;
    expect([signal.aborted, deadline.isOver]).to.deep.equal([false, false]);
    deadline.stop('first');
    deadline.stop('second');
    expect([signal.aborted, signal.reason, deadline.reason]).to.deep.equal([true, 'first', 'first']);
    const other = new Deadline(LONG_MS, undefined);
    other.stop('at once');
    expect([other.signal.aborted, other.signal.reason]).to.deep.equal([true, 'at once']);
  });

  it('tells nobody who has ceased to listen, and nobody when all has ended in time', async () => {
    const told: string[] = [];
    const stop = new AbortController();
    const deadline = new Deadline(LONG_MS, stop.signal);
    const unheard = deadline.whenOver(() => told.push('gone'));
    deadline.whenOver(() => told.push('there'));
    unheard();
    unheard();
    deadline.end();
    stop.abort();
    await severalTurns();
    expect(told).to.deep.equal([]);
    deadline.stop('now');
    expect(told).to.deep.equal(['there']);
  });
});
