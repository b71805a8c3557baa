import { expect } from 'chai';
import type { EventStore } from '../../../../application/ports/event-store.ts';
import {
  EventTooLarge,
  MAX_EVENT_BYTES,
  StoreUnavailable,
} from '../../../../application/ports/event-store.ts';
import { DomainError } from '../../../../domain/core/errors.ts';
import { BOOK, type BookEvent, bookEvents, close, reopen, write } from '../../../support/book.ts';
import { chainFaults } from '../../../support/chain.ts';
import { withEachEventStore } from '../../../support/event-stores.ts';
import { refusalCode, rejection } from '../../../support/eventually.ts';
import { testClock } from '../../../support/fakes.ts';
import { countingEvents, faultyEvents } from '../../../support/faults.ts';
import { memoryStores, startNode } from '../../../support/node.ts';

const definitions = bookEvents;
const numberOf = (events: readonly BookEvent[]): number | undefined => {
  const [event] = events;
  return event !== undefined && 'number' in event.data ? event.data.number : undefined;
};

describe('commands on one stream', () => {
  withEachEventStore((open) => {
    it('that arrive together are appended in few batches with an outcome each', async () => {
      const { counting, counts } = countingEvents(await open());
      const node = startNode({ events: counting, definitions });
      await node.commands.execute(write('first'));
      const names = Array.from({ length: 50 }, (_, n) => `e${n}`);
      const outcomes = await Promise.all(names.map((name) => node.commands.execute(write(name))));
      expect(counts.appends).to.be.at.most(4);
      outcomes.forEach((outcome, n) => {
        expect(outcome.events).to.have.length(1);
        expect(outcome.events[0]?.data).to.deep.include({ entry: `e${n}`, number: n + 2 });
        expect(outcome.state.count).to.equal(n + 2);
        expect(outcome.events[0]?.causationId).to.equal(`e${n}`);
      });
      const log = await counting.readStream(BOOK);
      expect(chainFaults(log)).to.deep.equal([]);
      // An outcome’s position is at least that of its own event.
      for (const { events, position } of outcomes) {
        const stored = log.find((event) => event.id === events[0]?.id);
        expect(position !== undefined && stored !== undefined && position >= stored.position).to.equal(true);
      }
    });

    it('get their own answers when some are refused', async () => {
      const node = startNode({ events: await open(), definitions });
      const names = ['a', 'b', 'closing', 'c', 'closing again', 'opening', 'd'];
      const commands = [write('a'), write('b'), close(), write('c'), close(), reopen(), write('d')];
      const outcomes = await Promise.allSettled(commands.map((command) => node.commands.execute(command)));
      const told = outcomes.map((outcome, n) => [
        names[n],
        outcome.status === 'rejected' ? outcome.reason.code : outcome.value.events.map((event) => event.type),
      ]);
      expect(told).to.deep.equal([
        ['a', ['EntryWritten']],
        ['b', ['EntryWritten']],
        ['closing', ['BookClosed']],
        ['c', 'conflict'],
        ['closing again', []],
        ['opening', ['BookReopened']],
        ['d', ['EntryWritten']],
      ]);
    });

    it('are not affected by a command whose event is too large', async () => {
      const node = startNode({ events: await open(), definitions });
      const huge = 'x'.repeat(MAX_EVENT_BYTES);
      const [before, large, after] = await Promise.allSettled([
        node.commands.execute(write('a')),
        node.commands.execute(write('b', { text: huge })),
        node.commands.execute(write('c')),
      ]);
      expect(large.status === 'rejected' && large.reason instanceof EventTooLarge).to.equal(true);
      expect(
        [before, after].map((outcome) => outcome.status === 'fulfilled' && numberOf(outcome.value.events)),
      ).to.deep.equal([1, 2]);
    });

    it('are split into several appends when they are large together', async () => {
      const { counting, counts } = countingEvents(await open());
      const node = startNode({ events: counting, definitions });
      const text = 'x'.repeat(300 * 1024);
      const outcomes = await Promise.all(
        Array.from({ length: 5 }, (_, n) => node.commands.execute(write(`e${n}`, { text }))),
      );
      expect(outcomes.map((outcome) => numberOf(outcome.events))).to.deep.equal([1, 2, 3, 4, 5]);
      expect(counts.appends).to.be.within(3, 5);
    });

    it('do not wait for commands on other streams', async () => {
      const node = startNode({ events: await open(), definitions });
      const books = Array.from({ length: 100 }, (_, n) => `b${n}`);
      const outcomes = await Promise.all(books.map((book) => node.commands.execute(write('e', { book }))));
      for (const outcome of outcomes) expect(numberOf(outcome.events)).to.equal(1);
    });

    it('are decided in slices with ticks for other work, and share a group commit', async () => {
      const events = await open();
      let tick = 0;
      const appendedIn = new Set<number>();
      const decidedIn = new Set<number>();
      const watched: EventStore = {
        ...events,
        append: (...given) => {
          appendedIn.add(tick);
          return events.append(...given);
        },
      };
      const node = startNode({ events: watched, definitions });
      const books = Array.from({ length: 160 }, (_, n) => `b${n}`);
      await Promise.all(books.map((book) => node.commands.execute(write('e', { book }))));
      appendedIn.clear();
      let isOver = false;
      const count = (): void => {
        tick += 1;
        if (!isOver) setImmediate(count);
      };
      count();
      const outcomes = await Promise.all(
        books.map((book) => {
          const command = write('f', { book });
          const decide: typeof command.decide = (...given) => {
            decidedIn.add(tick);
            return command.decide(...given);
          };
          return node.commands.execute({ ...command, decide });
        }),
      );
      isOver = true;
      for (const outcome of outcomes) expect(numberOf(outcome.events)).to.equal(2);
      expect(decidedIn.size).to.be.at.least(5);
      expect(appendedIn.size).to.equal(1);
    });
  });

  it('are not affected by a command whose events are together too large for the store', async () => {
    const events = memoryStores().events;
    const limited: EventStore = {
      ...events,
      append: async (stream, expected, all) => {
        const chars = all.reduce((sum, { data }) => sum + data.length, 0);
        if (chars > 1024 * 1024) throw new EventTooLarge('an append of more than 1 MiB');
        return events.append(stream, expected, all);
      },
    };
    const node = startNode({ events: limited, definitions });
    const text = 'x'.repeat(400 * 1024);
    const many: ReturnType<typeof write> = {
      ...write('b'),
      decide: () => [1, 2, 3].map((number) => ({ type: 'EntryWritten', data: { entry: 'b', number, text } })),
    };
    const outcomes = await Promise.allSettled(
      [write('a'), many, write('c'), many, write('d')].map((command) => node.commands.execute(command)),
    );
    expect(
      outcomes.map((outcome) =>
        outcome.status === 'fulfilled' ? numberOf(outcome.value.events) : outcome.reason.name,
      ),
    ).to.deep.equal([1, 'EventTooLarge', 2, 'EventTooLarge', 3]);
  });

  it('are rejected together when the store is unavailable, and later ones succeed', async () => {
    const stores = memoryStores();
    const node = startNode({
      ...stores,
      events: faultyEvents(stores.events, ['unavailable before']),
      definitions,
    });
    const outcomes = await Promise.allSettled(['a', 'b'].map((name) => node.commands.execute(write(name))));
    for (const outcome of outcomes) {
      expect(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable).to.equal(true);
    }
    expect(numberOf((await node.commands.execute(write('c'))).events)).to.equal(1);
  });

  it('are decided on the stored state after an append with a lost answer', async () => {
    const stores = memoryStores();
    const node = startNode({
      ...stores,
      events: faultyEvents(stores.events, ['unavailable after']),
      definitions,
    });
    expect(await rejection(node.commands.execute(write('a')))).to.be.instanceOf(StoreUnavailable);
    expect(numberOf((await node.commands.execute(write('b'))).events)).to.equal(2);
  });

  it('are rejected after losing races for five seconds', async () => {
    const stores = memoryStores();
    const clock = testClock();
    const races: EventStore = {
      ...stores.events,
      append: (...args) => {
        clock.advance(500);
        return faultyEvents(stores.events, ['lost race']).append(...args);
      },
    };
    const node = startNode({ ...stores, events: races, clock, definitions });
    const began = clock.now();
    expect(await refusalCode(node.commands.execute(write('a')))).to.equal('unavailable');
    expect(clock.now() - began).to.be.within(5000, 6000);
  });

  it('are not affected by a command that throws or whose facts fail to load', async () => {
    const node = startNode({ definitions });
    const broken = { ...write('b'), decide: () => expect.fail('a bug') };
    const factless = {
      ...write('c'),
      prepare: () => Promise.reject(new DomainError('not_found', 'no facts')),
    };
    const [a, b, c, d] = await Promise.allSettled([
      node.commands.execute(write('a')),
      node.commands.execute(broken),
      node.commands.execute(factless),
      node.commands.execute(write('d')),
    ]);
    expect([a.status, b.status, c.status, d.status]).to.deep.equal([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(d.status === 'fulfilled' && numberOf(d.value.events)).to.equal(2);
  });
});
