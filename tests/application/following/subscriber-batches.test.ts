import { expect } from 'chai';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import type { ReadStore } from '../../../application/ports/read-store.ts';
import { runSubscriber, type Subscriber } from '../../../application/subscriber.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { bookEvents, write } from '../../support/book.ts';
import { eventually } from '../../support/eventually.ts';
import { memoryStores, startNode } from '../../support/node.ts';

describe('a subscriber that does better with many events at once', () => {
  let store: ReadStore;
  let stores: ReturnType<typeof memoryStores>;
  let node: ReturnType<typeof startNode>;
  const stopping = new AbortController();
  const running: Promise<void>[] = [];
  beforeEach(async () => {
    store = await openSqliteReadStore({ path: ':memory:' });
    stores = memoryStores();
    node = startNode({ ...stores, definitions: bookEvents });
  });
  after(async () => {
    stopping.abort();
    await Promise.all(running);
    await store.close();
  });

  /** What came together, and what came by itself. */
  const follow = (fails: (entries: readonly string[]) => Error | undefined) => {
    const together: string[][] = [];
    const single: string[] = [];
    const entryOf = ({ data }: { data: unknown }): string => String(Object(data).entry);
    const subscriber: Subscriber = {
      name: 'many-at-once',
      types: ['EntryWritten'],
      handle: async (event) => {
        single.push(entryOf(event));
      },
      handleAll: async (events) => {
        const error = fails(events.map(entryOf));
        if (error !== undefined) throw error;
        together.push(events.map(entryOf));
      },
    };
    const { codec, logger } = node;
    const options = { codec, logger, ttlMs: 150, owner: 'one', store, events: stores.events };
    running.push(runSubscriber(subscriber, options, stopping.signal));
    return { together, single };
  };
  const writeAll = async (...entries: string[]): Promise<void> => {
    for (const entry of entries) await node.commands.execute(write(entry));
  };

  it('gets what waits for it in one go, and a single one as ever', async () => {
    await writeAll('a', 'b', 'c');
    const { together, single } = follow(() => undefined);
    await eventually(() => expect(together).to.deep.equal([['a', 'b', 'c']]));
    await writeAll('d');
    await eventually(() => expect(single).to.deep.equal(['d']));
  });

  it('gets them one by one where that fails', async () => {
    await writeAll('a', 'b');
    const { together, single } = follow(() => new Error('one of them is too much'));
    await eventually(() => expect(single).to.deep.equal(['a', 'b']));
    expect(together).to.deep.equal([]);
  });

  it('gets them together again once a store is back', async () => {
    await writeAll('a', 'b');
    let tries = 0;
    const { together, single } = follow(() => {
      tries += 1;
      return tries < 3 ? new StoreUnavailable('away') : undefined;
    });
    await eventually(() => expect(together).to.deep.equal([['a', 'b']]));
    expect(single).to.deep.equal([]);
  });
});
