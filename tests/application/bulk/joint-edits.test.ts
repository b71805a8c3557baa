import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { JointEdits } from '../../../application/bulk/joint-edits.ts';
import { Pace } from '../../../application/bulk/pace.ts';
import { NO_OTHERS } from '../../../application/bulk/ports.ts';
import { type RowJob, rowCausation } from '../../../application/bulk/row-job.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import { streamName } from '../../../application/streams.ts';
import type { OpParams } from '../../../domain/bulk/session-events.ts';
import { recordDecider } from '../../../domain/entities/record.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import { silentMetrics } from '../../support/fakes.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { defineNodes, request, TENANT } from '../entities/support.ts';
import { type BulkNode, create, EDIT, memoryLeases, startBulk } from './support.ts';

const jointIn = (node: BulkNode, events = node.events): JointEdits =>
  new JointEdits({ ...node, events, gate: node.writers, metrics: silentMetrics });

const jobIn = async (node: BulkNode, more: Partial<RowJob> = {}): Promise<RowJob> => ({
  tenantId: TENANT,
  sessionId: randomUUID(),
  entityName: 'node',
  opParams: EDIT,
  selectedBy: undefined,
  committedBy: 'ann',
  cause: request().cause,
  since: (await node.events.head()) as Position,
  isRetaken: false,
  ...more,
});

const pace = () => new Pace(256, NO_OTHERS);
const streamOf = (id: string) => streamName(TENANT, recordDecider.category, id);
const typesOf = async (node: BulkNode, id: string) =>
  (await node.events.readStream(streamOf(id))).map(({ type }) => type);

describe('Rows that are edited together', () => {
  it('are changed by the event that a single edit would have left, and follow its chain', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(9), { minLength: 1, maxLength: 12 }), async (numbers) => {
        const node = startBulk({}, memoryLeases());
        await defineNodes(node);
        const together = [];
        const single = [];
        for (const n of numbers) {
          together.push(await create(node, { n }));
          single.push(await create(node, { n }));
        }
        const job = await jobIn(node);
        const changed = await jointIn(node).apply(job, together, pace());
        for (const [i, id] of together.entries()) {
          const other = single[i] ?? '';
          const context = {
            ...request(),
            cause: { ...job.cause, causationId: rowCausation(job.sessionId, other) },
          };
          const result = await node.records.update(TENANT, 'node', other, { values: { n: 5 } }, context);
          expect(changed.has(id)).to.equal(result.changed);
          const strip = (text: string) => text.replaceAll(other, id);
          const [mine, theirs] = await Promise.all(
            [id, other].map((one) => node.events.readStream(streamOf(one))),
          );
          expect(mine?.map(({ type, data }) => ({ type, data }))).to.deep.equal(
            theirs?.map(({ type, data }) => ({ type, data: strip(data) })),
          );
          // The checked way of reading agrees: hashes are chained, actor and causation are the row's own.
          const last = mine?.at(-1);
          if (last === undefined || !result.changed) continue;
          const event = node.codec.decodeOnce(last);
          expect(event.causationId).to.equal(rowCausation(job.sessionId, id));
          expect(event.actor).to.deep.equal(job.cause.actor);
          expect(last.metadata).to.include(
            `"prev_hash":"${node.codec.decodeOnce(mine?.at(-2) ?? last).hash}"`,
          );
        }
      }),
      { numRuns: 20 },
    );
  });

  it('are only those that nothing stands in the way of', async () => {
    const node = startBulk({}, memoryLeases());
    await defineNodes(node);
    const plain = await create(node, { n: 1 });
    const equal = await create(node, { n: 5 });
    const drifted = await create(node, { n: 9 });
    const gone = await create(node, { n: 1 });
    await node.records.delete(TENANT, 'node', gone, {}, request());
    const filter = parseFilterText('n < 8', { n: { type: 'integer' } });
    const ids = [plain, equal, drifted, gone, randomUUID(), 'none'];
    const job = await jobIn(node, { selectedBy: { filter, now: 0 } });
    // Changed after the commit began: perhaps by the session itself.
    const young = await create(node, { n: 1 });
    expect([...(await jointIn(node).apply(job, [...ids, young], pace()))]).to.deep.equal([plain]);
    expect(await typesOf(node, equal)).to.deep.equal(['RecordCreated']);
    expect(await typesOf(node, young)).to.deep.equal(['RecordCreated']);
    expect(await typesOf(node, drifted)).to.deep.equal(['RecordCreated']);
  });

  it('are none where the values are refused, or point to something', async () => {
    const node = startBulk({}, memoryLeases());
    await defineNodes(node);
    const target = await create(node);
    const row = await create(node, { n: 1 });
    const fields = (field_key: string, new_value: string): OpParams => ({
      kind: 'edit',
      fields: [{ field_key, new_value }],
    });
    for (const opParams of [fields('n', 'text'), fields('unheard', 'x'), fields('clear', target)]) {
      const job = await jobIn(node, { opParams });
      expect([...(await jointIn(node).apply(job, [row], pace()))]).to.deep.equal([]);
    }
    expect(await typesOf(node, row)).to.deep.equal(['RecordCreated']);
  });

  it('leave a row that somebody else has changed meanwhile to its own command', async () => {
    const node = startBulk({}, memoryLeases());
    await defineNodes(node);
    const rows = [await create(node, { n: 1 }), await create(node, { n: 2 })];
    const job = await jobIn(node);
    const racing = faultyEvents(node.events, ['lost race']);
    expect([...(await jointIn(node, racing).apply(job, rows, pace()))]).to.deep.equal([rows[1]]);
    expect(await typesOf(node, rows[0] ?? '')).to.deep.equal(['RecordCreated']);
  });

  it('are not shown as they were to who has them in memory', async () => {
    const node = startBulk({}, memoryLeases());
    await defineNodes(node);
    const row = await create(node, { n: 1 });
    node.states.trustWhile(() => true);
    expect(node.states.cached(streamOf(row))).to.not.equal(undefined);
    await jointIn(node).apply(await jobIn(node), [row], pace());
    const { state } = await node.states.load(TENANT, recordDecider, row);
    expect(state.status === 'live' && state.values.n).to.equal(5);
  });

  it('counts as appended what was, and nothing that was refused', async () => {
    const node = startBulk({}, memoryLeases());
    await defineNodes(node);
    const rows = [await create(node, { n: 1 }), await create(node, { n: 2 }), await create(node, { n: 5 })];
    const counts: number[] = [];
    const metrics = { ...silentMetrics, eventsAppended: (count: number) => void counts.push(count) };
    const counted = (faults: readonly Fault[]) =>
      new JointEdits({ ...node, events: faultyEvents(node.events, faults), gate: node.writers, metrics });
    const job = await jobIn(node);
    await counted(['lost race', 'lost race']).apply(job, rows, pace());
    await counted(['lost race']).apply(job, rows, pace());
    expect(counts).to.deep.equal([1]);
  });

  it('are changed once where a row is named twice, and where two work on the same ones', async () => {
    const node = startBulk({}, memoryLeases());
    await defineNodes(node);
    const rows: string[] = [];
    for (let n = 10; n < 20; n += 1) rows.push(await create(node, { n }));
    const job = await jobIn(node);
    const asked = [...rows, ...rows.toReversed()];
    const done = await Promise.all([1, 2].map(() => jointIn(node).apply(job, asked, pace())));
    expect(done.reduce((sum, { size }) => sum + size, 0)).to.equal(rows.length);
    for (const row of rows)
      expect(await typesOf(node, row)).to.deep.equal(['RecordCreated', 'RecordUpdated']);
  });

  it('go by the schema as it is when they are written, and hold up a change of it until they are', async () => {
    const field = { key: 'n', label: 'n', type: 'integer' as const, required: false };
    await fc.assert(
      fc.asyncProperty(fc.nat(12), fc.nat(12), async (before, held) => {
        const plain = startBulk({}, memoryLeases());
        const slow = async (turns: number) => {
          for (let turn = 0; turn < turns; turn += 1) await new Promise((next) => setImmediate(next));
        };
        await plain.schemas.define(TENANT, { name: 'node', label: 'N', fields: [field] }, request());
        const rows = [await create(plain, { n: 1 }), await create(plain, { n: 2 })];
        const job = await jobIn(plain);
        const late: EventStore = {
          ...plain.events,
          append: async (...args) => {
            await slow(held);
            return plain.events.append(...args);
          },
        };
        const editing = jointIn(plain, late)
          .apply(job, rows, pace())
          .catch(() => new Set<string>());
        await slow(before);
        const narrower = { fields: [{ ...field, max: 3 }] };
        const isNarrower = await plain.schemas.change(TENANT, 'node', narrower, request()).then(
          () => true,
          () => false,
        );
        const changed = await editing;
        expect(changed.size, 'all or none').to.equal(isNarrower ? 0 : rows.length);
        for (const id of rows) {
          const { state } = await plain.states.load(TENANT, recordDecider, id);
          if (state.status !== 'live') throw new Error('a record is gone');
          expect(Number(state.values.n) > 3).to.equal(!isNarrower);
        }
      }),
      { numRuns: 60 },
    );
  }).timeout(60_000);

  const BIG = ['a', 'b', 'c'];
  it('are those with many events too, and no event that may be too big', async () => {
    const node = startBulk({}, memoryLeases());
    await node.schemas.define(
      TENANT,
      {
        name: 'node',
        label: 'N',
        fields: [
          { key: 'n', label: 'n', type: 'integer', required: false },
          ...BIG.map((key) => ({ key, label: key, type: 'json' as const, required: false })),
        ],
      },
      request(),
    );
    const long = await create(node, { n: 0 });
    for (let n = 100; n < 140; n += 1)
      await node.records.update(TENANT, 'node', long, { values: { n } }, request());
    const big = await create(node, {
      n: 0,
      ...Object.fromEntries(BIG.map((key) => [key, 'x'.repeat(60_000)])),
    });
    const other = startBulk(node.shared, memoryLeases());
    const job = await jobIn(other);
    expect([...(await jointIn(other).apply(job, [long, big], pace()))]).to.deep.equal([long]);
    expect((await typesOf(node, long)).length).to.equal(42);
    const { state } = await other.states.load(TENANT, recordDecider, long);
    expect(state.status === 'live' && state.values.n).to.equal(5);
  });
});
