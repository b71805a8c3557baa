import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type EventStore, StoreUnavailable } from '../../../application/ports/event-store.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import { testClock } from '../../support/fakes.ts';
import { faultyEvents } from '../../support/faults.ts';
import { crashingAt } from '../entities/faults.ts';
import { defineNodes, flawsIn, recordsIn, request, TENANT } from '../entities/support.ts';
import { type BulkNode, create, DELETE, EDIT, memoryLeases, startBulk } from './support.ts';

const statesIn = async (node: BulkNode, ids: readonly string[]) => {
  const found = await recordsIn(node.shared.events, node.codec);
  return ids.map((id) => found.get(id));
};

const eventsOf = async (node: BulkNode, id: string): Promise<string[]> =>
  (await node.shared.events.readStream(`${TENANT}.record-${id}`)).map(({ type }) => type);

describe('A bulk commit', () => {
  it('is completed by another process after a crash at any append, each row once', async () => {
    let deaths = 0;
    for (let after = 1; after <= 16; after += 1) {
      for (const isDone of [false, true]) {
        const leases = memoryLeases();
        const healthy = startBulk({}, leases);
        await defineNodes(healthy);
        const ids: string[] = [];
        for (let n = 0; n < 10; n += 1) ids.push(await create(healthy, { n: n === 3 ? 5 : n }));
        const missing = randomUUID();
        const id = await healthy.begin([...ids, missing], EDIT);
        const { wrap, isDead } = crashingAt(after, isDone);
        const dying = startBulk(healthy.shared, leases, { wrap });
        const run = dying.runner.commit(TENANT, id);
        while (!isDead() && dying.runner.isCommitting(TENANT, id)) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        await dying.runner.stop();
        await run;
        deaths += isDead() ? 1 : 0;
        // Other requests change rows that the crashed run applied; these rows must not be applied again.
        const before = await statesIn(healthy, ids);
        const touched: string[] = [];
        for (const [i, found] of before.entries()) {
          const isIt = found?.state.status === 'live' && found.changes > 1;
          if (!isIt || i % 2 === 0) continue;
          touched.push(ids[i] ?? '');
          await healthy.records.update(TENANT, 'node', ids[i] ?? '', { values: { n: 77 } }, request());
        }
        leases.expire();
        const heir = startBulk(healthy.shared, leases);
        const when = `append ${after}, ${isDone ? 'done' : 'not done'}`;
        expect(await heir.runner.commit(TENANT, id), when).to.equal(true);
        const { status, result } = await heir.session(id);
        expect(status, when).to.equal('committed');
        expect(result, when).to.deep.include({ succeeded: 8, skipped: 2, errored: 1 });
        for (const [i, found] of (await statesIn(heir, ids)).entries()) {
          const state = found?.state;
          if (state?.status !== 'live') throw new Error('a record is gone');
          const was = touched.includes(ids[i] ?? '');
          expect(state.values.n, when).to.equal(was ? 77 : 5);
          const changes = (i === 3 || i === 5 ? 1 : 2) + (was ? 1 : 0);
          expect(found?.changes, `${when}, row ${i}`).to.equal(changes);
        }
      }
    }
    expect(deaths).to.be.greaterThan(20);
  }).timeout(60_000);

  it('of deletions is completed after a crash at any append, with correct counts', async () => {
    let deaths = 0;
    for (let after = 1; after <= 30; after += 2) {
      for (const isDone of [false, true]) {
        const leases = memoryLeases();
        const healthy = startBulk({}, leases);
        await defineNodes(healthy);
        const [a, b, c, d] = [
          await create(healthy),
          await create(healthy),
          await create(healthy),
          await create(healthy),
        ];
        const along = await create(healthy, { cascade: a });
        const cleared = await create(healthy, { clear: b });
        await create(healthy, { restrict: c });
        const selectedToo = await create(healthy, { restrict: d });
        const rows = [a, b, c, d, selectedToo];
        const id = await healthy.begin(rows, DELETE);
        const { counts, cascadeSummary } = await healthy.session(id);
        expect(counts).to.include({ would_succeed: 4, would_error: 1 });
        const cascade = {
          by_entity: [
            { entity_name: 'node', action: 'delete', count: 1 },
            { entity_name: 'node', action: 'clear', count: 1 },
          ],
          total: 2,
        };
        expect(cascadeSummary).to.deep.equal(cascade);
        const { wrap, isDead } = crashingAt(after, isDone);
        const dying = startBulk(healthy.shared, leases, { wrap });
        const run = dying.runner.commit(TENANT, id);
        while (!isDead() && dying.runner.isCommitting(TENANT, id)) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        await dying.runner.stop();
        await run;
        deaths += isDead() ? 1 : 0;
        leases.expire();
        const heir = startBulk(healthy.shared, leases);
        const when = `append ${after}, ${isDone ? 'done' : 'not done'}`;
        expect(await heir.runner.commit(TENANT, id), when).to.equal(true);
        await heir.deliver();
        const { result } = await heir.session(id);
        expect(result, when).to.deep.include({ succeeded: 4, errored: 1, cascade_applied: cascade });
        expect(await flawsIn(heir), when).to.deep.equal([]);
        const states = await statesIn(heir, [...rows, along, cleared]);
        expect(
          states.map((found) => found?.state.status),
          when,
        ).to.deep.equal(['deleted', 'deleted', 'live', 'deleted', 'deleted', 'deleted', 'live']);
      }
    }
    expect(deaths).to.be.greaterThan(15);
  }).timeout(60_000);

  it('applies each row once when two processes run it and one has lost the lease unnoticed', async () => {
    for (let pause = 0; pause < 12; pause += 1) {
      const healthy = startBulk({}, memoryLeases());
      await defineNodes(healthy);
      const ids: string[] = [];
      for (let n = 10; n < 20; n += 1) ids.push(await create(healthy, { n }));
      const id = await healthy.begin(ids, EDIT);
      // Each process holds a lease that the other does not see.
      const one = startBulk(healthy.shared, memoryLeases());
      const other = startBulk(healthy.shared, memoryLeases());
      const first = one.runner.commit(TENANT, id);
      for (let tick = 0; tick < pause; tick += 1) await new Promise((resolve) => setImmediate(resolve));
      const second = other.runner.commit(TENANT, id);
      await Promise.all([first, second]);
      const { status, result } = await healthy.session(id);
      expect(status).to.equal('committed');
      expect(result).to.deep.include({ succeeded: 10, skipped: 0, errored: 0 });
      for (const row of ids)
        expect(await eventsOf(healthy, row)).to.deep.equal(['RecordCreated', 'RecordUpdated']);
    }
  });

  it('counts correctly with any lost appends and any selection', async () => {
    // An applied row no longer matches the filter.
    const filter = parseFilterText('n >= 10', { n: { type: 'integer' } });
    const faults = ['lost race', 'unavailable before', 'unavailable after'] as const;
    for (const [selected, fault] of [undefined, filter].flatMap((by) =>
      faults.map((of) => [by, of] as const),
    )) {
      for (let at = 0; at < 14; at += 1) {
        const leases = memoryLeases();
        const healthy = startBulk({}, leases);
        await defineNodes(healthy);
        const ids: string[] = [];
        for (let n = 10; n < 18; n += 1) ids.push(await create(healthy, { n }));
        const id = await healthy.begin(ids, EDIT, selected);
        const list = [...Array<'none'>(at).fill('none'), fault, 'none', fault] as const;
        const node = startBulk(healthy.shared, leases, { wrap: (events) => faultyEvents(events, list) });
        expect(await node.runner.commit(TENANT, id)).to.equal(true);
        const { result } = await healthy.session(id);
        const when = `${fault} at ${at}${selected === undefined ? '' : ', by a filter'}`;
        expect(result, when).to.deep.include({ succeeded: 8, skipped: 0, errored: 0 });
        for (const row of ids) expect(await eventsOf(healthy, row)).to.have.length(2);
      }
    }
  }).timeout(60_000);

  it('ends as errored when the store was unavailable too long, with the applied rows', async () => {
    const clock = testClock();
    const leases = memoryLeases();
    const healthy = startBulk({}, leases);
    await defineNodes(healthy);
    const ids: string[] = [];
    for (let n = 10; n < 30; n += 1) ids.push(await create(healthy, { n }));
    const id = await healthy.begin(ids, EDIT);
    let records = 0;
    let failures = 0;
    const outage = (events: EventStore): EventStore => ({
      ...events,
      append: async (stream, ...rest) => {
        if (stream.includes('.record-')) {
          records += 1;
          if (records > 8 && failures < 200) {
            failures += 1;
            clock.advance(1000);
            // The ninth append succeeds without an answer.
            if (records === 9) await events.append(stream, ...rest);
            throw new StoreUnavailable('out of reach');
          }
        }
        return events.append(stream, ...rest);
      },
    });
    const node = startBulk({ ...healthy.shared, clock } as never, leases, {
      wrap: outage,
      outOfReachMs: 30_000,
    });
    expect(await node.runner.commit(TENANT, id)).to.equal(true);
    const { status, result } = await healthy.session(id);
    expect(status).to.equal('errored');
    const changed = (await statesIn(healthy, ids)).filter((found) => found?.changes === 2).length;
    expect(changed).to.be.at.least(9).and.lessThan(20);
    expect(result).to.deep.include({
      succeeded: changed,
      skipped: 0,
      errored: 0,
      not_processed: ids.length - changed,
    });
  });

  it('continues after a stop', async () => {
    const leases = memoryLeases();
    const healthy = startBulk({}, leases);
    await defineNodes(healthy);
    const ids: string[] = [];
    for (let n = 10; n < 40; n += 1) ids.push(await create(healthy, { n }));
    const id = await healthy.begin(ids, EDIT);
    const first = startBulk(healthy.shared, leases, { width: 2 });
    const run = first.runner.commit(TENANT, id);
    for (let tick = 0; tick < 30; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    await first.runner.stop();
    const hasEnded = await run;
    expect(await first.runner.commit(TENANT, id), 'it takes nothing more').to.equal(false);
    const second = startBulk(healthy.shared, leases);
    if (!hasEnded) expect(await second.runner.commit(TENANT, id)).to.equal(true);
    const { result } = await healthy.session(id);
    expect(result).to.deep.include({ succeeded: 30, skipped: 0, errored: 0 });
    for (const row of ids) expect(await eventsOf(healthy, row)).to.have.length(2);
  });
});
