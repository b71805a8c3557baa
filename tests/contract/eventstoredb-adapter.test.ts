import { MaxAppendSizeExceededError, UnavailableError } from '@eventstore/db-client';
import { expect } from 'chai';
import {
  EventTooLarge,
  type StoredEvent,
  StoreUnavailable,
  WrongExpectedRevision,
} from '../../application/ports/event-store.ts';
import { acquireConnection } from '../../infrastructure/event-store/eventstoredb/connection.ts';
import { appendError } from '../../infrastructure/event-store/eventstoredb/errors.ts';
import { overConnection } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { untilPasses } from '../support/eventually.ts';
import { testLogger } from '../support/fakes.ts';
import { eventStoreContract } from './event-store.ts';
import { FakeEventStoreDb } from './event-store-parts/fake-eventstoredb.ts';
import { event, events, follow, followerOf, idsOf, race, rejection } from './event-store-parts/helpers.ts';

/** gRPC status ABORTED, as the server sends it. */
const tooSlow = (): Error =>
  new Error('10 ABORTED: Operation timed out: Consumer too slow to handle event while live');

function open(timeoutMs = 1000) {
  const server = new FakeEventStoreDb();
  const store = overConnection(server, { timeoutMs, release: () => server.dispose() });
  return { server, store };
}

eventStoreContract('EventStoreDB adapter over a fake server', async () => {
  const { store } = open();
  return { store, dispose: () => store.close() };
});

describe('EventStoreDB adapter', () => {
  it('resubscribes after each break, without gap or duplicate', async () => {
    const { server, store } = open();
    const total = 2 * 16 * 20;
    const seen: StoredEvent[] = [];
    let batches = 0;
    const following = follow(store, { filter: { streamPrefix: 'a.' }, batchSize: 7 }, (all, batch) => {
      seen.push(...batch.events);
      if (++batches % 10 === 0 && batches < 60) server.breakSubscriptions(new UnavailableError());
      return all.length >= total;
    });
    const written = await race(store, 'a.', { writers: 16, each: 20 });
    while (written.length < total) {
      const more = events(1);
      await store.append('a.s-9', 'any', more);
      written.push(...idsOf(more));
    }
    await following;
    expect(seen).to.deep.equal(await store.readAll({ filter: { streamPrefix: 'a.' }, limit: 10_000 }));
    expect(idsOf(seen).toSorted()).to.deep.equal(written.toSorted());
  });

  it('continues by pages when the server does not report that it has caught up', async () => {
    const { server, store } = open(50);
    server.tellsCaughtUp = false;
    await store.append('a.s-1', 'any', events(5));
    await store.append('b.s-1', 'any', events(5));
    const filter = { streamPrefix: 'a.' };
    expect(await store.readAll({ filter })).to.deep.equal(await store.readStream('a.s-1'));
  });

  /** Follows the log while a subscription breaks with this error. @returns the number of warnings */
  const warningsOver = async (error: Error): Promise<number> => {
    const logger = testLogger();
    const server = new FakeEventStoreDb();
    const store = overConnection(server, { timeoutMs: 1000, logger, release: async () => undefined });
    let seen: string[] = [];
    const following = follow(store, {}, (all) => {
      seen = idsOf(all);
      return all.length >= 30;
    });
    const written: string[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      const more = events(10);
      await store.append('a.s-1', 'any', more);
      written.push(...idsOf(more));
      await untilPasses(() => expect(seen).to.deep.equal(written));
      expect(server.subscriptions, 'one subscription').to.be.at.most(1);
      if (nth === 0) server.breakSubscriptions(error);
    }
    await following;
    return logger.lines.filter(({ level }) => level === 'warn').length;
  };

  it('resubscribes at once and without a warning after the server dropped it as too slow', async () => {
    expect(await warningsOver(tooSlow())).to.equal(0);
  });

  it('resubscribes with one warning after it lost its connection', async () => {
    expect(await warningsOver(new UnavailableError())).to.equal(1);
  });

  it('waits for a server that is down, and ends promptly when aborted meanwhile', async () => {
    const { server, store } = open();
    server.down = Object.assign(new Error('14 UNAVAILABLE: No connection established'), { code: 14 });
    const end = new AbortController();
    const first = follow(store, {}, (all) => all.length > 0);
    expect(await rejection(store.append('a.s-1', 'any', [event()]))).to.be.instanceOf(StoreUnavailable);
    expect(await rejection(store.readStream('a.s-1'))).to.be.instanceOf(StoreUnavailable);
    server.down = undefined;
    await store.append('a.s-1', 'no_stream', [event()]);
    expect((await first).events).to.have.length(1);

    server.frozen = true;
    const frozen = followerOf(store).run({ signal: end.signal }, () => expect.fail('frozen'));
    end.abort();
    await frozen;
  });

  it('limits the time of every call', async () => {
    const { server, store } = open(30);
    server.frozen = true;
    for (const call of [
      store.append('a.s-1', 'any', [event()]),
      store.readStream('a.s-1'),
      store.readAll(),
      store.end(),
    ]) {
      expect(await rejection(call)).to.be.instanceOf(StoreUnavailable);
    }
  });

  it('omits the server’s system events', async () => {
    const { store } = open();
    await store.append('a.s-1', 'any', events(3));
    const all = await store.readAll();
    const { events: seen } = await follow(store, {}, (_, batch) => batch.caughtUp);
    expect(all.map(({ stream }) => stream)).to.deep.equal(['a.s-1', 'a.s-1', 'a.s-1']);
    expect(seen).to.deep.equal(all);
  });

  it('keeps JSON metadata readable for the server, and marks what the client would change', async () => {
    const { server, store } = open();
    const plain = '{"$correlationId":"c","tenant_id":"t"}';
    await store.append('a.s-1', 'any', [event('A', '{}', plain), event('A', '{}', '{"n":1.0}')]);
    const own = server.log.filter(({ streamId }) => streamId === 'a.s-1');
    expect(own[0]?.metadata).to.deep.equal(JSON.parse(plain));
    expect(own[1]?.metadata).to.be.instanceOf(Uint8Array);
  });

  it('maps errors by class, by type, and errors without class or type', () => {
    const typed = (type: string) => Object.assign(new Error('x'), { type });
    const map = (error: unknown) => appendError(error, 's', 3);
    expect(map(typed('wrong-expected-version'))).to.be.instanceOf(WrongExpectedRevision);
    expect(map(new MaxAppendSizeExceededError(undefined, 1_048_576))).to.be.instanceOf(EventTooLarge);
    expect(map(typed('maximum-append-size-exceeded'))).to.be.instanceOf(EventTooLarge);
    expect(map(new UnavailableError())).to.be.instanceOf(StoreUnavailable);
    expect(map(typed('deadline-exceeded'))).to.be.instanceOf(StoreUnavailable);
    expect(map('nonsense')).to.be.instanceOf(StoreUnavailable);
  });

  it('has one connection in a process', async () => {
    const made: string[] = [];
    let disposed = 0;
    const connect = (url: string) => {
      made.push(url);
      const dispose = async (): Promise<void> => {
        disposed += 1;
      };
      return Object.assign(new FakeEventStoreDb(), { dispose });
    };
    const one = acquireConnection('esdb://one', 100, connect);
    const two = acquireConnection('esdb://one', 100, connect);
    expect(two.connection).to.equal(one.connection);
    expect(() => acquireConnection('esdb://other', 100, connect)).to.throw('another EventStoreDB');
    await one.release();
    expect(disposed).to.equal(0);
    await two.release();
    expect(disposed).to.equal(1);
    const again = acquireConnection('esdb://one', 100, connect);
    expect(again.connection).to.equal(one.connection);
    await again.release();
    await acquireConnection('esdb://other', 100, connect).release();
    expect(made).to.deep.equal(['esdb://one', 'esdb://other']);
    const bad = 'esdb://localhost:2113?tls=false&throwOnAppendFailure=false';
    expect(() => acquireConnection(bad, 100)).to.throw('throwOnAppendFailure');
  });

  it('reports an unreachable real server as unavailable, and does not crash', async () => {
    const { connection, release } = acquireConnection('esdb://127.0.0.1:1?tls=false', 2000);
    const store = overConnection(connection, { timeoutMs: 2000, release });
    for (const call of [store.append('a.s-1', 'any', [event()]), store.readStream('a.s-1'), store.end()]) {
      expect(await rejection(call)).to.be.instanceOf(StoreUnavailable);
    }
    await store.close();
  });
});
