import { expect } from 'chai';
import fc from 'fast-check';
import type { CommandHandler } from '../../../../application/core/commands/command-handler.ts';
import { StoreUnavailable } from '../../../../application/ports/event-store.ts';
import { DomainError } from '../../../../domain/core/errors.ts';
import { BOOK, bookEvents, close, reopen, write } from '../../../support/book.ts';
import { chainFaults } from '../../../support/chain.ts';
import { withEachEventStore } from '../../../support/event-stores.ts';
import { refusalCode } from '../../../support/eventually.ts';
import { testClock } from '../../../support/fakes.ts';
import { type Fault, faultyEvents } from '../../../support/faults.ts';
import { memoryStores, startNode } from '../../../support/node.ts';

const definitions = bookEvents;

interface Step {
  readonly node: 0 | 1;
  readonly what: 'write' | 'close' | 'reopen';
  readonly pause: number;
  /** Whether a write assumes that the stream has no events. */
  readonly isNew: boolean;
}
const steps = fc.array(
  fc.record<Step>({
    node: fc.constantFrom(0, 1),
    what: fc.constantFrom('write', 'write', 'write', 'close', 'reopen'),
    pause: fc.nat(3),
    isNew: fc.boolean(),
  }),
  { maxLength: 30 },
);
const faults = fc.array(
  fc.constantFrom<Fault>('none', 'none', 'none', 'lost race', 'unavailable before', 'unavailable after'),
  { maxLength: 12 },
);

/** Repeats until the store answers, as a client with an Idempotency-Key does. */
const untilAnswered = async (
  commands: CommandHandler,
  entry: string,
  isNew: boolean,
): Promise<'written' | 'refused'> => {
  for (let again = false; ; again = true) {
    try {
      await commands.execute(write(entry, again ? { isNew, priorAttempt: { since: 0 } } : { isNew }));
      return 'written';
    } catch (error) {
      if (error instanceof DomainError) return 'refused';
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
};
const quietly = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!(error instanceof StoreUnavailable)) throw error;
  });

describe('two nodes on one log', () => {
  withEachEventStore((open) => {
    it('have every effect exactly once under any races and faults', async () => {
      await fc.assert(
        fc.asyncProperty(steps, faults, faults, async (story, hereFaults, thereFaults) => {
          const events = await open();
          const { keyStore } = memoryStores();
          const nodes = [hereFaults, thereFaults].map((list) =>
            startNode({ events: faultyEvents(events, list), keyStore, clock: testClock(), definitions }),
          );
          const written: Promise<readonly [string, 'written' | 'refused']>[] = [];
          const others: Promise<unknown>[] = [];
          for (const [n, { node, what, pause, isNew }] of story.entries()) {
            const commands = nodes[node]?.commands;
            if (commands === undefined) throw new Error('no such node');
            if (what === 'write')
              written.push(untilAnswered(commands, `e${n}`, isNew).then((end) => [`e${n}`, end] as const));
            else others.push(quietly(commands.execute(what === 'close' ? close() : reopen())));
            for (let tick = 0; tick < pause; tick += 1) await new Promise((resolve) => setImmediate(resolve));
          }
          const ends = await Promise.all(written);
          await Promise.all(others);
          const log = await events.readStream(BOOK);
          expect(chainFaults(log)).to.deep.equal([]);
          const entries = log
            .filter((event) => event.type === 'EntryWritten')
            .map((event) => JSON.parse(event.data));
          expect(
            entries.map((entry) => entry.number),
            'numbers have no gap',
          ).to.deep.equal(entries.map((_, n) => n + 1));
          const kept = ends.filter(([, end]) => end === 'written').map(([entry]) => entry);
          expect(entries.map((entry) => entry.entry).sort()).to.deep.equal(kept.sort());
          let closed = false;
          for (const { type } of log) {
            if (type === 'EntryWritten')
              expect(closed, 'nothing is written in a closed book').to.equal(false);
            else expect(closed).to.equal(type === 'BookReopened');
            if (type !== 'EntryWritten') closed = type === 'BookClosed';
          }
        }),
        { numRuns: 60 },
      );
    }).timeout(60_000);
  });

  it('do not refuse a command because of an old cached state', async () => {
    const stores = memoryStores();
    const [here, there] = [startNode({ ...stores, definitions }), startNode({ ...stores, definitions })];
    await here.commands.execute(close());
    await there.commands.execute(reopen());
    const outcome = await here.commands.execute(write('a'));
    expect(outcome.events).to.have.length(1);
    await there.commands.execute(close());
    expect(await refusalCode(here.commands.execute(write('b')))).to.equal('conflict');
  });

  it('do not skip a command because of an old cached state', async () => {
    const stores = memoryStores();
    const [here, there] = [startNode({ ...stores, definitions }), startNode({ ...stores, definitions })];
    await here.commands.execute(close());
    await there.commands.execute(reopen());
    expect((await here.commands.execute(close())).events).to.have.length(1);
  });
});
