import { expect } from 'chai';
import fc from 'fast-check';
import type { EventStore, StoredEvent } from '../../../application/ports/event-store.ts';
import { defineNodes, request, TENANT } from '../entities/support.ts';
import { create, EDIT, memoryLeases, startBulk } from './support.ts';

/** Events are read with changed texts, as after a change of the event store’s file. */

type Tamper = (event: StoredEvent) => StoredEvent;

const tampering = (events: EventStore, tamper: Tamper): EventStore => ({
  ...events,
  readStream: async (...args) => (await events.readStream(...args)).map(tamper),
  readStreams: async (...args) => (await events.readStreams(...args)).map((found) => found.map(tamper)),
});

const MEMBERS = ['record_id', 'entity_name', 'values', 'types', 'schema_revision', 'created_by', 'version'];

describe('A bulk commit with a tampered record', () => {
  it('ends, changes each of the other rows once, and writes only readable events', async () => {
    const junk = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('other', '', -1, 1e21, null, [], {}, { n: 'x' }, { n: 1, ghost: [1] }),
    );
    const change = fc.record({
      member: fc.constantFrom(...MEMBERS, ''),
      to: fc.option(junk, { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(change, fc.nat(3), async ({ member, to }, at) => {
        const healthy = startBulk({}, memoryLeases());
        await defineNodes(healthy);
        const other = await create(healthy, { n: 1 });
        const ids: string[] = [];
        for (let n = 10; n < 14; n += 1) {
          const id = await create(healthy, { n });
          await healthy.records.update(TENANT, 'node', id, { values: { n: n + 10 } }, request());
          ids.push(id);
        }
        const torn = `${TENANT}.record-${ids[at]}`;
        const value = to === 'other' ? other : to;
        const tamper: Tamper = (event) => {
          if (event.stream !== torn) return event;
          if (member === '') return { ...event, data: JSON.stringify(value ?? null) };
          const data: unknown = { ...JSON.parse(event.data), [member]: value };
          return { ...event, data: JSON.stringify(data) };
        };
        const session = await healthy.begin(ids, EDIT);
        const node = startBulk(healthy.shared, memoryLeases(), {
          wrap: (events) => tampering(events, tamper),
        });
        expect(await node.runner.commit(TENANT, session)).to.equal(true);
        const { status, result } = await healthy.session(session);
        expect(status).to.equal('committed');
        const { succeeded = 0, skipped = 0, errored = 0 } = result ?? {};
        expect(succeeded + skipped + errored).to.equal(4);
        const log = await healthy.shared.events.readAll({ limit: 1000 });
        // The log itself is not tampered with: the product wrote all its events, so they must be readable.
        for (const event of log) healthy.codec.decodeOnce(event);
        const lengths = new Map<string, number>();
        for (const { stream } of log) lengths.set(stream, (lengths.get(stream) ?? 0) + 1);
        for (const [i, id] of ids.entries())
          if (i !== at) expect(lengths.get(`${TENANT}.record-${id}`)).to.equal(3);
      }),
      {
        numRuns: Number(process.env.RUNS ?? 150),
        examples: [
          [{ member: 'record_id', to: 'other' }, 1],
          [{ member: 'version', to: '1' }, 1],
        ],
      },
    );
  }).timeout(60_000);

  it('leaves the record unchanged, as a single edit would', async () => {
    for (const torn of [0, 1, 2, 3]) {
      const healthy = startBulk({}, memoryLeases());
      await defineNodes(healthy);
      const id = await create(healthy, { n: 0 });
      for (const n of [1, 2, 3])
        await healthy.records.update(TENANT, 'node', id, { values: { n } }, request());
      const tamper: Tamper = (event) =>
        event.stream === `${TENANT}.record-${id}` && event.revision === torn
          ? { ...event, data: event.data.slice(0, -1) }
          : event;
      const session = await healthy.begin([id], EDIT);
      const node = startBulk(healthy.shared, memoryLeases(), {
        wrap: (events) => tampering(events, tamper),
      });
      expect(await node.runner.commit(TENANT, session)).to.equal(true);
      const { result } = await healthy.session(session);
      expect(result, `revision ${torn}`).to.deep.include({ succeeded: 0, skipped: 0, errored: 1 });
      expect(await healthy.shared.events.readStream(`${TENANT}.record-${id}`)).to.have.lengthOf(4);
    }
  });
});
