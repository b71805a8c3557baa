import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { runSubscriber, type Subscriber } from '../../../../application/core/subscriptions/subscriber.ts';
import { StoreUnavailable } from '../../../../application/ports/event-store.ts';
import type { ReadStore } from '../../../../application/ports/read-store.ts';
import { DomainError } from '../../../../domain/core/errors.ts';
import { openSqliteReadStore } from '../../../../infrastructure/read-store/sqlite/store.ts';
import { bookEvents, write } from '../../../support/book.ts';
import { untilPasses } from '../../../support/eventually.ts';
import { memoryStores, startNode } from '../../../support/node.ts';
import { handledUpTo, newSchedule } from '../../../support/schedule.ts';

describe('a subscriber', () => {
  let store: ReadStore;
  let stores: ReturnType<typeof memoryStores>;
  let node: ReturnType<typeof startNode>;
  const ends: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    store = await openSqliteReadStore({ path: ':memory:' });
    stores = memoryStores();
    node = startNode({ ...stores, definitions: bookEvents });
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await store.close();
  });

  const running = (
    subscriber: Subscriber,
    options: { owner?: string; store?: ReadStore } = {},
  ): (() => Promise<void>) => {
    const stopping = new AbortController();
    const shared = { codec: node.codec, logger: node.logger, ttlMs: 150, ...newSchedule() };
    const done = runSubscriber(
      subscriber,
      {
        ...shared,
        owner: options.owner ?? 'one',
        store: options.store ?? store,
        follower: node.follower,
      },
      stopping.signal,
    );
    const end = async (): Promise<void> => {
      stopping.abort();
      await done;
    };
    ends.push(end);
    return end;
  };
  const entryOf = (data: unknown): string => String(Object(data).entry);
  const listening = (handle: (entry: string) => Promise<void> | void = () => undefined) => {
    const seen: string[] = [];
    const passedOver: string[] = [];
    const subscriber: Subscriber = {
      name: 'listener',
      types: ['EntryWritten'],
      handle: async (event) => {
        await handle(entryOf(event.data));
        seen.push(entryOf(event.data));
      },
      onFailure: async (event) => {
        passedOver.push(event.id);
      },
    };
    return { seen, passedOver, subscriber };
  };
  const writeAll = async (...entries: string[]): Promise<void> => {
    for (const entry of entries) await node.commands.execute(write(entry));
  };

  it('skips events that need no work and stores its checkpoint', async () => {
    const { seen, subscriber } = listening();
    const asked: number[] = [];
    const skips: Subscriber['skips'] = ({ revision }) => {
      asked.push(revision);
      return revision < 2;
    };
    await writeAll('a', 'b', 'c');
    const end = running({ ...subscriber, skips });
    await untilPasses(() => expect(seen).to.deep.equal(['c']));
    await end();
    expect(asked).to.deep.equal([0, 1, 2]);
    expect(await handledUpTo(store, 'listener')).to.equal(await stores.events.end());
  });

  it('skips a batch only as a whole, since its last event may concern earlier events', async () => {
    const { seen, subscriber } = listening();
    const handleAll: Subscriber['handleAll'] = async (events) => {
      for (const event of events) await subscriber.handle(event);
    };
    const skips: Subscriber['skips'] = ({ revision }) => revision !== 1;
    await writeAll('a', 'b', 'c');
    const end = running({ ...subscriber, handleAll, skips });
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'b', 'c']));
    await writeAll('d', 'e');
    await untilPasses(async () =>
      expect(await handledUpTo(store, 'listener')).to.equal(await stores.events.end()),
    );
    await end();
    expect(seen).to.deep.equal(['a', 'b', 'c']);
  });

  it('handles events in order and continues from its checkpoint', async () => {
    const { seen, subscriber } = listening();
    await writeAll('a', 'b');
    const end = running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'b']));
    await end();
    await writeAll('c');
    running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'b', 'c']));
  });

  it('handles events together, one by one after a failure, and skips only the failing one', async () => {
    const together: string[][] = [];
    const { seen, passedOver, subscriber } = listening((entry) => {
      if (entry === 'b') throw new Error('it cannot be');
    });
    let begun = 0;
    const handleAll: Subscriber['handleAll'] = async (events) => {
      together.push(events.map(({ data }) => entryOf(data)));
      if (together.at(-1)?.includes('b')) throw new Error('one of them cannot be');
      seen.push(...(together.at(-1) ?? []));
    };
    await writeAll('a', 'b', 'c');
    running({
      ...subscriber,
      handleAll,
      begin: () => {
        begun += 1;
      },
    });
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'c']));
    expect([together[0], passedOver.length]).to.deep.equal([['a', 'b', 'c'], 1]);
    // `begin` runs at the start, after the failure, and when a busy machine loses the lease.
    expect(begun).to.be.at.least(2);
    together.length = 0;
    await writeAll('d', 'e');
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'c', 'd', 'e']));
    expect(together.flat()).to.deep.equal(['d', 'e']);
  });

  it('skips only an event that cannot be decoded among events handled together', async () => {
    const { seen, passedOver, subscriber } = listening();
    const handleAll: Subscriber['handleAll'] = async (events) => {
      seen.push(...events.map(({ data }) => entryOf(data)));
    };
    await writeAll('a');
    const damaged = { id: randomUUID(), type: 'EntryWritten', data: '{', metadata: '{}' };
    await stores.events.append('acme.book-damaged', 'any', [damaged]);
    await writeAll('b');
    running({ ...subscriber, handleAll });
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'b']));
    expect(passedOver).to.deep.equal([damaged.id]);
  });

  it('handles events together again after a store was unavailable', async () => {
    const { seen, subscriber } = listening();
    let times = 0;
    const handleAll: Subscriber['handleAll'] = async (events) => {
      times += 1;
      if (times === 1) throw new StoreUnavailable('away');
      seen.push(...events.map(({ data }) => entryOf(data)));
    };
    await writeAll('a', 'b');
    running({ ...subscriber, handleAll });
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'b']));
    expect(times).to.equal(2);
  });

  it('stores its checkpoint soon without being stopped', async () => {
    const { seen, subscriber } = listening();
    running(subscriber);
    await writeAll('a');
    const end = await stores.events.end();
    await untilPasses(async () => expect(await handledUpTo(store, 'listener')).to.equal(end));
    expect(seen).to.deep.equal(['a']);
  });

  it('continues with the failed event when a store is available again', async () => {
    await writeAll('a', 'b', 'c');
    let failed = false;
    const { seen, subscriber } = listening((entry) => {
      if (entry !== 'c' || failed) return;
      failed = true;
      throw new StoreUnavailable('gone');
    });
    running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'b', 'c']));
  });

  it('handles an event again after a crash before its checkpoint, and skips none', async () => {
    await writeAll('a', 'b', 'c');
    const unsaved: ReadStore = { ...store, saveSubscriberProgress: async () => undefined };
    const { seen, subscriber } = listening();
    const end = running(subscriber, { store: unsaved });
    await untilPasses(() => expect(seen).to.have.length(3));
    await end();
    running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'b', 'c', 'a', 'b', 'c']));
  });

  it('saves a checkpoint that could not be saved, although no event follows', async () => {
    await writeAll('a');
    const end = await stores.events.end();
    let lost = 0;
    const { seen, subscriber } = listening();
    const losing: ReadStore = {
      ...store,
      saveSubscriberProgress: async (...args) => {
        lost += 1;
        if (lost <= 2) throw new StoreUnavailable('gone');
        await store.saveSubscriberProgress(...args);
      },
    };
    running(subscriber, { store: losing });
    await untilPasses(async () => expect(await handledUpTo(store, 'listener')).to.equal(end));
    expect(seen).to.deep.equal(['a']);
  }).timeout(90_000);

  it('skips an event that fails five times, reports it once, and continues', async () => {
    await writeAll('a', 'bad', 'c');
    let tries = 0;
    const { seen, passedOver, subscriber } = listening((entry) => {
      if (entry !== 'bad') return;
      tries += 1;
      throw new Error('a bug');
    });
    running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a', 'c']));
    expect([tries, passedOver.length]).to.deep.equal([5, 1]);
    expect(node.logger.lines.map((line) => line.message)).to.include('an event was skipped');
  });

  it('never skips an event because a store is unavailable', async () => {
    await writeAll('a');
    let tries = 0;
    const { seen, passedOver, subscriber } = listening(() => {
      tries += 1;
      if (tries < 5) throw new StoreUnavailable('gone');
    });
    running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a']));
    expect(passedOver).to.deep.equal([]);
  }).timeout(20_000);

  it('never skips an event because a stream is too busy', async () => {
    await writeAll('a');
    let tries = 0;
    const { seen, passedOver, subscriber } = listening(() => {
      tries += 1;
      if (tries < 6) throw new DomainError('unavailable', 'busy');
    });
    running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a']));
    expect(passedOver).to.deep.equal([]);
  }).timeout(20_000);

  it('continues after a single failure', async () => {
    await writeAll('a');
    let tries = 0;
    const { seen, subscriber } = listening(() => {
      tries += 1;
      if (tries === 1) throw new Error('a race');
    });
    running(subscriber);
    await untilPasses(() => expect(seen).to.deep.equal(['a']));
  });

  it('is taken over by another node after a crash', async () => {
    let dead = false;
    const never = new Promise<never>(() => undefined);
    const mortal: ReadStore = {
      ...store,
      acquireLease: (...args) => (dead ? never : store.acquireLease(...args)),
      saveSubscriberProgress: (...args) => (dead ? never : store.saveSubscriberProgress(...args)),
      releaseLease: (lease) => (dead ? never : store.releaseLease(lease)),
    };
    const first = listening(() => (dead ? never : undefined));
    void running(first.subscriber, { store: mortal });
    ends.pop();
    await writeAll('a');
    await untilPasses(() => expect(first.seen).to.deep.equal(['a']));
    const end = await stores.events.end();
    await untilPasses(async () => expect(await handledUpTo(store, 'listener')).to.equal(end));
    dead = true;
    const second = listening();
    running(second.subscriber, { owner: 'two' });
    await writeAll('b', 'c');
    await untilPasses(() => expect(second.seen).to.deep.equal(['b', 'c']));
    expect(first.seen).to.deep.equal(['a']);
  });
});
