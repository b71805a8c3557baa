import { expect } from 'chai';
import fc from 'fast-check';
import { UndecodableEvent } from '../../../../application/core/events/upcasting.ts';
import type { EventStore } from '../../../../application/ports/event-store.ts';
import { BOOK, bookEvents, bookStream, close, write } from '../../../support/book.ts';
import { busyFor } from '../../../support/busy.ts';
import { gate, rejection, untilPasses } from '../../../support/eventually.ts';
import { memoryStores, startNode } from '../../../support/node.ts';

const definitions = bookEvents;
const nodeOver = (stores: Partial<ReturnType<typeof memoryStores>>) => startNode({ ...stores, definitions });

/** A book with this many entries, and the snapshots taken meanwhile. */
const bookOf = async (entries: number) => {
  const stores = memoryStores();
  const writer = nodeOver(stores);
  for (let n = 0; n < entries; n += 1) await writer.commands.execute(write(`e${n}`));
  return stores;
};
const loaded = async (stores: Partial<ReturnType<typeof memoryStores>>) => {
  const node = nodeOver(stores);
  const { snapshots: _without, ...log } = stores;
  const folded = await nodeOver(log).states.load('acme', bookStream, 'one');
  return { node, state: await node.states.load('acme', bookStream, 'one'), folded };
};

/** Delays answers of stream reads until the gate opens. */
const slowReads = (events: EventStore) => {
  const [read, answer] = [gate(), gate()];
  const slow: EventStore = {
    ...events,
    readStream: async (...args) => {
      const page = await events.readStream(...args);
      read.open();
      await answer.passed;
      return page;
    },
    readStreams: async (...args) => {
      const found = await events.readStreams(...args);
      read.open();
      await answer.passed;
      return found;
    },
  };
  return { slow, read: read.passed, answer: answer.open };
};

describe('folded states', () => {
  it('from a snapshot and the later events equal a full fold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(350), async (entries) => {
        const stores = await bookOf(entries);
        expect(stores.snapshots.snapshots.size).to.equal(entries >= 100 ? 1 : 0);
        const { state, folded } = await loaded(stores);
        expect(state).to.deep.equal(folded);
        expect(state.state).to.deep.equal({ count: entries, closed: false });
        expect(state.revision).to.equal(entries - 1);
      }),
      { numRuns: 12, examples: [[0], [1], [99], [100], [101], [200]] },
    );
  });

  it('of a long stream leave ticks to other work', async () => {
    const events = 256;
    const stores = await bookOf(events);
    const { snapshots: _without, ...log } = stores;
    let folded = 0;
    const slow: typeof bookStream = {
      ...bookStream,
      evolve: (...args) => {
        busyFor(0.5);
        folded += 1;
        return bookStream.evolve(...args);
      },
    };
    const loading = nodeOver(log).states.load('acme', slow, 'one');
    let [most, before] = [0, 0];
    while (folded < events) {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, folded - before);
      before = folded;
    }
    expect((await loading).state.count).to.equal(events);
    expect(most).to.be.below(events / 2);
  });

  it('report the events that they are folded from', async () => {
    const stores = await bookOf(3);
    const { states } = nodeOver(stores);
    const seen: number[] = [];
    const see = ({ revision }: { revision: number }): void => void seen.push(revision);
    await states.refresh(BOOK, bookStream, see);
    expect(seen).to.deep.equal([0, 1, 2]);
    await nodeOver(stores).commands.execute(write('later'));
    await states.refresh(BOOK, bookStream, see);
    expect(seen).to.deep.equal([0, 1, 2, 3]);
  });

  it('of a stream that is assumed to be new are read only if it has events', async () => {
    const stores = memoryStores();
    let reads = 0;
    const counting: EventStore = {
      ...stores.events,
      readStream: (...args) => {
        reads += 1;
        return stores.events.readStream(...args);
      },
    };
    const { commands } = nodeOver({ ...stores, events: counting });
    await commands.execute(write('first', { isNew: true }));
    expect(reads).to.equal(0);
    await nodeOver(stores).commands.execute(write('elsewhere', { book: 'two' }));
    const { events } = await commands.execute(write('here', { book: 'two', isNew: true }));
    expect(events.map(({ data }) => data)).to.deep.equal([{ entry: 'here', number: 2, text: 'here' }]);
    expect(reads).to.equal(1);
  });

  it('of a long stream need few events with a snapshot', async () => {
    const stores = await bookOf(450);
    let events = 0;
    const counting: EventStore = {
      ...stores.events,
      readStream: async (...args) => {
        const page = await stores.events.readStream(...args);
        events += page.length;
        return page;
      },
    };
    await nodeOver({ ...stores, events: counting }).states.load('acme', bookStream, 'one');
    expect(events).to.be.lessThan(110);
  });

  it('ignore a snapshot of another state version', async () => {
    const stores = await bookOf(150);
    const snapshot = stores.snapshots.snapshots.get(BOOK);
    if (snapshot === undefined) throw new Error('no snapshot');
    for (const stateVersion of [0, 2]) {
      stores.snapshots.snapshots.set(BOOK, { ...snapshot, stateVersion, state: '{"count":7,"closed":true}' });
      const { state, folded } = await loaded(stores);
      expect(state).to.deep.equal(folded);
    }
  });

  it('ignore a snapshot that is not JSON or has no position', async () => {
    const stores = await bookOf(150);
    const snapshot = stores.snapshots.snapshots.get(BOOK);
    if (snapshot === undefined) throw new Error('no snapshot');
    for (const broken of [{ state: '{"count":' }, { position: 'nowhere' }]) {
      stores.snapshots.snapshots.set(BOOK, { ...snapshot, ...broken });
      const { state, folded } = await loaded(stores);
      expect(state).to.deep.equal(folded);
    }
  });

  it('ignore a snapshot of another log', async () => {
    const stores = await bookOf(150);
    const other = await bookOf(250);
    const { state, folded } = await loaded({ ...stores, snapshots: other.snapshots });
    expect(state).to.deep.equal(folded);
  });

  it('are loaded when the snapshot store fails', async () => {
    const stores = await bookOf(120);
    const broken = {
      ...stores.snapshots,
      get: () => Promise.reject(new Error('no disk')),
      put: () => Promise.reject(new Error('no disk')),
    };
    const node = nodeOver({ ...stores, snapshots: broken });
    expect((await node.states.load('acme', bookStream, 'one')).state.count).to.equal(120);
    await untilPasses(() =>
      expect(node.logger.lines.map((line) => line.message)).to.deep.equal([
        'a snapshot could not be read; folding from the first event',
        'a snapshot could not be written',
      ]),
    );
  });

  it('are dropped only when another node has written', async () => {
    const stores = memoryStores();
    const [here, there] = [nodeOver(stores), nodeOver(stores)];
    await here.commands.execute(write('e0'));
    here.states.onEvent(BOOK, 0);
    expect(here.states.cached(BOOK)?.revision).to.equal(0);
    await there.commands.execute(close());
    here.states.onEvent(BOOK, 1);
    expect(here.states.cached(BOOK)).to.equal(undefined);
    expect((await here.states.load('acme', bookStream, 'one')).state.closed).to.equal(true);
    here.states.onEvent('acme.book-unknown', 3);
  });

  it('stay cached when the log delivers an append before it returns', async () => {
    const { events, ...stores } = memoryStores();
    const reads: string[] = [];
    const duringAppend: unknown[] = [];
    const node: ReturnType<typeof nodeOver> = nodeOver({
      ...stores,
      events: {
        ...events,
        append: async (stream, expected, appended) => {
          const result = await events.append(stream, expected, appended);
          node.states.onEvent(stream, typeof expected === 'number' ? expected + appended.length : 0);
          duringAppend.push(node.states.cached(stream));
          return result;
        },
        readStream: (stream, options) => {
          reads.push(stream);
          return events.readStream(stream, options);
        },
      },
    });
    for (const id of ['e0', 'e1', 'e2']) await node.commands.execute(write(id));
    expect(reads, 'only the first command reads').to.deep.equal([BOOK]);
    expect(duringAppend, 'a state known to be behind').to.deep.equal([undefined, undefined, undefined]);
    expect(node.states.cached(BOOK)?.revision).to.equal(2);
  });

  it('are dropped at the end of an append when another node’s event arrived during it', async () => {
    const stores = memoryStores();
    const node = nodeOver(stores);
    await node.commands.execute(write('e0'));
    await node.states.whileAppending(BOOK, async () => node.states.onEvent(BOOK, 1));
    expect(node.states.cached(BOOK)).to.equal(undefined);
  });

  it('are not replaced by a slow read that began before a command', async () => {
    const stores = memoryStores();
    await nodeOver(stores).commands.execute(write('e0'));
    const { slow, read, answer } = slowReads(stores.events);
    const node = nodeOver({ ...stores, events: slow });
    const loading = node.states.load('acme', bookStream, 'one');
    await read;
    // Meanwhile a command of this node succeeds, with a faster read.
    const quick = nodeOver(stores);
    await quick.commands.execute(close());
    const state = await quick.states.load('acme', bookStream, 'one');
    node.states.set(BOOK, state, bookStream);
    answer();
    await loading;
    expect(node.states.cached(BOOK)?.revision).to.equal(1);
    expect((await node.states.load('acme', bookStream, 'one')).state.closed).to.equal(true);
  });

  it('are not cached by a read during which a newer event arrived', async () => {
    const stores = memoryStores();
    const there = nodeOver(stores);
    await there.commands.execute(write('e0'));
    const { slow, read, answer } = slowReads(stores.events);
    const here = nodeOver({ ...stores, events: slow });
    const loading = here.states.load('acme', bookStream, 'one');
    await read;
    await there.commands.execute(close());
    here.states.onEvent(BOOK, 1);
    answer();
    await loading;
    expect((await here.states.load('acme', bookStream, 'one')).state.closed).to.equal(true);
  });

  it('of many streams are cached only on request, of long ones always', async () => {
    const stores = await bookOf(20);
    const writer = nodeOver(stores);
    for (const id of ['two', 'three']) await writer.commands.execute({ ...write('e0'), id });
    const ids = ['two', 'none', 'one', 'three'];
    for (const uncached of [true, false]) {
      const node = nodeOver(stores);
      const many = await node.states.loadMany('acme', bookStream, ids, { uncached });
      const each = await Promise.all(ids.map((id) => nodeOver(stores).states.load('acme', bookStream, id)));
      expect(many).to.deep.equal(each);
      expect(many.map(({ revision }) => revision)).to.deep.equal([0, -1, 19, 0]);
      expect(node.states.cached('acme.book-two') === undefined).to.equal(uncached);
      expect(node.states.cached('acme.book-one')?.revision).to.equal(19);
    }
  });

  it('of many streams are not cached when a newer event arrived during the read', async () => {
    const stores = memoryStores();
    const there = nodeOver(stores);
    await there.commands.execute(write('e0'));
    const { slow, read, answer } = slowReads(stores.events);
    const here = nodeOver({ ...stores, events: slow });
    const loading = here.states.loadMany('acme', bookStream, ['one'], { uncached: false });
    await read;
    await there.commands.execute(close());
    here.states.onEvent(BOOK, 1);
    answer();
    await loading;
    expect((await here.states.load('acme', bookStream, 'one')).state.closed).to.equal(true);
  });

  it('cannot be loaded from a stream with an undecodable event', async () => {
    const stores = memoryStores();
    await nodeOver(stores).commands.execute(write('e0'));
    const older = startNode({ ...stores, definitions: [] });
    expect(await rejection(older.states.load('acme', bookStream, 'one'))).to.be.instanceOf(UndecodableEvent);
  });
});
