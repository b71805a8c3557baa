import { getEventListeners, once } from 'node:events';
import { expect } from 'chai';
import { TIMED_OUT, withDeadline } from '../../../infrastructure/http/deadline.ts';
import { rejection } from '../../support/eventually.ts';

const LONG_MS = 60_000;
const forever = (): Promise<never> => new Promise(() => undefined);

describe('A deadline', () => {
  it('ends code that ignores it, and is the reason of later errors', async () => {
    expect(await rejection(withDeadline(20, undefined, forever))).to.equal(TIMED_OUT);
    const breaks = withDeadline(20, undefined, async (signal) => {
      await once(signal, 'abort');
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

  it('of many exchanges with one signal ends with the signal', async () => {
    const stop = new AbortController();
    const why = new Error('stopping');
    const over = await withDeadline(LONG_MS, stop.signal, async () => 'over before');
    const all = Array.from({ length: 100 }, () => rejection(withDeadline(LONG_MS, stop.signal, forever)));
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

  it('leaves no listener on its signal', async () => {
    const stop = new AbortController();
    const signal = await withDeadline(LONG_MS, stop.signal, async (own) => own);
    expect(getEventListeners(signal, 'abort')).to.deep.equal([]);
    expect(getEventListeners(stop.signal, 'abort')).to.deep.equal([]);
  });
});
