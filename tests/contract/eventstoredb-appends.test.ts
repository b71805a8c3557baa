import { expect } from 'chai';
import { GroupCommit } from '../../application/core/commands/group-commit.ts';
import { KeyRing } from '../../application/core/privacy/key-ring.ts';
import { type EventStore, StoreUnavailable } from '../../application/ports/event-store.ts';
import { openEventStoreDb } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../support/eventstoredb/start.ts';
import { untilPasses } from '../support/eventually.ts';
import { memoryKeyStore, silentMetrics } from '../support/fakes.ts';
import { MASTER_KEY } from '../support/node.ts';
import { events, rejection } from './event-store-parts/helpers.ts';

const unavailable = (error: unknown): undefined => {
  if (!(error instanceof StoreUnavailable)) throw error;
};

/** Checks messages on the wire by the counts of the test server. */
describe('Appends to EventStoreDB', () => {
  let server: TestEventStoreDb;
  let store: EventStore;

  beforeEach(async () => {
    server = await startEventStoreDb();
    store = openEventStoreDb({ url: server.url });
    // Opens the connection and its append stream.
    await store.append('a.first-1', 'no_stream', events(1));
    // A commit takes longer than a busy machine needs to send concurrent appends.
    await server.setPace({ commitMs: 500 });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  it('get the same answer as an identical append in flight', async () => {
    const pairs = Array.from({ length: 100 }, (_, nth) => ({ stream: `a.twin-${nth}`, same: events(2) }));
    const answers = await Promise.all(
      pairs.map(({ stream, same }) =>
        Promise.all([store.append(stream, 'no_stream', same), store.append(stream, 'no_stream', same)]),
      ),
    );
    for (const [one, two] of answers) expect(two).to.deep.equal(one);
    for (const { stream } of pairs) expect(await store.readStream(stream)).to.have.length(2);
    expect((await server.counts()).twins, 'appends that met a twin').to.be.at.least(100);
  });

  it('are sent together on one append stream for commands on different streams', async () => {
    const keys = new KeyRing(memoryKeyStore(), MASTER_KEY);
    const group = new GroupCommit({ events: store, keys, metrics: silentMetrics });
    const before = await server.counts();
    const appends: Promise<unknown>[] = [];
    for (let nth = 0; nth < 64; nth += 1) {
      const append = { stream: `a.group-${nth}`, expected: 'no_stream', events: events(1) } as const;
      group.arrived(1);
      appends.push(
        new Promise((resolve, reject) => {
          group.schedule(() => void group.append(append, []).then(resolve, reject));
        }),
      );
    }
    await Promise.all(appends);
    const after = await server.counts();
    expect(after.appends - before.appends).to.equal(64);
    expect(after.peakAppends, 'appends in flight at the same time').to.equal(64);
    expect(after.groups - before.groups, 'groups').to.be.at.most(32);
    expect(after.batchStreams, 'streams of appends').to.equal(1);
  });

  it('do not wait for an earlier group’s appends to other streams', async () => {
    const keys = new KeyRing(memoryKeyStore(), MASTER_KEY);
    const group = new GroupCommit({ events: store, keys, metrics: silentMetrics });
    const append = (stream: string): Promise<unknown> =>
      group.append({ stream, expected: 'no_stream', events: events(1) }, []);
    server.freeze();
    const first = append('a.early-1');
    // After two ticks the first group has been sent.
    for (let tick = 0; tick < 3; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    const second = append('a.late-1');
    for (let tick = 0; tick < 3; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    server.thaw();
    await Promise.all([first, second]);
    expect((await server.counts()).peakAppends, 'in flight together').to.equal(2);
  });

  it('delay reads of their stream while the server may still store them after a timeout', async () => {
    await store.close();
    store = openEventStoreDb({ url: server.url, timeoutMs: 500 });
    await server.setPace({ commitMs: 1 });
    // A new store first reads whether its log was imported.
    await store.append('a.second-1', 'no_stream', events(1));
    const [late] = events(1);
    if (late === undefined) throw new Error('one event');
    server.freeze();
    expect(await rejection(store.append('a.late-1', 'no_stream', [late]))).to.be.instanceOf(StoreUnavailable);
    expect(await rejection(store.readStream('a.late-1'))).to.be.instanceOf(StoreUnavailable);
    const reading = store.readStream('a.late-1').catch(unavailable);
    server.thaw();
    // On a busy machine the first read may time out; the first read with an answer contains the event.
    const answered = (await reading) ?? (await untilPasses(() => store.readStream('a.late-1')));
    expect(answered, 'events of the stream').to.have.length(1);
  });
});
