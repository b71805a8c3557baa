import { expect } from 'chai';
import { MAX_EVENT_BYTES, StoreUnavailable } from '../../../../application/ports/event-store.ts';
import type { KeyStore } from '../../../../application/ports/key-store.ts';
import { BOOK, bookEvents, write } from '../../../support/book.ts';
import { gate, rejection, severalTicks } from '../../../support/eventually.ts';
import { faultyEvents } from '../../../support/faults.ts';
import { memoryStores, startNode } from '../../../support/node.ts';

const definitions = bookEvents;
const secret = (entry: string, text = `text of ${entry}`) => write(entry, { secret: true, text });
const KEY = 'acme/message-a';

/** The book’s texts, opened by a node that starts now. */
const textsLater = async (stores: ReturnType<typeof memoryStores>): Promise<(string | undefined)[]> => {
  const later = startNode({ ...stores, definitions });
  const log = await stores.events.readStream(BOOK);
  return Promise.all(log.map((stored) => later.keys.open(JSON.parse(stored.data).text)));
};
const failing = (keyStore: KeyStore, method: 'put' | 'getMany', calls: readonly number[]): KeyStore => {
  let call = 0;
  const down = (): boolean => calls.includes(++call);
  const fail = () => Promise.reject(new StoreUnavailable('the key store is gone'));
  return {
    ...keyStore,
    put: (keys) => (method === 'put' && down() ? fail() : keyStore.put(keys)),
    getMany: (ids) => (method === 'getMany' && down() ? fail() : keyStore.getMany(ids)),
  };
};

describe('the data keys of an append', () => {
  it('are durable before it starts', async () => {
    const stores = memoryStores();
    const [asked, answer] = [gate(), gate()];
    const keyStore: KeyStore = {
      ...stores.keyStore,
      put: async (keys) => {
        asked.open();
        await answer.passed;
        await stores.keyStore.put(keys);
      },
    };
    const node = startNode({ ...stores, keyStore, definitions });
    const sending = node.commands.execute(secret('a'));
    await asked.passed;
    await severalTicks();
    expect(
      await stores.events.readStream(BOOK),
      'nothing is appended while the key store hangs',
    ).to.deep.equal([]);
    answer.open();
    await sending;
    expect(await textsLater(stores)).to.deep.equal(['text of a']);
  });

  it('are durable before any other append sealed with them', async () => {
    const stores = memoryStores();
    const [asked, answer] = [gate(), gate()];
    const keyStore: KeyStore = {
      ...stores.keyStore,
      put: async (keys) => {
        asked.open();
        await answer.passed;
        await stores.keyStore.put(keys);
      },
    };
    const node = startNode({ ...stores, keyStore, definitions });
    const first = node.commands.execute(secret('a'));
    await asked.passed;
    const second = node.commands.execute(write('a', { secret: true, book: 'two' }));
    await severalTicks();
    expect(await stores.events.readAll()).to.deep.equal([]);
    answer.open();
    await Promise.all([first, second]);
    expect(await stores.events.readAll()).to.have.length(2);
  });

  it('reject every command sealed with them when they cannot be stored', async () => {
    const stores = memoryStores();
    const node = startNode({ ...stores, keyStore: failing(stores.keyStore, 'put', [1]), definitions });
    const both = ['one', 'two'].map((book) => node.commands.execute(write('a', { secret: true, book })));
    expect((await Promise.allSettled(both)).map(({ status }) => status)).to.deep.equal([
      'rejected',
      'rejected',
    ]);
    expect(await stores.events.readAll()).to.deep.equal([]);
    await node.commands.execute(secret('a'));
    expect(await textsLater(stores)).to.deep.equal(['text of a']);
  });

  it('reject the command when they cannot be stored, and the next try makes new keys', async () => {
    const stores = memoryStores();
    const node = startNode({ ...stores, keyStore: failing(stores.keyStore, 'put', [1]), definitions });
    expect(await rejection(node.commands.execute(secret('a')))).to.be.instanceOf(StoreUnavailable);
    expect(await stores.events.readStream(BOOK)).to.deep.equal([]);
    expect(node.keys.has(KEY)).to.equal(false);
    await node.commands.execute(secret('a'));
    expect(await textsLater(stores)).to.deep.equal(['text of a']);
  });

  it('are dropped when a later command of the batch finds the key store unavailable', async () => {
    const stores = memoryStores();
    const node = startNode({ ...stores, keyStore: failing(stores.keyStore, 'getMany', [2]), definitions });
    const both = await Promise.allSettled(['a', 'b'].map((entry) => node.commands.execute(secret(entry))));
    expect(both.map((outcome) => outcome.status)).to.deep.equal(['rejected', 'rejected']);
    expect(node.keys.has(KEY)).to.equal(false);
    await node.commands.execute(secret('a'));
    expect(await textsLater(stores)).to.deep.equal(['text of a']);
  });

  it('are dropped for a command whose event is too large', async () => {
    const stores = memoryStores();
    const node = startNode({ ...stores, definitions });
    await rejection(node.commands.execute(secret('a', 'x'.repeat(MAX_EVENT_BYTES))));
    await node.commands.execute(secret('a'));
    expect(await textsLater(stores)).to.deep.equal(['text of a']);
  });

  it('are the keys that another node stored first', async () => {
    const stores = memoryStores();
    const there = startNode({ ...stores, definitions });
    let raced = false;
    const keyStore: KeyStore = {
      ...stores.keyStore,
      put: async (keys) => {
        // The other node stores its key of the same text right before ours.
        if (!raced) await there.keys.persist([there.keys.create(KEY)]);
        raced = true;
        await stores.keyStore.put(keys);
      },
    };
    const here = startNode({ ...stores, keyStore, definitions });
    await here.commands.execute(secret('a'));
    expect(await textsLater(stores)).to.deep.equal(['text of a']);
  });

  it('are the stored keys after a lost race for the stream', async () => {
    const stores = memoryStores();
    const events = faultyEvents(stores.events, ['lost race', 'lost race']);
    await startNode({ ...stores, events, definitions }).commands.execute(secret('a'));
    expect(await textsLater(stores)).to.deep.equal(['text of a']);
  });

  it('stay destroyed, and a text sealed with one is dropped', async () => {
    const stores = memoryStores();
    await stores.keyStore.destroy(KEY);
    await startNode({ ...stores, definitions }).commands.execute(secret('a'));
    expect(await textsLater(stores)).to.deep.equal([undefined]);
    expect(JSON.stringify(await stores.events.readStream(BOOK))).to.include(`v1:${KEY}:\\"`);
  });
});
