import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { rowCausation } from '../../../application/bulk/row.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import type { OpParams } from '../../../domain/bulk/session-events.ts';
import { recordStream } from '../../../domain/entities/record.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import { defineNodes, request, TENANT } from '../entities/support.ts';
import { type BulkNode, create, EDIT, memoryLeases, startBulk } from './support.ts';

const streamOf = (id: string): string => `${TENANT}.record-${id}`;
const typesOf = async (node: BulkNode, id: string) =>
  (await node.shared.events.readStream(streamOf(id))).map(({ type }) => type);

/** The present number `n` of a live record. */
const numberOf = async (node: BulkNode, id: string): Promise<unknown> => {
  const { state } = await node.states.load(TENANT, recordStream, id);
  if (state.status !== 'live') throw new Error('the record is gone');
  return state.values.n;
};

const started = async (): Promise<BulkNode> => {
  const node = startBulk({}, memoryLeases());
  await defineNodes(node);
  return node;
};

/** Previews, commits and runs a session. @returns its result */
const committed = async (node: BulkNode, ids: readonly string[], operation: OpParams = EDIT) => {
  const id = await node.begin(ids, operation);
  expect(await node.runner.commit(TENANT, id)).to.equal(true);
  return { ...(await node.session(id)), id };
};

const set = (field_key: string, new_value: string): OpParams => ({
  kind: 'edit',
  fields: [{ field_key, new_value }],
});

describe('A committed bulk edit', () => {
  it('leaves the event of a single edit on each row, chained to the event before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(9), { minLength: 1, maxLength: 12 }), async (numbers) => {
        const node = await started();
        const rows: string[] = [];
        const singles: string[] = [];
        for (const n of numbers) {
          rows.push(await create(node, { n }));
          singles.push(await create(node, { n }));
        }
        const { id: session } = await committed(node, rows);
        for (const [i, row] of rows.entries()) {
          const single = singles[i] ?? '';
          await node.records.update(TENANT, 'node', single, { values: { n: 5 } }, request());
          const [mine, theirs] = [
            await node.events.readStream(streamOf(row)),
            await node.events.readStream(streamOf(single)),
          ];
          expect(mine.map(({ type, data }) => ({ type, data }))).to.deep.equal(
            theirs.map(({ type, data }) => ({ type, data: data.replaceAll(single, row) })),
          );
          const [made, edited] = mine.map((stored) => node.codec.decodeOnce(stored));
          if (edited === undefined) continue;
          expect(edited.causationId).to.equal(rowCausation(session, row));
          expect(edited.actor).to.deep.equal({ kind: 'user', id: 'ann' });
          expect(mine[1]?.metadata).to.include(`"prev_hash":"${made?.hash}"`);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('changes matching rows, skips equal ones, and reports drifted, deleted and unknown ones as errors', async () => {
    const node = await started();
    const [plain, equal, drifted, late, gone] = [
      await create(node, { n: 1 }),
      await create(node, { n: 5 }),
      await create(node, { n: 2 }),
      await create(node, { n: 2 }),
      await create(node, { n: 3 }),
    ];
    const ids = [plain, equal, drifted, late, gone, randomUUID(), 'none'];
    const filter = parseFilterText('n < 8', { n: { type: 'integer' } });
    const drift = (id: string) => node.records.update(TENANT, 'node', id, { values: { n: 9 } }, request());
    const session = await node.begin(ids, EDIT, filter, () => drift(drifted));
    await drift(late);
    await node.deletions.delete(TENANT, 'node', gone, {}, request());
    expect(await node.runner.commit(TENANT, session)).to.equal(true);
    const { result } = await node.session(session);
    expect(result).to.deep.include({ succeeded: 1, skipped: 1, errored: 5 });
    expect(await typesOf(node, plain)).to.deep.equal(['RecordCreated', 'RecordUpdated']);
    expect(await typesOf(node, equal)).to.deep.equal(['RecordCreated']);
    expect([await numberOf(node, drifted), await numberOf(node, late)]).to.deep.equal([9, 9]);
  });

  it('changes a row once when another request changed it after the commit was requested', async () => {
    const node = await started();
    const rows = [await create(node, { n: 1 }), await create(node, { n: 2 })];
    const session = await node.begin(rows, EDIT);
    await node.records.update(TENANT, 'node', rows[0] ?? '', { values: { n: 7 } }, request());
    expect(await node.runner.commit(TENANT, session)).to.equal(true);
    expect((await node.session(session)).result).to.deep.include({ succeeded: 2, skipped: 0, errored: 0 });
    expect(await typesOf(node, rows[0] ?? '')).to.deep.equal([
      'RecordCreated',
      'RecordUpdated',
      'RecordUpdated',
    ]);
    expect(await numberOf(node, rows[0] ?? '')).to.equal(5);
  });

  for (const [what, operation] of [
    ['a value of another type', set('n', 'text')],
    ['an unknown field', set('unheard', 'x')],
    ['a reference to nothing', set('clear', randomUUID())],
  ] as const) {
    it(`writes nothing when it sets ${what}`, async () => {
      const node = await started();
      const row = await create(node, { n: 1 });
      const { result } = await committed(node, [row], operation);
      expect(result).to.deep.include({ succeeded: 0, skipped: 0, errored: 1 });
      expect(await typesOf(node, row)).to.deep.equal(['RecordCreated']);
    });
  }

  it('sets a reference', async () => {
    const node = await started();
    const target = await create(node);
    const row = await create(node, { n: 1 });
    const { result } = await committed(node, [row], set('clear', target));
    expect(result).to.deep.include({ succeeded: 1, errored: 0 });
    const { state } = await node.states.load(TENANT, recordStream, row);
    expect(state.status === 'live' && state.values.clear).to.equal(target);
  });

  it('is visible at once on a node with cached rows', async () => {
    const node = await started();
    const row = await create(node, { n: 1 });
    node.states.trustWhile(() => true);
    expect(node.states.cached(streamOf(row))).to.not.equal(undefined);
    await committed(node, [row]);
    expect(await numberOf(node, row)).to.equal(5);
  });

  it('changes a row only once when it is listed twice', async () => {
    const node = await started();
    const rows: string[] = [];
    for (let n = 10; n < 20; n += 1) rows.push(await create(node, { n }));
    await committed(node, [...rows, ...rows.toReversed()]);
    for (const row of rows)
      expect(await typesOf(node, row)).to.deep.equal(['RecordCreated', 'RecordUpdated']);
  });

  it('follows the schema at the time of the write', async () => {
    const field = { key: 'n', label: 'n', type: 'integer' as const, required: false };
    const ticks = async (count: number): Promise<void> => {
      for (let tick = 0; tick < count; tick += 1) await new Promise((next) => setImmediate(next));
    };
    await fc.assert(
      fc.asyncProperty(fc.nat(24), fc.nat(12), async (before, held) => {
        const healthy = startBulk({}, memoryLeases());
        await healthy.schemas.define(TENANT, { name: 'node', label: 'N', fields: [field] }, request());
        const rows = [await create(healthy, { n: 1 }), await create(healthy, { n: 2 })];
        const session = await healthy.begin(rows, EDIT);
        let isSlow = false;
        const late = (events: EventStore): EventStore => ({
          ...events,
          append: async (...args) => {
            if (isSlow) await ticks(held);
            return events.append(...args);
          },
        });
        const node = startBulk(healthy.shared, memoryLeases(), { wrap: late });
        isSlow = true;
        const running = node.runner.commit(TENANT, session);
        await ticks(before);
        const isNarrower = await node.schemas
          .change(TENANT, 'node', { fields: [{ ...field, max: 3 }] }, request())
          .then(
            () => true,
            () => false,
          );
        expect(await running).to.equal(true);
        const fresh = startBulk(healthy.shared, memoryLeases());
        for (const row of rows) {
          const n = Number(await numberOf(fresh, row));
          if (isNarrower) expect(n, 'no row breaks the narrower schema').to.be.at.most(3);
          else expect(n).to.equal(5);
        }
      }),
      { numRuns: 60 },
    );
  }).timeout(60_000);

  it('changes a row with many events and a row of nearly the largest size', async () => {
    const big = ['a', 'b', 'c'];
    const fields = [
      { key: 'n', label: 'n', type: 'integer' as const, required: false },
      ...big.map((key) => ({ key, label: key, type: 'json' as const, required: false })),
    ];
    const node = startBulk({}, memoryLeases());
    await node.schemas.define(TENANT, { name: 'node', label: 'N', fields }, request());
    const long = await create(node, { n: 0 });
    for (let n = 100; n < 140; n += 1)
      await node.records.update(TENANT, 'node', long, { values: { n } }, request());
    const large = await create(node, {
      n: 0,
      ...Object.fromEntries(big.map((key) => [key, 'x'.repeat(60_000)])),
    });
    const session = await node.begin([long, large], EDIT);
    const other = startBulk(node.shared, memoryLeases());
    expect(await other.runner.commit(TENANT, session)).to.equal(true);
    expect((await other.session(session)).result).to.deep.include({ succeeded: 2, errored: 0 });
    expect([await numberOf(other, long), await numberOf(other, large)]).to.deep.equal([5, 5]);
    expect(await typesOf(other, long)).to.have.length(42);
  });
});
