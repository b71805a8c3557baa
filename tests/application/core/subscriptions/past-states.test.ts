import { expect } from 'chai';
import { PastStates } from '../../../../application/core/subscriptions/past-states.ts';
import { BOOK, bookEvents, bookStream, write } from '../../../support/book.ts';
import { busyFor } from '../../../support/busy.ts';
import { startNode } from '../../../support/node.ts';

const EVENTS = 256;

describe('A state at a position of the log', () => {
  it('is folded from the events before that position, in several ticks', async () => {
    const node = startNode({ definitions: bookEvents });
    for (let nth = 0; nth <= EVENTS; nth += 1) await node.commands.execute(write(`e${nth}`));
    const last = (await node.events.readStream(BOOK, { from: EVENTS, limit: 1 }))[0]?.position;
    if (last === undefined) throw new Error('the stream has no last event');
    let folded = 0;
    const slow: typeof bookStream = {
      ...bookStream,
      evolve: (...args) => {
        busyFor(0.5);
        folded += 1;
        return bookStream.evolve(...args);
      },
    };
    const state = Promise.resolve(new PastStates(slow, [], node).before(BOOK, last));
    let [most, before] = [0, 0];
    while (folded < EVENTS) {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, folded - before);
      before = folded;
    }
    expect((await state).count).to.equal(EVENTS);
    expect(most).to.be.below(EVENTS / 2);
  });
});
