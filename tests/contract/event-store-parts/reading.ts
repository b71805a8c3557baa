import { expect } from 'chai';
import type { Position, StoredEvent } from '../../../application/ports/event-store.ts';
import { type Context, event, events, idsOf, race } from './helpers.ts';

export function readingTests({ store, prefix }: Context): void {
  describe('readStream', () => {
    it('returns nothing for an unknown stream', async () => {
      expect(await store().readStream(`${prefix()}s-1`)).to.deep.equal([]);
      expect(await store().readStream(`${prefix()}s-1`, { direction: 'backward' })).to.deep.equal([]);
    });

    it('reads forward and backward, from a revision, up to a limit', async () => {
      const stream = `${prefix()}s-1`;
      const given = events(10);
      await store().append(stream, 'no_stream', given);
      const ids = idsOf(given);
      const read = async (options: object) => idsOf(await store().readStream(stream, options));
      expect(await read({})).to.deep.equal(ids);
      expect(await read({ from: 4 })).to.deep.equal(ids.slice(4));
      expect(await read({ from: 4, limit: 3 })).to.deep.equal(ids.slice(4, 7));
      expect(await read({ from: 10 })).to.deep.equal([]);
      const back = ids.toReversed();
      expect(await read({ direction: 'backward' })).to.deep.equal(back);
      expect(await read({ direction: 'backward', limit: 1 })).to.deep.equal(back.slice(0, 1));
      expect(await read({ direction: 'backward', from: 4 })).to.deep.equal(back.slice(5));
      expect(await read({ direction: 'backward', from: 4, limit: 2 })).to.deep.equal(back.slice(5, 7));
      expect(await read({ direction: 'backward', from: 99 })).to.deep.equal(back);
    });

    it('reads 1,000 events by default, and more with a higher limit', async () => {
      const stream = `${prefix()}s-1`;
      for (let n = 0; n < 5; n += 1) await store().append(stream, 'any', events(500));
      expect(await store().readStream(stream)).to.have.length(1000);
      const all = await store().readStream(stream, { limit: 3000 });
      expect(all.map(({ revision }) => revision)).to.deep.equal(Array.from({ length: 2500 }, (_, n) => n));
      const back = await store().readStream(stream, { limit: 2200, direction: 'backward' });
      expect(back.map(({ revision }) => revision)).to.deep.equal(
        Array.from({ length: 2200 }, (_, n) => 2499 - n),
      );
    });
  });

  describe('readStreams', () => {
    it('reads the first events of many streams, in the order of the request', async () => {
      const base = prefix();
      const given = await Promise.all(
        Array.from({ length: 70 }, async (_, n) => {
          const own = events((n * 7) % 5);
          // Appends in an order other than that of the names.
          if (own.length > 0) await store().append(`${base}s-${(n * 31) % 70}`, 'no_stream', own);
          return { stream: `${base}s-${(n * 31) % 70}`, ids: idsOf(own) };
        }),
      );
      const streams = given.map(({ stream }) => stream);
      const read = await store().readStreams(streams, 3);
      expect(read.map(idsOf)).to.deep.equal(given.map(({ ids }) => ids.slice(0, 3)));
      for (const [n, own] of read.entries()) {
        expect(own).to.deep.equal(await store().readStream(streams[n] ?? '', { limit: 3 }));
      }
      expect(await store().readStreams([], 3)).to.deep.equal([]);
    });

    it('reads large streams, and caches their last revision correctly for the next append', async () => {
      const base = prefix();
      const streams = Array.from({ length: 40 }, (_, n) => `${base}s-${n}`);
      const big = JSON.stringify({ text: 'x'.repeat(200_000) });
      for (const stream of streams) await store().append(stream, 'no_stream', [event('NoteTaken', big)]);
      const read = await store().readStreams(streams, 2);
      expect(read.map(([first]) => first?.stream)).to.deep.equal(streams);
      const few = await store().readStreams(streams, 2, 300_000);
      expect(few.length).to.be.within(2, 8);
      expect(few.map(([first]) => first?.stream)).to.deep.equal(streams.slice(0, few.length));
      expect(await store().readStreams(streams.slice(0, 1), 2, 0)).to.deep.equal(few.slice(0, 1));
      await Promise.all(streams.map((stream) => store().append(stream, 0, events(2))));
      const again = await store().readStreams(streams, 2);
      expect(again.map((own) => own.map(({ revision }) => revision))).to.deep.equal(
        streams.map(() => [0, 1]),
      );
      const late = await Promise.all(
        streams.map((stream) =>
          store()
            .append(stream, 0, events(1))
            .catch(() => 'late'),
        ),
      );
      expect(late).to.deep.equal(streams.map(() => 'late'));
      expect((await store().append(streams[0] ?? '', 2, events(1))).revision).to.equal(3);
    });
  });

  describe('readAll', () => {
    it('gives one order without gap or duplicate under concurrent writers', async () => {
      const base = prefix();
      const written = await race(store(), base);
      const filter = { streamPrefix: base };
      const all = await store().readAll({ limit: 10_000, filter });
      expect(idsOf(all).toSorted()).to.deep.equal(written.toSorted());
      expectOrdered(all);
      for (const stream of new Set(all.map((one) => one.stream))) {
        const own = all.filter((one) => one.stream === stream);
        expect(own.map(({ revision }) => revision)).to.deep.equal(own.map((_, n) => n));
        expect(await store().readStream(stream, { limit: 10_000 })).to.deep.equal(own);
      }
      const back = await store().readAll({ limit: 10_000, filter, direction: 'backward' });
      expect(back).to.deep.equal(all.toReversed());
    });

    it('reads from a position, exclusive, up to a limit, in both directions', async () => {
      const base = prefix();
      const start = await store().end();
      await store().append(`${base}s-1`, 'any', events(6));
      await store().append(`${base}s-2`, 'any', events(4));
      const filter = { streamPrefix: base };
      const all = await store().readAll({ filter });
      expect(all).to.have.length(10);
      expect(await store().readAll({ from: start })).to.deep.equal(all);
      expect(await store().readAll({ from: start, limit: 4 })).to.deep.equal(all.slice(0, 4));
      const middle = all[5]?.position;
      expect(await store().readAll({ from: middle })).to.deep.equal(all.slice(6));
      expect(await store().readAll({ from: middle, limit: 2, filter })).to.deep.equal(all.slice(6, 8));
      const back = { direction: 'backward', filter } as const;
      expect(await store().readAll({ ...back, from: middle })).to.deep.equal(all.slice(0, 5).reverse());
      expect(await store().readAll({ ...back, from: middle, limit: 2 })).to.deep.equal([all[4], all[3]]);
      expect(await store().readAll({ ...back, limit: 1 })).to.deep.equal([all[9]]);
      expect(await store().readAll({ from: all[9]?.position })).to.deep.equal([]);
    });

    it('filters by stream prefix, by type and by both', async () => {
      const base = prefix();
      for (let n = 0; n < 30; n += 1) {
        await store().append(`${base}${n % 2 ? 'odd' : 'even'}-${n}`, 'any', [event(`Type${n % 3}`)]);
      }
      const all = await store().readAll({ filter: { streamPrefix: base } });
      expect(all).to.have.length(30);
      const odd = (one: StoredEvent) => one.stream.startsWith(`${base}odd-`);
      const typed = (one: StoredEvent) => one.type === 'Type1' || one.type === 'Type2';
      const [streamPrefix, types] = [`${base}odd-`, ['Type1', 'Type2', `Unknown${base}`]];
      for (const direction of ['forward', 'backward'] as const) {
        const sorted = direction === 'forward' ? all : all.toReversed();
        const read = (filter: object) => store().readAll({ direction, filter });
        expect(await read({ streamPrefix })).to.deep.equal(sorted.filter(odd));
        expect(await read({ streamPrefix, types })).to.deep.equal(
          sorted.filter((one) => odd(one) && typed(one)),
        );
        expect(await read({ streamPrefix, types: [`Unknown${base}`] })).to.deep.equal([]);
        expect(await read({ streamPrefix: `${base}none-` })).to.deep.equal([]);
        expect(await read({ streamPrefix: base, types: [] })).to.deep.equal(sorted);
      }
      const after = all[0]?.position;
      const limited = await store().readAll({ from: after, limit: 5, filter: { streamPrefix: base, types } });
      expect(limited).to.deep.equal(all.slice(1).filter(typed).slice(0, 5));
      expect(await store().readAll({ from: after, filter: { streamPrefix: '', types: [] } })).to.deep.equal(
        all.slice(1),
      );
    });
  });

  describe('scanAll', () => {
    const scan = async (
      direction: 'forward' | 'backward',
      limit: number,
      maxScanned: number,
      base: string,
    ) => {
      const filter = { streamPrefix: base };
      const found: StoredEvent[] = [];
      let pages = 0;
      let from: Position | undefined;
      for (;;) {
        const page = await store().scanAll({ direction, limit, from, filter }, maxScanned);
        pages += 1;
        expect(page.events.length).to.be.at.most(limit);
        found.push(...page.events);
        if (page.next === undefined) return { found, pages };
        if (from !== undefined) {
          expect(direction === 'forward' ? page.next > from : page.next < from, 'gets on').to.equal(true);
        }
        from = page.next;
      }
    };

    it('finds in pages what readAll finds in one call, in both directions, for any bounds', async () => {
      const base = prefix();
      const others = prefix();
      for (let n = 0; n < 12; n += 1) {
        await store().append(`${base}s-${n % 3}`, 'any', events(1 + (n % 3)));
        await store().append(`${others}s-1`, 'any', events(40));
      }
      for (const direction of ['forward', 'backward'] as const) {
        const all = await store().readAll({ direction, filter: { streamPrefix: base } });
        expect(all).to.have.length(24);
        for (const [limit, maxScanned] of [
          [1, 1_000_000],
          [5, 1_000_000],
          [5, 1],
          [24, 7],
          [100, 100],
        ] as const) {
          expect((await scan(direction, limit, maxScanned, base)).found).to.deep.equal(all);
        }
      }
    });

    it('stops near its limit, and returns where to continue', async () => {
      const base = prefix();
      const others = prefix();
      await store().append(`${base}s-1`, 'any', events(1));
      for (let n = 0; n < 24; n += 1) await store().append(`${others}s-1`, 'any', events(500));
      await store().append(`${base}s-1`, 'any', events(1));
      // This prefix has events in every block, so that no block can be skipped.
      const filter = { streamPrefix: others, types: ['Nothing'] };
      const first = await store().scanAll({ direction: 'backward', filter: { streamPrefix: base } }, 500);
      expect(first.events.length).to.be.at.least(1);
      expect(first.scanned).to.be.at.most(500 + 4096);
      const nothing = await store().scanAll({ direction: 'backward', filter }, 500);
      expect(nothing.events).to.deep.equal([]);
      expect(nothing.scanned).to.be.at.most(500 + 4096);
      expect((await scan('backward', 10, 500, base)).found).to.have.length(2);
    });

    it('ends a page after 8 million characters, and continues behind it', async () => {
      const base = prefix();
      const before = await store().end();
      const large = Array.from({ length: 40 }, () => event('NoteTaken', JSON.stringify('x'.repeat(500_000))));
      for (const one of large) await store().append(`${base}s-1`, 'any', [one]);
      for (const filter of [undefined, { streamPrefix: base }]) {
        const found: string[] = [];
        let from = before;
        do {
          const page = await store().scanAll({ from, filter }, 16_384);
          expect(page.events.length).to.be.at.most(24);
          found.push(...idsOf(page.events));
          from = page.next;
        } while (from !== undefined);
        expect(found).to.deep.equal(idsOf(large));
      }
      expect(idsOf(await store().readAll({ from: before }))).to.deep.equal(idsOf(large));
    }).timeout(60_000);

    it('ends at once for types and streams without events', async () => {
      const page = await store().scanAll({ filter: { streamPrefix: prefix() } }, 1_000_000);
      expect([page.events, page.next]).to.deep.equal([[], undefined]);
    });
  });

  describe('positions', () => {
    it('sort as text in log order and parse by parsePosition', async () => {
      const base = prefix();
      const positions: string[] = [];
      for (let n = 0; n < 40; n += 1) {
        const { position } = await store().append(`${base}s-${n % 3}`, 'any', [event()]);
        expect(store().parsePosition(position)).to.equal(position);
        expect(await store().end()).to.equal(position);
        positions.push(position);
      }
      expect(positions.toSorted()).to.deep.equal(positions);
      expect(new Set(positions).size).to.equal(40);
    });

    it('are not parsed from malformed text', () => {
      const texts = ['', '0', 'x', '-1', '1.5', 'ffffffffffffffff', '000000000000000G', '000000000000000A'];
      for (const text of [...texts, ' 000000000000001', '0000000000000001\n', '0'.repeat(17)]) {
        expect(store().parsePosition(text), text).to.equal(undefined);
      }
    });
  });
}

function expectOrdered(all: readonly StoredEvent[]): void {
  const positions = all.map(({ position }) => position);
  expect(positions).to.deep.equal([...new Set(positions)].sort());
}
