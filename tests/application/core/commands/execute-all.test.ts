import { expect } from 'chai';
import fc from 'fast-check';
import type { StreamCommand } from '../../../../application/core/commands/command.ts';
import type { EventStore } from '../../../../application/ports/event-store.ts';
import {
  EventTooLarge,
  MAX_EVENT_BYTES,
  StoreUnavailable,
} from '../../../../application/ports/event-store.ts';
import { DomainError } from '../../../../domain/core/errors.ts';
import {
  type Book,
  type BookEvent,
  bookEvents,
  bookStream,
  causeOf,
  close,
  reopen,
  write,
} from '../../../support/book.ts';
import { chainFaults } from '../../../support/chain.ts';
import { withEachEventStore } from '../../../support/event-stores.ts';
import { rejection } from '../../../support/eventually.ts';
import { type Fault, faultyEvents } from '../../../support/faults.ts';
import { memoryStores, startNode, type TestNode } from '../../../support/node.ts';

const definitions = bookEvents;
type Entry = StreamCommand<Book, BookEvent>;

/** An entry in a book with the causation `<cause>:<book>`. */
const entry = (id: string, cause = 'c', more: Partial<Entry> = {}, text = 'text'): Entry => ({
  id,
  context: { cause: causeOf(`${cause}:${id}`) },
  decide: write(`${cause}:${id}`, { text }).decide as Entry['decide'],
  ...more,
});
const nothing = (id: string): Entry => entry(id, 'c', { decide: () => [] });

const executeAll = (node: TestNode, commands: readonly Entry[], uncached = true) =>
  node.streams.executeAll(bookStream, 'acme', commands, { uncached });
const streamOf = (id: string) => `acme.book-${id}`;
const countIn = async (events: EventStore, id: string) => (await events.readStream(streamOf(id))).length;
const found = (settled: readonly PromiseSettledResult<{ events: readonly unknown[] }>[]) =>
  settled.map((one) =>
    one.status === 'fulfilled' ? one.value.events.length : String(one.reason.code ?? one.reason.name),
  );

describe('commands on many streams', () => {
  withEachEventStore((open) => {
    it('append the same events as single commands', async () => {
      const events = await open();
      const [together, single] = [startNode({ events, definitions }), startNode({ events, definitions })];
      const ids = ['a', 'b', 'c', 'd'];
      for (const id of ['b', 'd', 'b2', 'd2']) await single.commands.execute(write('old', { book: id }));
      const settled = await executeAll(
        together,
        ids.map((id) => entry(id)),
      );
      for (const id of ids) await single.commands.execute(write(`c:${id}`, { book: `${id}2`, text: 'text' }));
      expect(found(settled)).to.deep.equal([1, 1, 1, 1]);
      for (const id of ids) {
        const [mine, theirs] = await Promise.all(
          [id, `${id}2`].map((one) => events.readStream(streamOf(one))),
        );
        if (mine === undefined || theirs === undefined) throw new Error('nothing was read');
        expect(mine.map(({ type, data }) => [type, data])).to.deep.equal(
          theirs.map(({ type, data }) => [type, data]),
        );
        expect(chainFaults(mine)).to.deep.equal([]);
        expect(JSON.parse(mine.at(-1)?.metadata ?? '').$causationId).to.equal(`c:${id}`);
      }
      for (const [at, one] of settled.entries()) {
        if (one.status === 'rejected') throw one.reason;
        const stored = await events.readStream(streamOf(ids[at] ?? ''));
        expect(one.value.state.count).to.equal(stored.length);
        expect(one.value.position).to.equal(stored.at(-1)?.position);
      }
    });
  });

  it('are read in pages of 32 streams and appended in one tick', async () => {
    const stores = memoryStores();
    let tick = 0;
    const reads: number[] = [];
    const appendedIn = new Set<number>();
    const events: EventStore = {
      ...stores.events,
      readStream: () => Promise.reject(new Error('a stream is read by itself')),
      readStreams: (streams, ...rest) => {
        reads.push(streams.length);
        return stores.events.readStreams(streams, ...rest);
      },
      append: (...given) => {
        appendedIn.add(tick);
        return stores.events.append(...given);
      },
    };
    const node = startNode({ ...stores, events, definitions });
    let isOver = false;
    const count = (): void => {
      tick += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    const settled = await executeAll(
      node,
      Array.from({ length: 100 }, (_, n) => entry(`b${n}`)),
    );
    isOver = true;
    expect(found(settled).every((one) => one === 1)).to.equal(true);
    expect(reads).to.deep.equal([32, 32, 32, 4]);
    expect(appendedIn.size).to.equal(1);
  });

  it('settle separately', async () => {
    const node = startNode({ definitions });
    await node.commands.execute(close('closed'));
    const settled = await executeAll(node, [
      entry('a'),
      entry('closed'),
      entry('big', 'c', {}, 'x'.repeat(MAX_EVENT_BYTES)),
      nothing('none'),
      entry('b'),
    ]);
    expect(found(settled)).to.deep.equal([1, 'conflict', EventTooLarge.name, 0, 1]);
  });

  it('are decided again on a fresh state before they end without an event or with an error', async () => {
    const stores = memoryStores();
    const [node, other] = [startNode({ ...stores, definitions }), startNode({ ...stores, definitions })];
    const state = await node.streams.of(bookStream, 'acme', 'loaded').load();
    await node.commands.execute(close('cached'));
    await other.commands.execute(reopen('cached'));
    const once: Entry['decide'] = (state) => {
      if (state.closed) throw new DomainError('conflict', 'The book is closed.');
      return [];
    };
    const unless: Entry['decide'] = (state, at) =>
      state.count === 0 ? [] : entry('loaded').decide(state, at, undefined);
    await other.commands.execute(write('first', { book: 'loaded' }));
    const settled = await executeAll(node, [
      entry('cached', 'c', { decide: once }),
      entry('loaded', 'c', { decide: unless, loaded: state }),
    ]);
    expect(found(settled)).to.deep.equal([0, 1]);
  });

  it('are decided again alone after a lost race', async () => {
    const stores = memoryStores();
    const events = faultyEvents(stores.events, ['none', 'lost race']);
    const settled = await executeAll(
      startNode({ ...stores, events, definitions }),
      ['a', 'b', 'c'].map((id) => entry(id)),
    );
    expect(found(settled)).to.deep.equal([1, 1, 1]);
    for (const id of ['a', 'b', 'c']) expect(await countIn(stores.events, id)).to.equal(1);
  });

  it('on the same stream run one after another', async () => {
    const node = startNode({ definitions });
    const settled = await executeAll(node, [entry('a', 'one'), entry('a', 'two'), entry('a', 'three')]);
    expect(found(settled)).to.deep.equal([1, 1, 1]);
    const log = await node.events.readStream(streamOf('a'));
    expect(log.map(({ data }) => JSON.parse(data).number)).to.deep.equal([1, 2, 3]);
  });

  it('fail alone when their append fails', async () => {
    const stores = memoryStores();
    const events = faultyEvents(stores.events, ['none', 'unavailable before', 'unavailable after']);
    const settled = await executeAll(
      startNode({ ...stores, events, definitions }),
      ['a', 'b', 'c'].map((id) => entry(id)),
    );
    expect(found(settled)).to.deep.equal([1, StoreUnavailable.name, StoreUnavailable.name]);
    expect(await countIn(stores.events, 'c')).to.equal(1);
  });

  it('have their effect once when an earlier attempt may have had it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom<Fault>('none', 'lost race', 'unavailable before', 'unavailable after'), {
          maxLength: 12,
        }),
        fc.boolean(),
        async (faults, uncached) => {
          const stores = memoryStores();
          const node = startNode({
            ...stores,
            events: faultyEvents(stores.events, faults),
            definitions,
          });
          const begin = node.clock.now();
          const commands = ['a', 'b', 'c', 'd'].map((id) => {
            const { context, ...rest } = entry(id);
            return { ...rest, context: { ...context, priorAttempt: { since: begin } } };
          });
          for (;;) {
            const settled = await executeAll(node, commands, uncached);
            const left = settled.filter(({ status }) => status === 'rejected');
            if (left.length > 0) continue;
            expect(found(settled)).to.deep.equal([1, 1, 1, 1]);
            break;
          }
          for (const { id } of commands) expect(await countIn(stores.events, id)).to.equal(1);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('write nothing when their states cannot be read', async () => {
    const stores = memoryStores();
    const gone: EventStore = {
      ...stores.events,
      readStreams: () => Promise.reject(new StoreUnavailable('gone')),
    };
    const node = startNode({ ...stores, events: gone, definitions });
    expect(await rejection(executeAll(node, [entry('a')]))).to.be.instanceOf(StoreUnavailable);
    expect(await countIn(stores.events, 'a')).to.equal(0);
  });

  it('are not affected by a stream that cannot be read', async () => {
    const node = startNode({ definitions });
    const unknown = { id: node.ids.next(), type: 'Unheard', data: '{}', metadata: '{}' };
    await node.events.append(streamOf('broken'), 'no_stream', [unknown]);
    expect(found(await executeAll(node, [entry('a'), entry('broken'), entry('b')]))).to.deep.equal([
      1,
      'UndecodableEvent',
      1,
    ]);
  });

  it('leave no state in the cache with `uncached`, and never leave an outdated state', async () => {
    const node = startNode({ definitions });
    await node.commands.execute(write('first', { book: 'known' }));
    await executeAll(node, [entry('known'), entry('new'), nothing('none')]);
    for (const id of ['known', 'new', 'none'])
      expect(node.states.cached(streamOf(id)), id).to.equal(undefined);
    await executeAll(node, [entry('known', 'd'), entry('new', 'd')], false);
    expect(node.states.cached(streamOf('known'), bookStream)?.state.count).to.equal(3);
  });

  it('load facts after the states were read, and again after a lost race', async () => {
    const stores = memoryStores();
    const steps: string[] = [];
    const events: EventStore = {
      ...faultyEvents(stores.events, ['none', 'lost race']),
      readStreams: (...args) => {
        steps.push('read');
        return stores.events.readStreams(...args);
      },
    };
    const node = startNode({ ...stores, events, definitions });
    let asked = 0;
    const decided: number[] = [];
    const settled = await node.streams.executeAll(
      bookStream,
      'acme',
      ['a', 'b'].map((id) => ({
        ...entry(id),
        decide: (state: Book, at: { now: number }, fact: number) => {
          decided.push(fact);
          return entry(id).decide(state, at, undefined);
        },
      })),
      {
        uncached: true,
        prepare: async () => {
          steps.push('facts');
          asked += 1;
          return asked;
        },
      },
    );
    expect(found(settled)).to.deep.equal([1, 1]);
    expect(steps).to.deep.equal(['read', 'facts', 'facts']);
    expect(decided).to.deep.equal([1, 1, 2]);
  });
});
