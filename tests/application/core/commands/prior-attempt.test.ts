import { expect } from 'chai';
import type { PriorAttempt } from '../../../../application/core/commands/command.ts';
import type { EventStore } from '../../../../application/ports/event-store.ts';
import { BOOK, bookEvents, bookStream, causeOf, write } from '../../../support/book.ts';
import { withEachEventStore } from '../../../support/event-stores.ts';
import { testClock } from '../../../support/fakes.ts';
import { countingEvents } from '../../../support/faults.ts';
import { BEGINNING } from '../../../support/given.ts';
import { memoryStores, startNode } from '../../../support/node.ts';
import { ticksDuring } from '../../../support/ticks.ts';

const definitions = bookEvents;
const nodeOver = (events: EventStore, clock = testClock()) => startNode({ events, clock, definitions });
const retry = (entry: string, priorAttempt: PriorAttempt = { since: 0 }) => write(entry, { priorAttempt });

describe('a retried command', () => {
  withEachEventStore((open) => {
    it('finds the events of the first try behind any number of later ones', async () => {
      const events = await open();
      const first = await nodeOver(events).commands.execute(write('a'));
      const other = nodeOver(events);
      for (let n = 0; n < 600; n += 1) await other.commands.execute(write(`later ${n}`));
      const second = await nodeOver(events).commands.execute(retry('a'));
      expect(second.events.map((event) => event.id)).to.deep.equal(first.events.map((event) => event.id));
      expect(await events.readStream(BOOK, { from: 601 })).to.deep.equal([]);
    });

    it('finds all of several events in order', async () => {
      const events = await open();
      const several = (priorAttempt?: PriorAttempt) => ({
        ...write('a', { priorAttempt }),
        decide: () =>
          ['x', 'y', 'z'].map((text, n) => ({
            type: 'EntryWritten' as const,
            data: { entry: 'a', number: n, text },
          })),
      });
      const first = await nodeOver(events).commands.execute(several());
      await nodeOver(events).commands.execute(write('b'));
      const second = await nodeOver(events).commands.execute(several({ since: 0 }));
      expect(second.events.map((event) => event.id)).to.deep.equal(first.events.map((event) => event.id));
    });
  });

  it('lets other work run while it looks for the events of the first try', async () => {
    const { events } = memoryStores();
    await nodeOver(events).commands.execute(write('a'));
    const other = nodeOver(events);
    for (let n = 0; n < 600; n += 1) await other.commands.execute(write(`later ${n}`));
    const node = nodeOver(events);
    await node.states.load('acme', bookStream, 'one');
    expect(await ticksDuring(() => node.commands.execute(retry('a')))).to.be.at.least(50);
  });

  it('is decided when the first try appended nothing', async () => {
    const { events } = memoryStores();
    await nodeOver(events).commands.execute(write('b'));
    expect((await nodeOver(events).commands.execute(retry('a'))).events).to.have.length(1);
  });

  it('has its effect once in concurrent tries', async () => {
    const { events } = memoryStores();
    const nodes = [nodeOver(events), nodeOver(events)];
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => nodes[n % 2]?.commands.execute(retry('a'))),
    );
    expect(new Set(outcomes.map((outcome) => outcome?.events[0]?.id)).size).to.equal(1);
    expect(await events.readStream(BOOK)).to.have.length(1);
  });

  it('is answered with the present state and position despite an old cached state', async () => {
    const { events } = memoryStores();
    const [here, there] = [nodeOver(events), nodeOver(events)];
    // This node has cached an empty stream; the other one had the effect.
    await here.states.load('acme', bookStream, 'one');
    const first = await there.commands.execute(write('a'));
    const second = await here.commands.execute(retry('a'));
    expect(second.events.map((event) => event.id)).to.deep.equal(first.events.map((event) => event.id));
    expect(second.state).to.deep.equal({ count: 1, closed: false });
    expect(second.position).to.equal(first.position);
  });

  it('does not mistake another actor’s event with the same causation for its own', async () => {
    const { events } = memoryStores();
    const eve = { ...causeOf('a'), actor: { kind: 'user' as const, id: 'eve' } };
    await nodeOver(events).commands.execute({ ...write('a'), cause: eve });
    const outcome = await nodeOver(events).commands.execute(retry('a'));
    expect(outcome.events[0]?.actor.id).to.equal('ann');
    expect(await events.readStream(BOOK)).to.have.length(2);
  });

  it('does not search events before the given position or time', async () => {
    const { counting, counts } = countingEvents(memoryStores().events);
    const clock = testClock();
    const node = nodeOver(counting, clock);
    for (let n = 0; n < 1200; n += 1) await node.commands.execute(write(`e${n}`));
    const cause = await node.commands.execute(write('cause'));
    if (cause.position === undefined) throw new Error('no position');
    clock.advance(1000);
    counts.reads = 0;
    await node.commands.execute(retry('e0', { after: cause.position }));
    await node.commands.execute(retry('e1', { since: BEGINNING + 1 }));
    // Each retry reads at most one page, not the whole stream.
    expect(counts.reads).to.be.at.most(1000);
    expect(await counting.readStream(BOOK, { from: 1201 })).to.have.length(2);
  });
});
