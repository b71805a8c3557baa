import { expect } from 'chai';
import type { EventBatch } from '../../../application/core/subscriptions/log-follower.ts';
import type { Position, StoredEvent } from '../../../application/ports/event-store.ts';
import { untilPasses } from '../../support/eventually.ts';
import { type Context, events, follow, followerOf, idsOf, race } from './helpers.ts';

/** The process's follower over the store's pages and wake-ups. */
export function subscribingTests({ store, prefix, fixture }: Context): void {
  describe('A followed log', () => {
    it('gives every event once and in order to each follower while writers race', async () => {
      const base = prefix();
      const [writers, each] = [16, 30];
      const total = 2 * expectedOf(writers, each);
      const filter = { streamPrefix: base };
      const early = await race(store(), base, { writers, each });
      const full = (all: readonly StoredEvent[]) => all.length >= total;
      const shared = followerOf(store());
      const followers = [1, 7, 512].map((batchSize) => follow(store(), { filter, batchSize }, full, shared));
      const late = await race(store(), base, { writers, each });
      const followed = await Promise.all(followers);
      const log = await store().readAll({ limit: 10_000, filter });
      expect(idsOf(log).toSorted()).to.deep.equal([...early, ...late].sort());
      for (const { events: seen } of followed) expect(seen).to.deep.equal(log);
    });

    it('announces the end of the catch-up with its position, even without a match', async () => {
      const base = prefix();
      const { position } = await store().append(`${base}s-1`, 'any', events(3));
      for (const filter of [{ streamPrefix: `${base}none` }, { types: [`None${base}`] }]) {
        const { batches, events: seen } = await follow(store(), { filter }, (_, batch) => batch.caughtUp);
        expect(seen).to.deep.equal([]);
        expect((batches.at(-1)?.position ?? '') >= position).to.equal(true);
      }
      const atEnd = await follow(store(), { after: await store().end() }, (_, batch) => batch.caughtUp);
      expect(atEnd.events).to.deep.equal([]);
    });

    it('continues to announce its position when new events do not match', async () => {
      const base = prefix();
      let first: Position | undefined;
      let told = false;
      let writing: Promise<void> | undefined;
      const write = async () => {
        while (!told) {
          const { position } = await store().append(`${base}s-1`, 'any', events(2));
          first ??= position;
        }
      };
      const filter = { streamPrefix: `${base}none` };
      const { batches } = await follow(store(), { after: await store().end(), filter }, (_, batch) => {
        if (batch.caughtUp) writing ??= write();
        told = first !== undefined && batch.position >= first;
        return told;
      });
      await writing;
      const positions = batches.map(({ position }) => position);
      expect(positions).to.deep.equal(positions.toSorted());
      expect(batches.flatMap((batch) => batch.events)).to.deep.equal([]);
    });

    it('resumes after any position without gap or duplicate', async () => {
      const base = prefix();
      await race(store(), base, { writers: 4, each: 10 });
      const filter = { streamPrefix: base };
      const log = await store().readAll({ limit: 10_000, filter });
      for (const index of [0, 1, Math.floor(log.length / 2), log.length - 2]) {
        const rest = log.slice(index + 1);
        const after = log[index]?.position;
        const seen = await follow(store(), { after, filter }, (all) => all.length >= rest.length);
        expect(seen.events).to.deep.equal(rest);
      }
    });

    it('resumes from the position of each batch, also across several followers', async () => {
      const base = prefix();
      const filter = { streamPrefix: base, types: ['Type1', 'Type3'] };
      await race(store(), base, { writers: 4, each: 20 });
      const log = await store().readAll({ limit: 10_000, filter });
      const seen: StoredEvent[] = [];
      let after: Position | undefined;
      while (seen.length < log.length) {
        const part = await follow(
          store(),
          { after, filter, batchSize: 5 },
          (_, batch) => batch.events.length > 0,
        );
        seen.push(...part.events);
        after = part.batches.at(-1)?.position;
      }
      expect(seen).to.deep.equal(log);
    });

    it('loses nothing for a consumer slower than the writers', async () => {
      const base = prefix();
      const filter = { streamPrefix: base };
      const end = new AbortController();
      const begun = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const seen: string[] = [];
      const sizes: number[] = [];
      let total = Number.POSITIVE_INFINITY;
      const options = { after: await store().end(), filter, batchSize: 16, signal: end.signal };
      const running = followerOf(store()).run(options, async (batch) => {
        sizes.push(batch.events.length);
        seen.push(...idsOf(batch.events));
        begun.resolve();
        await released.promise;
        if (seen.length >= total) end.abort();
      });
      await begun.promise;
      // All events are written while the consumer holds its first batch.
      const written = await race(store(), base, { writers: 32, each: 40 });
      total = written.length;
      released.resolve();
      await running;
      expect(Math.max(...sizes)).to.be.at.most(16);
      expect(seen.toSorted()).to.deep.equal(written.toSorted());
      expect(new Set(seen).size).to.equal(seen.length);
    });

    it('ends promptly when aborted: while waiting, after the present batch, and before the start', async () => {
      const after = await store().end();
      const waiting = new AbortController();
      let isCaughtUp = false;
      const follower = followerOf(store());
      const running = follower.run({ after, signal: waiting.signal }, (batch) => {
        isCaughtUp ||= batch.caughtUp;
      });
      await store().append(`${prefix()}s-1`, 'any', events(4));
      await untilPasses(() => expect(isCaughtUp).to.equal(true));
      waiting.abort();
      await running;

      const held = new AbortController();
      let handled = 0;
      await follower.run({ after, batchSize: 1, signal: held.signal }, async () => {
        held.abort();
        await Promise.resolve();
        handled += 1;
      });
      expect(handled).to.equal(1);

      const started: EventBatch[] = [];
      await follower.run({ signal: AbortSignal.abort() }, (batch) => void started.push(batch));
      expect(started).to.deep.equal([]);
    });

    it('resumes after the store was reopened', async function () {
      const { reopen } = fixture();
      if (!reopen) return this.skip();
      const base = prefix();
      const filter = { streamPrefix: base };
      const { position } = await store().append(`${base}s-1`, 'any', events(3));
      const again = await reopen();
      const more = events(3);
      const seen = follow(again, { after: position, filter }, (all) => all.length >= 3);
      await again.append(`${base}s-1`, 'any', more);
      expect(idsOf((await seen).events)).to.deep.equal(idsOf(more));
    });
  });
}

/** Number of events that `race` writes. */
function expectedOf(writers: number, each: number): number {
  let count = 0;
  for (let writer = 0; writer < writers; writer += 1) {
    for (let n = 0; n < each; n += 1) count += 1 + ((writer + n) % 3);
  }
  return count;
}
