import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { type CommitRun, rowCausation, type SettledRow } from '../../../application/bulk/row.ts';
import { streamName } from '../../../application/core/events/stream-name.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import type { OpParams } from '../../../domain/bulk/session-events.ts';
import { recordStream } from '../../../domain/entities/record.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import { countingEvents, faultyEvents } from '../../support/faults.ts';
import { defineNodes, request, TENANT } from '../entities/support.ts';
import { type BulkNode, create, EDIT, memoryLeases, startBulk } from './support.ts';

const startNodes = async (): Promise<BulkNode> => {
  const node = startBulk({}, memoryLeases());
  await defineNodes(node);
  return node;
};

/** Another node over the same stores. */
const beside = (node: BulkNode, wrap?: (events: EventStore) => EventStore): BulkNode =>
  startBulk(node.shared, memoryLeases(), wrap === undefined ? {} : { wrap });

const runIn = async (node: BulkNode, more: Partial<CommitRun> = {}): Promise<CommitRun> => ({
  tenantId: TENANT,
  sessionId: randomUUID(),
  entityName: 'node',
  opParams: EDIT,
  selectedBy: undefined,
  committedBy: 'ann',
  cause: request().cause,
  since: (await node.events.end()) as Position,
  number: 1,
  ...more,
});

const streamOf = (id: string) => streamName(TENANT, recordStream.category, id);
const typesOf = async (node: BulkNode, id: string) =>
  (await node.shared.events.readStream(streamOf(id))).map(({ type }) => type);
const kindsOf = (settled: readonly SettledRow[]) =>
  settled.map((row) => {
    if (row.status === 'rejected') return String(row.reason.code ?? row.reason.name);
    return row.value.kind === 'error' ? row.value.refusal.code : row.value.kind;
  });

describe('row edits', () => {
  it('leaves the event of a single edit, chained to the event before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(9), { minLength: 1, maxLength: 12 }), async (numbers) => {
        const node = await startNodes();
        const together: string[] = [];
        const single: string[] = [];
        for (const n of numbers) {
          together.push(await create(node, { n }));
          single.push(await create(node, { n }));
        }
        const run = await runIn(node);
        const kinds = kindsOf(await node.apply(run, together, false));
        for (const [i, id] of together.entries()) {
          const other = single[i] ?? '';
          const context = {
            ...request(),
            cause: { ...run.cause, causationId: rowCausation(run.sessionId, other) },
          };
          const result = await node.records.update(TENANT, 'node', other, { values: { n: 5 } }, context);
          expect(kinds[i]).to.equal(result.changed ? 'succeeded' : 'skipped');
          const [mine, theirs] = await Promise.all(
            [id, other].map((one) => node.events.readStream(streamOf(one))),
          );
          expect(mine?.map(({ type, data }) => ({ type, data }))).to.deep.equal(
            theirs?.map(({ type, data }) => ({ type, data: data.replaceAll(other, id) })),
          );
          const last = mine?.at(-1);
          if (last === undefined || !result.changed) continue;
          const event = node.codec.decodeOnce(last);
          expect(event.causationId).to.equal(rowCausation(run.sessionId, id));
          expect(event.actor).to.deep.equal(run.cause.actor);
          expect(last.metadata).to.include(
            `"prev_hash":"${node.codec.decodeOnce(mine?.at(-2) ?? last).hash}"`,
          );
        }
      }),
      { numRuns: 20 },
    );
  });

  it('returns each row’s result in the order of the rows', async () => {
    const node = await startNodes();
    const [plain, equal, drifted, gone] = [
      await create(node, { n: 1 }),
      await create(node, { n: 5 }),
      await create(node, { n: 9 }),
      await create(node, { n: 1 }),
    ];
    await node.deletions.delete(TENANT, 'node', gone, {}, request());
    const filter = parseFilterText('n < 8', { n: { type: 'integer' } });
    const run = await runIn(node, { selectedBy: { filter, now: 0 } });
    const rows = [plain, 'none', equal, drifted, gone, randomUUID()];
    expect(kindsOf(await node.apply(run, rows, false))).to.deep.equal([
      'succeeded',
      'record_not_found',
      'skipped',
      'selection_drift',
      'record_not_found',
      'record_not_found',
    ]);
    expect(await typesOf(node, drifted)).to.deep.equal(['RecordCreated']);
  });

  it('reads all records of an edit together', async () => {
    const node = await startNodes();
    const rows: string[] = [];
    for (let n = 10; n < 60; n += 1) rows.push(await create(node, { n }));
    const { counting, counts } = countingEvents(node.shared.events);
    const cold = beside(node, () => counting);
    const run = await runIn(cold);
    await cold.schemas.requireLatest(TENANT, 'node');
    counts.reads = 0;
    expect(new Set(kindsOf(await cold.apply(run, rows, false)))).to.deep.equal(new Set(['succeeded']));
    expect(counts.reads, 'events read stream by stream').to.be.at.most(1);
    for (const row of rows) expect(cold.states.cached(streamOf(row))).to.equal(undefined);
  });

  it('refuses values like a single edit', async () => {
    const node = await startNodes();
    const row = await create(node, { n: 1 });
    const fields = (field_key: string, new_value: string): OpParams => ({
      kind: 'edit',
      fields: [{ field_key, new_value }],
    });
    const refusedBy = async (opParams: OpParams) =>
      kindsOf(await node.apply(await runIn(node, { opParams }), [row], false));
    expect(await refusedBy(fields('n', 'text'))).to.deep.equal(['type_mismatch']);
    expect(await refusedBy(fields('unheard', 'x'))).to.deep.equal(['unknown_field']);
    expect(await refusedBy(fields('clear', randomUUID()))).to.deep.equal(['type_mismatch']);
    expect(await typesOf(node, row)).to.deep.equal(['RecordCreated']);
  });

  it('registers the references of an edit at their targets', async () => {
    const node = await startNodes();
    const target = await create(node);
    const rows = [await create(node, { n: 1 }), await create(node, { n: 2 })];
    const opParams: OpParams = { kind: 'edit', fields: [{ field_key: 'clear', new_value: target }] };
    const settled = await node.apply(await runIn(node, { opParams }), rows, false);
    expect(kindsOf(settled)).to.deep.equal(['succeeded', 'succeeded']);
    const registered = (await typesOf(node, target)).filter((type) => type === 'ReferenceRegistered');
    expect(registered).to.have.length(2);
  });

  it('decides a row again whose append lost a race', async () => {
    const node = await startNodes();
    const rows = [await create(node, { n: 1 }), await create(node, { n: 2 })];
    const racing = beside(node, (events) => faultyEvents(events, ['lost race']));
    expect(kindsOf(await racing.apply(await runIn(node), rows, false))).to.deep.equal([
      'succeeded',
      'succeeded',
    ]);
    for (const row of rows)
      expect(await typesOf(node, row)).to.deep.equal(['RecordCreated', 'RecordUpdated']);
  });

  it('finds that a row is done when the answer was lost, also when the row no longer matches the filter', async () => {
    const node = await startNodes();
    const rows = [await create(node, { n: 1 }), await create(node, { n: 2 })];
    const filter = parseFilterText('n < 4', { n: { type: 'integer' } });
    const run = await runIn(node, { selectedBy: { filter, now: 0 } });
    const shaky = beside(node, (events) => faultyEvents(events, ['unavailable after']));
    expect(kindsOf(await shaky.apply(run, rows, false))).to.deep.equal(['StoreUnavailable', 'succeeded']);
    expect(kindsOf(await beside(node).apply(run, rows, true))).to.deep.equal(['succeeded', 'succeeded']);
    for (const row of rows)
      expect(await typesOf(node, row)).to.deep.equal(['RecordCreated', 'RecordUpdated']);
  });

  it('leaves no old state of a row in the cache', async () => {
    const node = await startNodes();
    const row = await create(node, { n: 1 });
    expect(node.states.cached(streamOf(row))).to.not.equal(undefined);
    await node.apply(await runIn(node), [row], false);
    const { state } = await node.states.load(TENANT, recordStream, row);
    expect(state.status === 'live' && state.values.n).to.equal(5);
  });

  it('changes a row once in concurrent runs', async () => {
    const node = await startNodes();
    const rows: string[] = [];
    for (let n = 10; n < 20; n += 1) rows.push(await create(node, { n }));
    const run = await runIn(node);
    await Promise.all([node, beside(node)].map((one) => one.apply(run, rows, false)));
    for (const row of rows)
      expect(await typesOf(node, row)).to.deep.equal(['RecordCreated', 'RecordUpdated']);
  });

  it('follows the schema at the time of the write, and a schema change waits for the rows', async () => {
    const field = { key: 'n', label: 'n', type: 'integer' as const, required: false };
    const ticks = async (count: number) => {
      for (let tick = 0; tick < count; tick += 1) await new Promise((next) => setImmediate(next));
    };
    await fc.assert(
      fc.asyncProperty(fc.nat(12), fc.nat(12), async (before, held) => {
        let isSlow = false;
        const node = startBulk({}, memoryLeases(), {
          wrap: (events) => ({
            ...events,
            append: async (stream, ...rest) => {
              if (isSlow && stream.includes('.record-')) await ticks(held);
              return events.append(stream, ...rest);
            },
          }),
        });
        await node.schemas.define(TENANT, { name: 'node', label: 'N', fields: [field] }, request());
        const rows = [await create(node, { n: 1 }), await create(node, { n: 2 })];
        const run = await runIn(node);
        isSlow = true;
        const editing = node.apply(run, rows, false);
        await ticks(before);
        const narrower = { fields: [{ ...field, max: 3 }] };
        const isNarrower = await node.schemas.change(TENANT, 'node', narrower, request()).then(
          () => true,
          () => false,
        );
        const kinds = kindsOf(await editing);
        const changed = kinds.filter((kind) => kind === 'succeeded').length;
        expect(changed, 'all or none').to.equal(isNarrower ? 0 : rows.length);
        for (const id of rows) {
          const { state } = await node.states.load(TENANT, recordStream, id);
          if (state.status !== 'live') throw new Error('a record is gone');
          expect(Number(state.values.n) > 3).to.equal(!isNarrower);
        }
      }),
      { numRuns: 60 },
    );
  }).timeout(60_000);

  it('edits records of many events, and refuses one that would become too large, as the preview does', async () => {
    const node = startBulk({}, memoryLeases());
    const big = Array.from({ length: 9 }, (_, nth) => `f${nth}`);
    const fields = [
      { key: 'n', label: 'n', type: 'integer' as const, required: false },
      ...big.map((key) => ({ key, label: key, type: 'json' as const, required: false })),
    ];
    await node.schemas.define(TENANT, { name: 'node', label: 'N', fields }, request());
    const long = await create(node, { n: 0 });
    for (let n = 100; n < 140; n += 1)
      await node.records.update(TENANT, 'node', long, { values: { n } }, request());
    const large = await create(
      node,
      Object.fromEntries(big.slice(1).map((key) => [key, 'x'.repeat(63_000)])),
    );
    const opParams: OpParams = { kind: 'edit', fields: [{ field_key: 'f0', new_value: 'x'.repeat(63_000) }] };
    const other = beside(node);
    const asked = { entityName: 'node', opParams, selection: { kind: 'ids' as const }, createdBy: 'ann' };
    const made = await other.previews.make(
      TENANT,
      { id: randomUUID(), ...asked },
      [long, large],
      request().cause,
    );
    expect(made.shown.errors).to.have.length(1);
    expect(made.shown.errors[0]).to.include({ record_id: large, code: 'type_mismatch' });
    const settled = await other.apply(await runIn(other, { opParams }), [long, large], false);
    expect(kindsOf(settled)).to.deep.equal(['succeeded', 'type_mismatch']);
    expect((await typesOf(node, long)).length).to.equal(42);
    expect((await typesOf(node, large)).length).to.equal(1);
  });
});
