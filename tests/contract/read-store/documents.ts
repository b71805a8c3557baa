import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../application/ports/read-store.ts';
import { jsonObject } from '../../support/json-values.ts';
import { at, type Context, DOCS, newGeneration, put, rejectsWith, workbench } from './support.ts';

const nested = (levels: number): JsonValue => {
  let value: JsonValue = 1;
  for (let nth = 0; nth < levels; nth += 1) value = { a: value };
  return value;
};

export function documentTests({ store, harness }: Context): void {
  describe('documents', () => {
    it('returns what was committed, with its position', async () => {
      const { generation, commit } = await workbench(store());
      await commit([put('a', 1, { n: 1, deep: { list: [1, 'two', null, true] } })], 1);
      const key = { collection: 'docs', tenant: 'acme', id: 'a' };
      expect(await store().get(generation, key)).to.deep.equal({
        value: { n: 1, deep: { list: [1, 'two', null, true] } },
        position: at(1),
      });
      const loaded = await store().load(generation, [{ ...key, id: 'none' }, key, key]);
      expect(loaded.map((doc) => doc?.value.n)).to.deep.equal([undefined, 1, 1]);
      expect(await store().load(generation, [])).to.deep.equal([]);
    });

    it('returns many documents in one call, in the requested order, for any ids, collections and tenants', async () => {
      const { generation, commit } = await workbench(store());
      const odd = ['"', "it's", '\\u0041', 'ä', '\u{1f600}', ' ', '%', '[]', 'A', 'a', 'null', '1', '1.0'];
      const ids = [...odd, ...Array.from({ length: 300 }, (_, n) => `id-${n}`)];
      await commit(
        ids.flatMap((id, n) => [
          put(id, 1, { n }),
          ...(n % 3 === 0 ? [put(id, 1, { n: n + 1000 }, 'globex')] : []),
        ]),
        1,
      );
      await commit([put('id-7', 2, null)], 2);
      const keysOf = (tenant: string, those: readonly string[]) =>
        those.map((id) => ({ collection: 'docs', tenant, id }));
      for (const those of [odd, ids.slice(odd.length), ids]) {
        const keys = [
          ...keysOf('acme', those.toReversed()),
          ...keysOf('globex', those),
          ...keysOf('acme', ['none', 'id-7']),
          { collection: 'unknown', tenant: 'acme', id: 'a' },
        ];
        const expected = keys.map(({ collection, tenant, id }) => {
          const n = ids.indexOf(id);
          if (n < 0 || collection === 'unknown') return undefined;
          if (tenant === 'globex') return n % 3 === 0 ? n + 1000 : undefined;
          return id === 'id-7' ? undefined : n;
        });
        const loaded = await store().load(generation, keys);
        expect(loaded.map((doc) => doc?.value.n)).to.deep.equal(expected);
        expect(loaded.find((doc) => doc !== undefined)?.position).to.equal(at(1));
      }
    });

    it('moves the checkpoint with the documents, and also alone', async () => {
      const { generation, commit } = await workbench(store());
      expect(await store().state(generation)).to.deep.equal({ checkpoint: undefined, parked: [] });
      await commit([put('a', 1, { n: 1 })], 1);
      expect((await store().state(generation)).checkpoint).to.equal(at(1));
      await commit([], 7);
      expect((await store().state(generation)).checkpoint).to.equal(at(7));
      await commit([put('a', 8, { n: 8 })]);
      expect((await store().state(generation)).checkpoint).to.equal(at(7));
    });

    it('shows a commit to other processes at once', async () => {
      const { generation, commit } = await workbench(store());
      const other = await harness().open();
      await commit([put('a', 1, { n: 1 })], 1);
      const seen = await other.get(generation, { collection: 'docs', tenant: 'acme', id: 'a' });
      expect(seen?.value).to.deep.equal({ n: 1 });
      await commit([put('a', 2, { n: 2 })], 2);
      expect(
        (await other.find(generation, { collection: 'docs', tenant: 'acme', index: 'by_n', limit: 5 })).docs,
      ).to.deep.equal([{ id: 'a', value: { n: 2 } }]);
      await other.close();
    });

    it('separates tenants with the same ids', async () => {
      const { commit, value, ids } = await workbench(store());
      await commit(
        [put('a', 1, { n: 1 }), put('a', 1, { n: 2 }, 'globex'), put('b', 1, { n: 3 }, 'globex')],
        1,
      );
      expect(await value('a')).to.deep.equal({ n: 1 });
      expect(await value('a', 'globex')).to.deep.equal({ n: 2 });
      expect(await value('b')).to.equal(undefined);
      expect(await ids()).to.deep.equal(['a']);
      expect(await ids('globex')).to.deep.equal(['a', 'b']);
      await commit([put('a', 2, null, 'globex')], 2);
      expect(await ids()).to.deep.equal(['a']);
      expect(await ids('nobody')).to.deep.equal([]);
    });

    it('separates tenants whose names share a prefix', async () => {
      const { commit, ids } = await workbench(store());
      await commit(
        [put('x', 1, { n: 1 }, 'a'), put('x', 1, { n: 1 }, 'ab'), put('x', 1, { n: 1 }, 'a-b')],
        1,
      );
      for (const tenant of ['a', 'ab', 'a-b']) expect(await ids(tenant)).to.deep.equal(['x']);
    });

    const awkward: [string, JsonObject][] = [
      ['unicode', { n: 'Grüße 😀 \u{10FFFF} \uFFFD', ключ: 'значение' }],
      ['control characters', { n: 'a\u0001b\u0002c\u001f\u007f\u2028\n\t', 'k\u0001': 1 }],
      ['field names that a database might read', { n: 1, $set: { 'a.b': 1 }, '': 2, _id: 3, tenant: 'x' }],
      ['field names that a driver might read', { _bsontype: 'Long', $ref: 'a', $id: 1, toBSON: 1, _id: [1] }],
      ['field names like escaped ones', { '%': 1, '%24a': 2, $a: 3, 'a%2Eb': 4, 'a.b': 5, '\u0000': 6 }],
      ['field names of objects', JSON.parse('{"__proto__":{"n":1},"constructor":2,"toString":3}')],
      ['lists in lists', { list: [[1, [2, []]], [], [{ a: [[null]] }]] }],
      ['half a surrogate pair', { n: 1, text: '\ud800', '\udfff': 1 }],
      ['300 levels', { n: 1, deep: nested(300) }],
      ['99 levels', { n: 1, deep: nested(99) }],
      ['200,000 values', { n: 1, list: Array.from({ length: 200_000 }, (_, nth) => nth % 7) }],
      [
        '3,000 fields',
        { n: 1, wide: Object.fromEntries(Array.from({ length: 3000 }, (_, nth) => [`f${nth}`, nth])) },
      ],
      [
        'large and decimal numbers',
        { n: 1, list: [2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e21, 0.1], d: ['1.10', '1e400', '007'] },
      ],
      ['numbers', { n: -0.1, big: 9007199254740991, tiny: 5e-324, huge: 1.7976931348623157e308 }],
      ['200 KB', { n: 1, text: 'ü'.repeat(100_000) }],
      ['empty values', { n: '', list: [], object: {}, nothing: null }],
    ];
    for (const [title, value] of awkward) {
      it(`returns exactly: ${title}`, async () => {
        const bench = await workbench(store());
        await bench.commit([put('a', 1, value)], 1);
        expect(await bench.value('a')).to.deep.equal(value);
        expect(await bench.ids()).to.deep.equal(['a']);
      });
    }

    it('returns any JSON exactly', async () => {
      await fc.assert(
        fc.asyncProperty(jsonObject, async (value) => {
          const bench = await workbench(store());
          await bench.commit([put('a', 1, { value })], 1);
          expect(await bench.value('a')).to.deep.equal(JSON.parse(JSON.stringify({ value })));
        }),
        { numRuns: Math.min(harness().runs, 100) },
      );
    }).timeout(120_000);

    it('omits a field without a value', async () => {
      const { commit, value } = await workbench(store());
      await commit([put('a', 1, { n: 1, gone: undefined })], 1);
      expect(await value('a')).to.deep.equal({ n: 1 });
    });

    it('refuses a whole batch when a document has an array where the index declares none', async () => {
      const { commit, value, generation } = await workbench(store());
      await rejectsWith(commit([put('a', 1, { n: 1 }), put('b', 1, { n: [1, 2] })], 1), TypeError);
      expect(await value('a')).to.equal(undefined);
      expect((await store().state(generation)).checkpoint).to.equal(undefined);
    });
  });

  describe('generations', () => {
    it('are prepared repeatedly and by several processes concurrently', async () => {
      const others = await Promise.all([1, 2, 3].map(() => harness().open()));
      const generation = newGeneration();
      await Promise.all([...others, store()].map((each) => each.prepare(generation, [DOCS])));
      await store().prepare(generation, [DOCS]);
      expect(await store().state(generation)).to.deep.equal({ checkpoint: undefined, parked: [] });
      await Promise.all(others.map((each) => each.close()));
    });

    it('are prepared again without loss', async () => {
      const { commit, ids, generation } = await workbench(store());
      await commit([put('a', 1, { n: 1 }), put('b', 1, null)], 1);
      await store().prepare(generation, [DOCS]);
      expect(await ids()).to.deep.equal(['a']);
      expect((await store().state(generation)).checkpoint).to.equal(at(1));
    });

    it('refuse other indexes than those they were prepared with', async () => {
      const { generation } = await workbench(store());
      const changed = { name: 'docs', indexes: [{ name: 'by_n', fields: ['n', 'm'] }] };
      await rejectsWith(store().prepare(generation, [changed]), Error);
    });

    it('are separate', async () => {
      const one = await workbench(store());
      const two = await workbench(store());
      await one.commit([put('a', 1, { n: 1 })], 1);
      await two.commit([put('a', 1, { n: 2 })], 2);
      expect(await one.value('a')).to.deep.equal({ n: 1 });
      expect(await two.value('a')).to.deep.equal({ n: 2 });
      expect((await store().state(one.generation)).checkpoint).to.equal(at(1));
    });

    it('are dropped whole, also for readers in other processes, and can be prepared again', async () => {
      const kept = await workbench(store());
      const { generation, commit, value, ids, fence } = await workbench(store());
      const other = await harness().open();
      const query = { collection: 'docs', tenant: 'acme', index: 'by_n', limit: 5 };
      await kept.commit([put('a', 1, { n: 1 })], 1);
      await commit([put('a', 1, { n: 1 })], 1);
      expect((await other.find(generation, query)).docs).to.have.length(1);
      await store().park(generation, fence, {
        tenant: 'acme',
        position: at(1),
        event_id: 'e',
        error: 'x',
        since: '2026-01-01T00:00:00Z',
        attempts: 1,
      });
      await store().drop(generation);
      expect((await other.find(generation, query)).docs).to.deep.equal([]);
      expect(await value('a')).to.equal(undefined);
      expect(await store().state(generation)).to.deep.equal({ checkpoint: undefined, parked: [] });
      await store().drop(generation);
      await store().prepare(generation, [DOCS]);
      expect(await ids()).to.deep.equal([]);
      await commit([put('b', 1, { n: 1 })], 1);
      expect((await other.find(generation, query)).docs.map((doc) => doc.id)).to.deep.equal(['b']);
      expect(await kept.ids()).to.deep.equal(['a']);
      await other.close();
    });
  });
}
