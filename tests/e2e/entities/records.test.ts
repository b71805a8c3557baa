import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { mintToken } from '../../support/delegation.ts';
import { endWorld, type Member, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { at, change, create, define, issuesOf, read, record, records, remove } from './support.ts';

/** Decisions, section 6, Record. */
describe('Records', () => {
  let world: World;
  let tenant: TestTenant;
  let admin: Member;
  let ada: Member;
  let task: string;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    admin = tenant.admin;
    ada = await tenant.person('Ada');
    task = await define(
      admin,
      { key: 'title', type: 'text', required: true, max_length: 20 },
      { key: 'size', type: 'integer', min: 0, max: 10 },
      { key: 'price', type: 'decimal' },
      { key: 'status', type: 'enum', options: ['open', 'done'], required: true, default: 'open' },
      { key: 'extra', type: 'json' },
      { key: 'owner', type: 'user' },
      { key: 'at', type: 'datetime' },
    );
  });
  after(endWorld);

  const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } });

  it('are answered with their defaults, and read back as they were', async () => {
    const answer = await ada.api.post(at(task), { values: { title: 'Buy milk', owner: ada.id, size: null } });
    const made = answer.as(record, 201);
    expect(made).to.deep.include({
      entity_name: task,
      values: { title: 'Buy milk', owner: ada.id, status: 'open' },
      state: null,
      job_id: null,
      version: 1,
      created_by: ada.id,
    });
    expect(made.updated_at).to.equal(made.created_at);
    expect(answer.header('etag')).to.equal('"1"');
    const again = await admin.api.get(at(task, made.id));
    expect(again.as(record)).to.deep.equal(made);
    expect(again.header('etag')).to.equal('"1"');
  });

  it('are 404 under an unknown entity or id, or another entity’s name', async () => {
    const other = await define(admin);
    const made = await create(ada, task, { title: 'x' });
    for (const path of [at('nothing'), at(task, randomUUID()), at(task, 'no-id'), at(other, made.id)]) {
      expect((await ada.api.get(path)).status, path).to.equal(404);
    }
    expect((await ada.api.post(at('nothing'), { values: {} })).status).to.equal(404);
    expect((await change(ada, { entity_name: other, id: made.id }, {})).status).to.equal(404);
    expect((await remove(ada, { entity_name: other, id: made.id })).status).to.equal(404);
    expect((await change(ada, { entity_name: task, id: randomUUID() }, { title: 'y' })).status).to.equal(404);
  });

  describe('with wrong values', () => {
    it('are refused with every issue, as a 400 when one is of the wrong kind', async () => {
      const values = {
        size: 'big',
        price: 1.5,
        status: 'lost',
        nope: 1,
        tenant_id: tenant.id,
        owner: randomUUID(),
        extra: { ['__proto__']: 1 },
        at: '2026-02-30T00:00:00Z',
      };
      const answer = await ada.api.post(at(task), { values });
      expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
      expect(issuesOf(answer.json)).to.deep.equal([
        'values.at type_mismatch',
        'values.extra type_mismatch',
        'values.nope unknown_field',
        'values.owner reference_not_found',
        'values.price type_mismatch',
        'values.size type_mismatch',
        'values.status unknown_enum',
        'values.tenant_id unknown_field',
        'values.title missing_required',
      ]);
    });

    it('are refused with every issue, as a 422 when each is of the right kind', async () => {
      const values = { title: 'x'.repeat(21), size: 11, owner: randomUUID() };
      const answer = await ada.api.post(at(task), { values });
      expect([answer.status, answer.error]).to.deep.equal([422, 'constraint_violated']);
      expect(issuesOf(answer.json)).to.deep.equal([
        'values.owner reference_not_found',
        'values.size max',
        'values.title max_length',
      ]);
    });

    it('change nothing', async () => {
      const made = await create(ada, task, { title: 'x' });
      expect((await change(ada, made, { title: 'y', size: -1 })).status).to.equal(422);
      expect((await change(ada, made, { title: 'y', size: '1' })).status).to.equal(400);
      expect((await change(ada, made, { title: null })).status).to.equal(400);
      expect((await change(ada, made, { title: '' })).status).to.equal(400);
      expect(await read(ada, made)).to.deep.equal(made);
    });

    for (const [what, body] of [
      ['no values', {}],
      ['values that are an array', { values: [] }],
      ['values that are null', { values: null }],
      ['values that are a text', { values: 'x' }],
    ] as const) {
      it(`are refused with ${what}`, async () => {
        expect((await ada.api.post(at(task), body)).status).to.equal(400);
      });
    }

    it('are told of 1,000 issues, however many there are, and of a long key its beginning', async () => {
      const made = await create(ada, task, { title: 'x' });
      const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, i]));
      for (const answer of [
        await ada.api.post(at(task), { values: { size: 'big', ...many } }),
        await change(ada, made, { size: 'big', ...many }),
      ]) {
        expect([answer.status, answer.error]).to.deep.equal([400, 'validation_failed']);
        const issues = issuesOf(answer.json);
        expect(issues).to.have.length(1000).and.to.include('values.size type_mismatch');
        expect(answer.text.length).to.be.lessThan(150_000);
      }
      const long = await ada.api.post(at(task), { values: { title: 'x', ['\u0001'.repeat(150_000)]: 1 } });
      expect([long.status, long.text.length < 2000]).to.deep.equal([400, true]);
      expect(await read(ada, made)).to.deep.equal(made);
    });

    it('are refused with more than an event holds, which is told', async () => {
      const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
      const wide = await define(admin, ...keys.map((key) => ({ key, type: 'long_text' })));
      const values = Object.fromEntries(keys.map((key) => [key, 'x'.repeat(90_000)]));
      const made = await create(ada, wide, { a: 'x' });
      for (const answer of [await ada.api.post(at(wide), { values }), await change(ada, made, values)]) {
        expect([answer.status, answer.error]).to.deep.equal([413, 'payload_too_large']);
        expect(answer.json).to.have.deep.property('details', { limit: 524_288 });
      }
      expect(await read(ada, made)).to.deep.equal(made);
      expect((await ada.api.post(at(wide), { values: { ...values, f: null } })).status).to.equal(201);
    });

    it('are refused with a key called __proto__', async () => {
      const raw = '{"values": {"title": "x", "__proto__": {"size": 1}}}';
      const answer = await ada.api.post(at(task), undefined, { raw });
      expect(issuesOf(answer.json)).to.deep.equal(['values.__proto__ unknown_field']);
    });
  });

  describe('changed', () => {
    it('merge values, and null clears', async () => {
      const made = await create(ada, task, { title: 'x', size: 1, extra: { a: [1, 2] } });
      const answer = await change(admin, made, { size: 2, extra: null });
      const changed = answer.as(record);
      expect(changed.values).to.deep.equal({ title: 'x', size: 2, status: 'open' });
      expect(changed).to.deep.include({ version: 2, created_by: ada.id, created_at: made.created_at });
      expect(answer.header('etag')).to.equal('"2"');
      expect(await read(ada, made)).to.deep.equal(changed);
    });

    it('to equal values are the same record, without a new event', async () => {
      const values = {
        title: 'x',
        size: 0,
        extra: { a: 1, b: { c: 2, d: 3 } },
        at: '2026-03-01T12:00:00+02:00',
      };
      const made = await create(ada, task, values);
      expect(made.values.at).to.equal('2026-03-01T10:00:00.000Z');
      const same = {
        extra: { b: { d: 3, c: 2 }, a: 1 },
        size: -0,
        at: '2026-03-01T10:00:00.0Z',
        price: null,
      };
      const answer = await change(ada, made, same);
      expect(answer.as(record)).to.deep.equal(made);
      expect((await change(ada, made, {})).as(record)).to.deep.equal(made);
      expect((await change(ada, made, { extra: { a: 2 } })).as(record).version).to.equal(2);
    });

    it('go by If-Match', async () => {
      const made = await create(ada, task, { title: 'x' });
      expect((await change(ada, made, { size: 1 }, ifMatch('"1"'))).status).to.equal(200);
      const late = await change(ada, made, { size: 2 }, ifMatch('"1"'));
      expect([late.status, late.error]).to.deep.equal([409, 'conflict']);
      expect((await change(ada, made, { size: 2 }, ifMatch('*'))).as(record).version).to.equal(3);
      expect((await change(ada, made, { size: 3 }, ifMatch('"abc"'))).status).to.equal(409);
      for (const tag of ['3', '"3', 'W/"3"', '"3", "4"', '']) {
        expect((await change(ada, made, { size: 3 }, ifMatch(tag))).status, tag).to.equal(400);
      }
      expect((await remove(ada, made, ifMatch('"2"'))).error).to.equal('conflict');
      expect((await remove(ada, made, ifMatch('"3"'))).status).to.equal(204);
    });

    it('let one of many with the same If-Match through', async () => {
      const made = await create(ada, task, { title: 'x' });
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) => change(ada, made, { title: `v${i}` }, ifMatch('"1"'))),
      );
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(11).fill(409)]);
      expect((await read(ada, made)).version).to.equal(2);
    });

    it('count every change in their version, whoever changes at the same time', async () => {
      const made = await create(ada, task, { title: 'x' });
      await Promise.all(Array.from({ length: 20 }, (_, i) => change(ada, made, { title: `v${i}` })));
      expect((await read(ada, made)).version).to.equal(21);
    });

    it('have one effect per Idempotency-Key', async () => {
      const headers = { 'idempotency-key': randomUUID() };
      const bodies = { values: { title: 'once' } };
      const [one, two] = await Promise.all([
        ada.api.post(at(task), bodies, { headers }),
        ada.api.post(at(task), bodies, { headers }),
      ]);
      expect(one.as(record, 201)).to.deep.equal(two.as(record, 201));
      expect(two.header('etag')).to.equal('"1"');
    });
  });

  describe('values', () => {
    const kept = async (type: string, value: unknown, more: object = {}) => {
      const name = await define(admin, { key: 'v', type, ...more });
      const answer = await ada.api.post(at(name), { values: { v: value } });
      return answer.status === 201 ? answer.as(record, 201).values.v : `${answer.status}`;
    };
    const ROWS: readonly [
      type: string,
      good: readonly [unknown, unknown?][],
      bad: readonly [unknown, string][],
    ][] = [
      [
        'text',
        [['ä\n😀'], ['😀'.repeat(10_000)]],
        [
          [1, '400'],
          ['a\u0000', '400'],
          ['\ud800', '400'],
          ['x'.repeat(10_001), '422'],
        ],
      ],
      [
        'long_text',
        [['😀'.repeat(50_000)]],
        [
          [{}, '400'],
          ['x'.repeat(100_001), '422'],
        ],
      ],
      [
        'integer',
        [[0], [-5], [2 ** 53 - 1], [1e3, 1000]],
        [
          ['1', '400'],
          [1.5, '400'],
          [2 ** 53, '400'],
          [true, '400'],
        ],
      ],
      [
        'decimal',
        [['0.10'], ['-12345678901234567890.12345'], ['9'.repeat(38)]],
        [
          [1, '400'],
          ['1e3', '400'],
          ['.5', '400'],
          ['01', '400'],
          ['+1', '400'],
          ['', '400'],
          ['9'.repeat(39), '400'],
        ],
      ],
      [
        'boolean',
        [[true], [false]],
        [
          ['true', '400'],
          [0, '400'],
        ],
      ],
      [
        'date',
        [['2024-02-29']],
        [
          ['2023-02-29', '400'],
          ['2024-2-1', '400'],
          ['2024-13-01', '400'],
          ['2024-01-01T00:00:00Z', '400'],
          [1, '400'],
        ],
      ],
      [
        'datetime',
        [
          ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
          ['2026-01-01T00:30:00.5+01:00', '2025-12-31T23:30:00.500Z'],
        ],
        [
          ['2026-01-01T00:00:00', '400'],
          ['2026-01-01', '400'],
          ['2026-01-01T25:00:00Z', '400'],
          [0, '400'],
        ],
      ],
      [
        'json',
        [[[]], [{ a: [null, true, 'x', 1.5] }], [false]],
        [
          [deep(40), '400'],
          ['x'.repeat(70_000), '400'],
        ],
      ],
      [
        'reference',
        [],
        [
          [1, '400'],
          ['no-id', '422'],
          [randomUUID(), '422'],
          [randomUUID().toUpperCase(), '422'],
        ],
      ],
      [
        'user',
        [],
        [
          [1, '400'],
          ['nobody', '422'],
          [`a${'b'.repeat(500)}`, '422'],
        ],
      ],
    ];
    for (const [type, good, bad] of ROWS) {
      it(`of type ${type} are kept as they are written, or refused`, async () => {
        const more = type === 'reference' ? { reference: { entity_name: task, on_delete: 'clear' } } : {};
        for (const [value, as = value] of good) expect(await kept(type, value, more)).to.deep.equal(as);
        for (const [value, status] of bad) {
          expect(await kept(type, value, more), JSON.stringify(value).slice(0, 60)).to.equal(status);
        }
      });
    }

    it('of a reference name a record of its entity', async () => {
      const other = await define(admin);
      const wrong = await create(ada, other);
      const right = await create(ada, task, { title: 'x' });
      const more = { reference: { entity_name: task, on_delete: 'clear' } };
      expect(await kept('reference', wrong.id, more)).to.equal('422');
      expect(await kept('reference', right.id, more)).to.equal(right.id);
    });

    it('of a user may be anybody of the tenant, and nobody of another', async () => {
      const stranger = await (await world.tenant()).person('Stranger');
      expect(await kept('user', ada.id)).to.equal(ada.id);
      expect(await kept('user', stranger.id)).to.equal('422');
    });
  });

  describe('listed', () => {
    let list: string;
    const ids: string[] = [];
    before(async () => {
      list = await define(
        admin,
        { key: 'n', type: 'integer' },
        { key: 'd', type: 'decimal' },
        { key: 'w', type: 'text' },
        { key: 'j', type: 'json' },
      );
      for (const values of [
        { n: 3, d: '10', w: 'b' },
        { n: 1, d: '9.5', w: 'a' },
        { n: 2 },
        { n: 2, d: '-1', w: 'B' },
      ]) {
        ids.push((await create(ada, list, values)).id);
      }
    });

    const found = async (query: string) => {
      const answer = await ada.api.get(`${at(list)}?${query}`);
      return answer.as(records).map(({ id }) => ids.indexOf(id));
    };
    const f = (filter: unknown) =>
      `filter=${encodeURIComponent(typeof filter === 'string' ? filter : JSON.stringify(filter))}`;

    it('come newest first', async () => {
      expect(await found('')).to.deep.equal([3, 2, 1, 0]);
    });

    it('are filtered in both forms', async () => {
      expect(await found(f('n >= 2 && has(d)'))).to.deep.equal([3, 0]);
      expect(await found(f({ d: { $gt: '9.4' } }))).to.deep.equal([1, 0]);
      expect(await found(f('d == null'))).to.deep.equal([2]);
      expect(await found(f('true'))).to.have.length(4);
    });

    it('are sorted by a field, the other way with a minus, and by times', async () => {
      expect((await found('sort=d')).filter((i) => i !== 2)).to.deep.equal([3, 1, 0]);
      expect((await found('sort=-d')).filter((i) => i !== 2)).to.deep.equal([0, 1, 3]);
      expect(await found('sort=created_at')).to.deep.equal([0, 1, 2, 3]);
      expect(await found('sort=-updated_at')).to.deep.equal([3, 2, 1, 0]);
      expect((await found('sort=n'))[0]).to.equal(1);
    });

    it('page without a gap or a repetition, sorted and filtered too', async () => {
      for (const query of ['', 'sort=n', 'sort=-d', f('n >= 1'), `${f('n >= 1')}&sort=w`]) {
        const seen: string[] = [];
        let path: string | undefined = `${at(list)}?limit=1&${query}`;
        while (path !== undefined) {
          const page = await ada.api.get(path);
          seen.push(...page.as(records).map(({ id }) => id));
          path = /<([^>]+)>/.exec(page.header('link') ?? '')?.[1];
        }
        expect([...seen].sort(), query).to.deep.equal([...ids].sort());
      }
    });

    it('are refused a filter or an order that is none', async () => {
      for (const filter of ['', 'nope == 1', 'n == "x"', 'n ==', '{', '{}', 'j > 1']) {
        const answer = await ada.api.get(`${at(list)}?${f(filter)}`);
        expect([answer.status, answer.error], filter).to.deep.equal([400, 'invalid_filter']);
        expect(answer.json).to.have.nested.property('details.offset');
      }
      for (const query of ['sort=nope', 'sort=j', 'sort=', 'limit=x', 'cursor=x']) {
        expect((await ada.api.get(`${at(list)}?${query}`)).status, query).to.equal(400);
      }
      expect((await ada.api.get(at('nothing'))).status).to.equal(404);
    });
  });

  describe('for tokens', () => {
    it('are read with data:read, and written with data:write', async () => {
      const reads = await mintToken(admin.api, { scopes: ['data:read'] });
      const writes = await mintToken(admin.api, { scopes: ['data:write'] });
      const [reader, writer] = [reads, writes].map(({ token }) => world.anybody.with(token));
      const made = (await writer?.post(at(task), { values: { title: 'by a token' } }))?.as(record, 201);
      expect(made?.created_by).to.equal(writes.id);
      expect((await reader?.get(at(task, made?.id)))?.status).to.equal(200);
      expect((await writer?.get(at(task, made?.id)))?.error).to.equal('scope_missing');
      expect((await reader?.patch(at(task, made?.id), { values: {} }))?.error).to.equal('scope_missing');
      expect((await reader?.delete(at(task, made?.id)))?.error).to.equal('scope_missing');
      expect((await writer?.delete(at(task, made?.id)))?.status).to.equal(204);
    });
  });
});

function deep(depth: number): unknown {
  return depth === 0 ? 1 : [deep(depth - 1)];
}
