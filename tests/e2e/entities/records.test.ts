import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { mintToken } from '../../support/delegation.ts';
import { forSuite } from '../../support/suite.ts';
import {
  adaWithTasks,
  at,
  change,
  create,
  define,
  issuesOf,
  read,
  record,
  records,
  remove,
} from './support.ts';

/** Decisions, section 6, Record. */
describe('Records', () => {
  const here = forSuite(adaWithTasks);

  const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } });

  it('are returned with their defaults, and read back unchanged', async () => {
    const { admin, ada, task } = here();
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
    const { admin, ada, task } = here();
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
    it('are refused with every issue, as 400 when one has the wrong type', async () => {
      const { tenant, ada, task } = here();
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

    it('are refused with every issue, as 422 when each has the right type', async () => {
      const { ada, task } = here();
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
      const { ada, task } = here();
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
        const { ada, task } = here();
        expect((await ada.api.post(at(task), body)).status).to.equal(400);
      });
    }

    it('report at most 1,000 issues, and truncate long keys', async () => {
      const { ada, task } = here();
      const made = await create(ada, task, { title: 'x' });
      const many = Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`k${i}`, i]));
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

    it('are refused above the maximum size of their values, which the error names', async () => {
      const { admin, ada } = here();
      const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
      const wide = await define(admin, ...keys.map((key) => ({ key, type: 'long_text' })));
      const values = Object.fromEntries(keys.map((key) => [key, 'x'.repeat(90_000)]));
      const made = await create(ada, wide, { a: 'x' });
      for (const answer of [await ada.api.post(at(wide), { values }), await change(ada, made, values)]) {
        expect([answer.status, answer.error]).to.deep.equal([413, 'payload_too_large']);
        expect(answer.json).to.have.deep.property('details', { limit: 520_192 });
      }
      expect(await read(ada, made)).to.deep.equal(made);
      expect((await ada.api.post(at(wide), { values: { ...values, f: null } })).status).to.equal(201);
    });

    it('are refused with a key called __proto__', async () => {
      const { ada, task } = here();
      const raw = '{"values": {"title": "x", "__proto__": {"size": 1}}}';
      const answer = await ada.api.post(at(task), undefined, { raw });
      expect(issuesOf(answer.json)).to.deep.equal(['values.__proto__ unknown_field']);
    });
  });

  describe('changed', () => {
    it('merge values, and null clears a value', async () => {
      const { admin, ada, task } = here();
      const made = await create(ada, task, { title: 'x', size: 1, extra: { a: [1, 2] } });
      const answer = await change(admin, made, { size: 2, extra: null });
      const changed = answer.as(record);
      expect(changed.values).to.deep.equal({ title: 'x', size: 2, status: 'open' });
      expect(changed).to.deep.include({ version: 2, created_by: ada.id, created_at: made.created_at });
      expect(answer.header('etag')).to.equal('"2"');
      expect(await read(ada, made)).to.deep.equal(changed);
    });

    it('to equal values are unchanged, without an event', async () => {
      const { ada, task } = here();
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

    it('honour If-Match', async () => {
      const { ada, task } = here();
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

    it('let one of many with the same If-Match win', async () => {
      const { ada, task } = here();
      const made = await create(ada, task, { title: 'x' });
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) => change(ada, made, { title: `v${i}` }, ifMatch('"1"'))),
      );
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(11).fill(409)]);
      expect((await read(ada, made)).version).to.equal(2);
    });

    it('count every concurrent change in their version', async () => {
      const { ada, task } = here();
      const made = await create(ada, task, { title: 'x' });
      await Promise.all(Array.from({ length: 20 }, (_, i) => change(ada, made, { title: `v${i}` })));
      expect((await read(ada, made)).version).to.equal(21);
    });

    it('have one effect per Idempotency-Key', async () => {
      const { ada, task } = here();
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

  describe('listed', () => {
    let list: string;
    const ids: string[] = [];
    before(async () => {
      list = await define(
        here().admin,
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
        ids.push((await create(here().ada, list, values)).id);
      }
    });

    const found = async (query: string) => {
      const answer = await here().ada.api.get(`${at(list)}?${query}`);
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

    it('are sorted by a field, descending with a minus, and by times', async () => {
      expect((await found('sort=d')).filter((i) => i !== 2)).to.deep.equal([3, 1, 0]);
      expect((await found('sort=-d')).filter((i) => i !== 2)).to.deep.equal([0, 1, 3]);
      expect(await found('sort=created_at')).to.deep.equal([0, 1, 2, 3]);
      expect(await found('sort=-updated_at')).to.deep.equal([3, 2, 1, 0]);
      expect((await found('sort=n'))[0]).to.equal(1);
    });

    it('have pages without gap or duplicate, also sorted and filtered', async () => {
      const { ada } = here();
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

    it('refuse an invalid filter or order', async () => {
      const { ada } = here();
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
      const { world, admin, task } = here();
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
