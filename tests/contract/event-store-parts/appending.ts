import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import {
  EventTooLarge,
  MAX_EVENT_BYTES,
  WrongExpectedRevision,
} from '../../../application/ports/event-store.ts';
import { type Context, event, events, idsOf, rejection } from './helpers.ts';

export function appendingTests({ store, prefix, fixture }: Context): void {
  describe('append', () => {
    it('returns the revision and position of the last event', async () => {
      const stream = `${prefix()}s-1`;
      const first = await store().append(stream, 'no_stream', [event()]);
      const second = await store().append(stream, 0, events(3));
      expect(first.revision).to.equal(0);
      expect(second.revision).to.equal(3);
      const stored = await store().readStream(stream);
      expect(stored.map(({ revision }) => revision)).to.deep.equal([0, 1, 2, 3]);
      expect(stored.map(({ position }) => position).at(0)).to.equal(first.position);
      expect(stored.map(({ position }) => position).at(-1)).to.equal(second.position);
      expect(second.position > first.position).to.equal(true);
    });

    it('accepts any revision with `any`', async () => {
      const stream = `${prefix()}s-1`;
      expect((await store().append(stream, 'any', [event()])).revision).to.equal(0);
      expect((await store().append(stream, 'any', events(2))).revision).to.equal(2);
    });

    it('refuses a wrong expectation with the actual revision and writes nothing', async () => {
      const stream = `${prefix()}s-1`;
      const missing = await rejection(store().append(stream, 0, [event()]));
      expect(missing).to.be.instanceOf(WrongExpectedRevision).and.include({ stream, expected: 0 });
      expect(missing).to.have.property('actual', undefined);

      const before = events(2);
      await store().append(stream, 'no_stream', before);
      for (const expected of ['no_stream', 0, 2, 7] as const) {
        const wrong = await rejection(store().append(stream, expected, events(2)));
        expect(wrong).to.be.instanceOf(WrongExpectedRevision).and.include({ stream, expected, actual: 1 });
      }
      expect(idsOf(await store().readStream(stream))).to.deep.equal(idsOf(before));
    });

    it('lets exactly one of 64 concurrent appends with the same expected revision win', async () => {
      const stream = `${prefix()}s-1`;
      await store().append(stream, 'no_stream', [event()]);
      const racers = Array.from({ length: 64 }, () => event());
      const results = await Promise.allSettled(racers.map((racer) => store().append(stream, 0, [racer])));
      const won = racers.filter((_, i) => results[i]?.status === 'fulfilled');
      expect(won).to.have.length(1);
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).to.be.instanceOf(WrongExpectedRevision);
      }
      expect(idsOf(await store().readStream(stream)).slice(1)).to.deep.equal(idsOf(won));
    });

    it('does not let a refused append affect others', async () => {
      const base = prefix();
      const appends = Array.from({ length: 20 }, (_, n) =>
        store().append(`${base}s-${n}`, n % 2 ? 'no_stream' : 5, events(2)),
      );
      const results = await Promise.allSettled(appends);
      expect(results.map(({ status }) => status === 'fulfilled')).to.deep.equal(
        results.map((_, n) => n % 2 === 1),
      );
    });

    it('answers each of many concurrent appends, above the size of one transaction', async () => {
      const base = prefix();
      const appends = Array.from({ length: 700 }, (_, n) => ({
        stream: `${base}s-${n}`,
        expected: n % 3 === 1 ? 5 : ('no_stream' as const),
        events: events(n % 2 === 0 ? 1 : 2),
      }));
      const appendAll = () =>
        Promise.all(
          appends.map(({ stream, expected, events: news }) =>
            store()
              .append(stream, expected, news)
              .catch((error: unknown) => error),
          ),
        );
      const outcomes = await appendAll();
      expect(outcomes).to.have.length(appends.length);
      for (const [n, { stream, events: news }] of appends.entries()) {
        const outcome = outcomes[n];
        const stored = await store().readStream(stream);
        if (n % 3 === 1) {
          expect(outcome).to.be.instanceOf(WrongExpectedRevision).and.include({ stream, expected: 5 });
          expect(stored).to.deep.equal([]);
        } else {
          expect(outcome).to.deep.equal({ revision: news.length - 1, position: stored.at(-1)?.position });
          expect(idsOf(stored)).to.deep.equal(idsOf(news));
        }
      }
      // Repeats every append, as a retry does.
      const again = await appendAll();
      expect(again.filter((outcome) => !(outcome instanceof Error))).to.deep.equal(
        outcomes.filter((outcome) => !(outcome instanceof Error)),
      );
    }).timeout(60_000);

    it('acknowledges a retry like the original, without a second write, also after later writes', async () => {
      const stream = `${prefix()}s-1`;
      const [first, second] = [events(2), events(3)];
      const done1 = await store().append(stream, 'no_stream', first);
      const done2 = await store().append(stream, 1, second);
      await store().append(stream, 4, events(2));
      expect(await store().append(stream, 'no_stream', first)).to.deep.equal(done1);
      expect(await store().append(stream, 1, second)).to.deep.equal(done2);
      expect(await store().readStream(stream)).to.have.length(7);
    });

    it('acknowledges a retry queued together with the original', async () => {
      const stream = `${prefix()}s-1`;
      const same = events(2);
      const [one, two] = await Promise.all([
        store().append(stream, 'no_stream', same),
        store().append(stream, 'no_stream', same),
      ]);
      expect(two).to.deep.equal(one);
      expect(await store().readStream(stream)).to.have.length(2);
    });

    it('does not accept other or partly other events as a retry', async () => {
      const stream = `${prefix()}s-1`;
      const [a, b] = events(2);
      if (!a || !b) throw new Error('two events');
      await store().append(stream, 'no_stream', [a, b]);
      for (const other of [[a, event()], [b, a], [a, b, event()], [event()]]) {
        const wrong = await rejection(store().append(stream, 'no_stream', other));
        expect(wrong).to.be.instanceOf(WrongExpectedRevision);
      }
    });

    it('writes the same id again when the expected revision is the present one', async () => {
      const stream = `${prefix()}s-1`;
      const same = event();
      await store().append(stream, 'no_stream', [same]);
      expect((await store().append(stream, 0, [same])).revision).to.equal(1);
      expect(idsOf(await store().readStream(stream))).to.deep.equal([same.id, same.id]);
    });

    it('acknowledges a retry after the store was reopened', async function () {
      const { reopen } = fixture();
      if (!reopen) return this.skip();
      const stream = `${prefix()}s-1`;
      const batch = events(2);
      const done = await store().append(stream, 'no_stream', batch);
      await store().append(stream, 1, [event()]);
      const again = await reopen();
      expect(await again.append(stream, 'no_stream', batch)).to.deep.equal(done);
      expect(await again.readStream(stream)).to.have.length(3);
      expect((await again.append(stream, 2, [event()])).revision).to.equal(3);
    });

    it('stores an event of maximum size and refuses one byte more', async () => {
      const stream = `${prefix()}s-1`;
      // Two-byte letters, since the limit is on UTF-8 bytes, not on characters.
      const room = MAX_EVENT_BYTES - Buffer.byteLength('{"t":""}') - Buffer.byteLength('{"m":1}');
      const data = JSON.stringify({ t: 'é'.repeat(Math.floor(room / 2)) + 'x'.repeat(room % 2) });
      await store().append(stream, 'no_stream', [event('Big', data, '{"m":1}')]);
      expect((await store().readStream(stream))[0]?.data === data).to.equal(true);
      const tooLarge = await rejection(store().append(stream, 0, [event('Big', data, '{"m":10}')]));
      expect(tooLarge).to.be.instanceOf(EventTooLarge);
      expect(await store().readStream(stream)).to.have.length(1);
    });

    it('returns texts byte for byte', async () => {
      const stream = `${prefix()}s-1`;
      const texts = [
        '{"a":"ä€😀👩‍👩‍👧‍👦","b":"\u2028\u2029\u00a0\ufeff"}',
        '{"escaped":"\\u0000\\n\\"\\\\\\/\\ud800","num":1.0,"exp":1E5,"big":12345678901234567890}',
        ' { "white" : [ 1 , 2 ] }\n',
        '{"b":1,"a":2,"10":3,"9":4,"a":5,"__proto__":6}',
        '{}',
        'null',
        '0',
        '""',
        '[]',
      ];
      const given = texts.map((text) => ({ id: randomUUID(), type: 'Ünïcode', data: text, metadata: text }));
      await store().append(stream, 'no_stream', given);
      const stored = await store().readStream(stream);
      const kept = stored.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }));
      expect(kept).to.deep.equal(given);
    });

    it('refuses an empty append, an id that is not a UUID, system names and malformed text', async () => {
      const stream = `${prefix()}s-1`;
      const bad = [
        store().append(stream, 'any', []),
        store().append(stream, 'any', [{ ...event(), id: 'nonsense' }]),
        store().append(stream, 'any', [{ ...event(), id: randomUUID().toUpperCase() }]),
        store().append('$system', 'any', [event()]),
        store().append(stream, 'any', [event('$system')]),
        store().append(stream, 'any', [event('NoteTaken', '"\ud800"')]),
        store().append(stream, -1, [event()]),
      ];
      for (const append of bad) expect(await rejection(append)).to.be.instanceOf(TypeError);
      expect(await store().readStream(stream)).to.deep.equal([]);
    });
  });
}
