import { expect } from 'chai';
import fc from 'fast-check';
import { deletionPrefix } from '../../application/bulk/cascades.ts';
import { dataOf } from '../../application/core/events/event-codec.ts';
import { BulkCommitted } from '../../domain/bulk/session-events.ts';
import { RecordDeleted, RecordUpdated } from '../../domain/entities/record.ts';
import { type BulkNode, create, DELETE, memoryLeases, startBulk } from '../application/bulk/support.ts';
import { crashingAt, seeded, withRandomYields } from '../application/entities/faults.ts';
import {
  defineNodes,
  type Entities,
  flawsIn,
  recordsIn,
  request,
  startEntities,
  TENANT,
} from '../application/entities/support.ts';

const FIELDS = ['cascade', 'clear', 'restrict'] as const;

/** Layers of records that refer to the layers above, with a few references against that order. */
const graphs = fc.integer({ min: 1, max: 5 }).chain((depth) =>
  fc.record({
    layers: fc.array(
      fc.array(
        fc.record({
          // Mostly cascades, since only they make long chains.
          key: fc.constantFrom('cascade' as const, 'cascade' as const, 'cascade' as const, ...FIELDS),
          to: fc.nat(100),
          also: fc.option(fc.record({ key: fc.constantFrom(...FIELDS), to: fc.nat(100) }), { freq: 4 }),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      { minLength: depth, maxLength: depth },
    ),
    roots: fc.integer({ min: 1, max: 5 }),
    back: fc.array(
      fc.record({ from: fc.nat(100), to: fc.nat(100), key: fc.constantFrom('cascade', 'clear') }),
      { maxLength: 2 },
    ),
    beside: fc.array(fc.nat(100), { maxLength: 2 }),
  }),
);

type Graph = typeof graphs extends fc.Arbitrary<infer G> ? G : never;

/** @returns ids of all records, roots first */
const build = async (node: BulkNode, { layers, roots, back }: Graph): Promise<string[]> => {
  const ids: string[] = [];
  const at = (n: number, size = ids.length): string => ids[n % size] ?? '';
  for (let n = 0; n < roots; n += 1) ids.push(await create(node));
  let above = [...ids];
  for (const layer of layers) {
    const known = ids.length;
    const made: string[] = [];
    for (const { key, to, also } of layer) {
      const target = above[to % above.length];
      made.push(await create(node, { ...(also && { [also.key]: at(also.to, known) }), [key]: target }));
    }
    ids.push(...made);
    above = made;
  }
  for (const { from, to, key } of back)
    await node.records.update(TENANT, 'node', at(from), { values: { [key]: at(to) } }, request());
  return ids;
};

/** Delivers events to a subscriber while others work. @returns a function that stops it and returns its progress */
const follow = (follower: Pick<Entities, 'deliver'>): (() => Promise<number>) => {
  let isOver = false;
  const following = (async () => {
    let told = 0;
    while (!isOver) {
      told = await follower.deliver(told);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return told;
  })();
  return () => {
    isOver = true;
    return following;
  };
};

/**
 * Recounts the cascade of a session, and the work that is left, from the log up to the session's end. Excludes marks
 * of a refused deletion, which another node may take back later.
 */
const atTheEnd = async (node: BulkNode, session: string, selected: readonly string[]) => {
  const { events } = node.shared;
  const log = await events.readAll({ limit: 100_000 });
  const end = log.findIndex(({ type }) => type === BulkCommitted.type);
  const found = await recordsIn({ ...events, readAll: async () => log.slice(0, end) }, node.codec);
  const isOurs = (deletionId: string): boolean => deletionId.startsWith(deletionPrefix(session));
  const isDeleted = (id: string): boolean => {
    const state = found.get(id)?.state;
    return state?.status === 'deleted' && isOurs(state.deletion.id);
  };
  const cleared = new Set<string>();
  for (const stored of log.slice(0, end)) {
    const updated = dataOf(RecordUpdated, node.codec.decode(stored));
    if (updated?.cleared_by === undefined || !isDeleted(updated.cleared_by)) continue;
    if (!isDeleted(updated.record_id)) cleared.add(updated.record_id);
  }
  const left: string[] = [];
  for (const [id, { state }] of found) {
    if (state.status === 'deleting' && isDeleted(state.deletion.cascadeOf ?? id))
      left.push(`${id} is marked`);
    if (state.status !== 'live' && state.status !== 'deleting') continue;
    for (const target of Object.values(state.values))
      if (typeof target === 'string' && isDeleted(target)) left.push(`${id} points to ${target}`);
  }
  for (const { type, stream } of log.slice(end))
    if (type === RecordDeleted.type || type === RecordUpdated.type) left.push(`${type} of ${stream}`);
  const beside = [...found.keys()].filter((id) => isDeleted(id) && !selected.includes(id)).length;
  const cascade = [
    { entity_name: 'node', action: 'delete', count: beside },
    { entity_name: 'node', action: 'clear', count: cleared.size },
  ].filter(({ count }) => count > 0);
  return { cascade, left };
};

describe('The cascade of a bulk deletion', () => {
  it('of three levels is counted completely while a subscriber deletes part of it', async () => {
    for (let seed = 0; seed < 5; seed += 1) {
      const node = startBulk({}, memoryLeases(), { wrap: withRandomYields(seeded(seed)), width: 16 });
      await defineNodes(node);
      const roots: string[] = [];
      for (let n = 0; n < 12; n += 1) {
        const root = await create(node);
        const child = await create(node, { cascade: root });
        for (let nth = 0; nth < 2; nth += 1) await create(node, { cascade: child });
        await create(node, { clear: child });
        roots.push(root);
      }
      const session = await node.begin(roots, DELETE);
      // Subscribers of this process and of another one.
      const stops = [follow(node), follow(startEntities(node.shared))];
      expect(await node.runner.commit(TENANT, session)).to.equal(true);
      await Promise.all(stops.map((stop) => stop()));
      const { cascadeSummary, result } = await node.session(session);
      const { cascade, left } = await atTheEnd(node, session, roots);
      expect(cascade.map(({ action, count }) => [action, count])).to.deep.equal([
        ['delete', 36],
        ['clear', 12],
      ]);
      expect(left).to.deep.equal([]);
      expect(result?.cascade_applied).to.deep.equal(cascadeSummary);
      expect(result?.cascade_applied?.by_entity).to.deep.equal(cascade);
    }
  }).timeout(60_000);

  it('has ended with the session, and equals preview and log, after any crash', async () => {
    await fc.assert(
      fc.asyncProperty(
        graphs,
        fc.nat(),
        fc.array(fc.record({ after: fc.integer({ min: 1, max: 40 }), isDone: fc.boolean() }), {
          maxLength: 2,
        }),
        async (graph, seed, deaths) => {
          const between = withRandomYields(seeded(seed));
          const leases = memoryLeases();
          const base = startBulk({}, leases);
          await defineNodes(base);
          const ids = await build(base, graph);
          const all = [...ids.slice(0, graph.roots), ...graph.beside.map((n) => ids[n % ids.length] ?? '')];
          const selected = [...new Set(all)];
          const session = await base.begin(selected, DELETE);

          const follower = startEntities(base.shared);
          const stop = follow(follower);
          for (const { after, isDone } of deaths) {
            const { wrap, isDead } = crashingAt(after, isDone);
            const dying = startBulk(base.shared, leases, { wrap: (events) => between(wrap(events)) });
            const run = dying.runner.commit(TENANT, session);
            while (!isDead() && dying.runner.isCommitting(TENANT, session))
              await new Promise((resolve) => setImmediate(resolve));
            await dying.runner.stop();
            await run;
            leases.expire();
          }
          const heir = startBulk(base.shared, leases, { wrap: between });
          expect(await heir.runner.commit(TENANT, session)).to.equal(true);
          const told = await stop();

          const { status, counts, cascadeSummary, result } = await base.session(session);
          expect(status).to.equal('committed');
          const { cascade, left } = await atTheEnd(base, session, selected);
          expect(left).to.deep.equal([]);
          expect(result?.cascade_applied?.by_entity).to.have.deep.members(cascade);
          expect(result?.cascade_applied).to.deep.equal(cascadeSummary);
          expect(result).to.include({ succeeded: counts.would_succeed, errored: counts.would_error });
          await follower.deliver(told);
          expect(await flawsIn(base)).to.deep.equal([]);
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 40) },
    );
  }).timeout(120_000);
});
