import { expect } from 'chai';
import fc from 'fast-check';
import { BackgroundScheduler } from '../../application/core/concurrency/background-scheduler.ts';
import { runSubscriber } from '../../application/core/subscriptions/subscriber.ts';
import type { ReadStore } from '../../application/ports/read-store.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { bookEvents, write } from '../support/book.ts';
import { untilPasses } from '../support/eventually.ts';
import { memoryStores, startNode } from '../support/node.ts';
import { handledUpTo } from '../support/schedule.ts';

interface Run {
  /** Tenants whose events are written during the run, in order. */
  readonly writes: readonly number[];
  /** Every nth event of a tenant takes long. */
  readonly slow: number;
  /** Whether the run's progress is lost, as with a crash before it was saved. */
  readonly isLost: boolean;
  /** Number of events after which the run is ended. */
  readonly killedAfter: number;
}

const runs = fc.array(
  fc.record<Run>({
    writes: fc.array(fc.nat(3), { maxLength: 120 }),
    slow: fc.integer({ min: 1, max: 30 }),
    isLost: fc.boolean(),
    killedAfter: fc.nat(80),
  }),
  { minLength: 1, maxLength: 4 },
);

describe('The queues of a subscriber', () => {
  it('lose nothing and keep the order of each tenant over spills and kills', async () => {
    const property = fc.asyncProperty(runs, async (all) => {
      const store = await openSqliteReadStore({ path: ':memory:' });
      const stores = memoryStores();
      const node = startNode({ ...stores, definitions: bookEvents });
      const written = new Map<string, number>();
      const handled = new Map<string, number>();
      const oneRun = async ({ writes, slow, isLost, killedAfter }: Run, isLast: boolean): Promise<void> => {
        let count = 0;
        const next = new Map<string, number>();
        const stopping = new AbortController();
        const lossy: ReadStore = isLost ? { ...store, saveSubscriberProgress: async () => undefined } : store;
        const done = runSubscriber(
          {
            name: 'listener',
            types: ['EntryWritten'],
            handle: async ({ tenantId, revision }) => {
              if (revision % slow === 0) await new Promise((resolve) => setTimeout(resolve, 1));
              const wanted = next.get(tenantId) ?? revision;
              expect([tenantId, revision]).to.deep.equal([tenantId, wanted]);
              expect(revision).to.be.at.most((handled.get(tenantId) ?? -1) + 1);
              next.set(tenantId, revision + 1);
              handled.set(tenantId, Math.max(handled.get(tenantId) ?? -1, revision));
              count += 1;
              if (count > killedAfter && !isLast) stopping.abort();
            },
          },
          {
            codec: node.codec,
            logger: node.logger,
            ttlMs: 5000,
            owner: 'one',
            store: lossy,
            follower: node.follower,
            scheduler: new BackgroundScheduler({ atOnce: 1 }),
            room: { chars: 0, maxChars: 20_000, ofTenant: { events: 5, chars: 4000 } },
          },
          stopping.signal,
        );
        for (const tenant of writes) {
          const tenantId = `t${tenant}`;
          await node.commands.execute({ ...write(`e${count}`), tenantId });
          written.set(tenantId, (written.get(tenantId) ?? -1) + 1);
        }
        if (isLast) {
          await untilPasses(() => expect(handled).to.deep.equal(written));
          const end = await stores.events.end();
          await untilPasses(async () => expect(await handledUpTo(store, 'listener')).to.equal(end));
        }
        stopping.abort();
        await done;
        const failed = node.logger.lines.filter(({ message }) => message.includes('skipped'));
        expect(failed).to.deep.equal([]);
      };
      for (const run of all) await oneRun(run, false);
      await oneRun({ writes: [0], slow: 1000, isLost: false, killedAfter: 0 }, true);
      await store.close();
    });
    await fc.assert(property, { numRuns: 15 });
  }).timeout(120_000);
});
