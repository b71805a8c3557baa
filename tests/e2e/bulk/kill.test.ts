import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { change, create, define, pointing } from '../entities/support.ts';
import { type Definition, defineEntity } from '../workflow/support.ts';
import { KILL_ROUNDS, Killer, rounds, type Side } from './kill-support.ts';
import {
  commit,
  committed,
  createMany,
  DELETE,
  edit,
  ended,
  type Operation,
  preview,
  readSession,
  type Selected,
  type Session,
  transition,
} from './support.ts';

/** `flip` leads from each state to the other, so that a transition made twice is detected. */
const LOOP: Definition = {
  initial: 'a',
  states: [
    { key: 'a', label: 'A' },
    { key: 'b', label: 'B' },
  ],
  transitions: [
    { event_name: 'flip', from: 'a', to: 'b', guard: 'record.amount != 3' },
    { event_name: 'flip', from: 'b', to: 'a' },
  ],
};

const ROWS = 1_050;
/** Index of the first row without a record. */
const FOUND = 1_000;
/** Rows that are deleted. */
const PARENTS = 300;
/** Rows whose indexes differ by this number are equal. */
const ALIKE = 10;
const EACH = Math.ceil(KILL_ROUNDS / 3);
const TIMEOUT_MS = 60_000 + EACH * 60_000;
const LONG = 120_000;

const random = (most: number): number => Math.floor(Math.random() * most);

describe(`kill -9 while a bulk session is committed, ${KILL_ROUNDS} rounds`, () => {
  let world: World;
  let tenant: TestTenant;
  let killer: Killer;
  /** Rows that are changed while the server is killed. */
  let torn: Side;
  /** One row of each kind, changed in the same way by an undisturbed server. */
  let twin: Side;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    killer = new Killer(world, tenant);
    const sideOf = async (entity: string, count: number): Promise<Side> => {
      await defineEntity(tenant, entity, { definition: LOOP });
      const values = (i: number) => ({ title: 'n0', amount: i % ALIKE });
      const ids = await createMany(tenant.admin, entity, count, values);
      const labels = new Map(ids.map((id, i) => [id, `row ${i % ALIKE}`]));
      ids.splice(FOUND, 0, randomUUID(), 'no id');
      return { entity, ids, labels };
    };
    torn = await sideOf('torn_jobs', ROWS);
    twin = await sideOf('twin_jobs', ALIKE);
  });
  after(endWorld);

  const previewed = async (side: Side, operation: Operation, selected: Selected): Promise<Session> =>
    preview(tenant.admin, side.entity, operation, selected);

  /** Runs both sides, one with kills, then compares errors, and the events of equal rows. @returns the number of kills */
  const compare = async (
    type: string,
    operation: Operation,
    select: (side: Side) => Selected,
    wanted: Partial<Session['result']>,
    kills = 1,
  ): Promise<number> => {
    const lengths = await killer.lengths([...torn.ids, ...twin.ids]);
    const since = { torn: lengths.slice(0, torn.ids.length), twin: lengths.slice(torn.ids.length) };
    const made = await previewed(torn, operation, select(torn));
    expect((await commit(tenant.admin, made.id)).status).to.equal(202);
    // A row in the first third that changes; of each ten rows, the one at index 3 does not change.
    const aim = 10 * random(ROWS / 30) + 4;
    const isUnderWay = () => killer.rowIsDone(torn.ids[aim] ?? '', type, since.torn[aim] ?? 0);
    const hits = await killer.fireAt(made.id, isUnderWay, kills);
    const done = await ended(tenant.admin, made.id, LONG);
    await killer.expectRuns(made.id, hits);
    const other = await previewed(twin, operation, select(twin));
    const undisturbed = await committed(tenant.admin, other.id, LONG);
    expect(done.status).to.equal('committed');
    expect(done.result).to.include(wanted);
    expect(await killer.errors(done, torn)).to.deep.equal(await killer.errors(undisturbed, twin));
    const ours = await killer.histories(torn, since.torn);
    const theirs = await killer.histories(twin, since.twin);
    const kindOf = new Map(twin.ids.map((id, i) => [twin.labels.get(id), theirs.events[i]]));
    for (const [i, events] of ours.events.entries())
      expect(events, `row ${i}`).to.deep.equal(kindOf.get(torn.labels.get(torn.ids[i] ?? '')) ?? []);
    expect(ours.events.flat()).to.have.length(done.result?.succeeded ?? -1);
    for (const [i, origins] of ours.origins.entries()) {
      const origin = {
        $causationId: `bulk:${made.id}:${torn.ids[i]}`,
        actor: { kind: 'user', id: tenant.admin.id },
      };
      for (const each of origins) expect(each, `row ${i}`).to.deep.equal(origin);
    }
    return hits;
  };

  it('each transition is made once, and the counts add up', async () => {
    const counts = { succeeded: 945, skipped: 0, errored: 107 };
    await rounds(EACH, () => compare('JobTransitioned', transition('flip'), ({ ids }) => ids, counts, 2));
  }).timeout(TIMEOUT_MS);

  it('each edit is made once, also when it changes the filtered field', async () => {
    await rounds(Math.max(EACH, 2), async (nth) => {
      const values = { title: `n${nth + 1}` };
      if (nth % 2 === 0) {
        const filter = { title: `n${nth}` };
        return compare('RecordUpdated', edit(values), () => ({ filter }), { succeeded: ROWS, skipped: 0 });
      }
      for (const { entity, ids, labels } of [torn, twin]) {
        // These rows get the new values before the commit, which then leaves them unchanged.
        const own = ids.filter((id) => labels.get(id) === 'row 3');
        const answers = own.map((id) => change(tenant.admin, { entity_name: entity, id }, values));
        for (const answer of await Promise.all(answers)) answer.as(z.unknown());
      }
      const counts = { succeeded: 945, skipped: 105, errored: 2 };
      return compare('RecordUpdated', edit(values), ({ ids }) => ids, counts);
    });
  }).timeout(TIMEOUT_MS);

  it('a commit within a request is taken over by another process', async () => {
    const ids = torn.ids.slice(0, 400).filter((_id, i) => i % 10 !== 3);
    await rounds(1, async () => {
      const since = await killer.lengths(ids);
      const made = await previewed(torn, transition('flip'), ids);
      const answer = commit(tenant.admin, made.id).catch((error: unknown) => error);
      const aim = 20 + random(100);
      const hits = await killer.fireAt(made.id, () =>
        killer.rowIsDone(ids[aim] ?? '', 'JobTransitioned', since[aim] ?? 0),
      );
      await answer;
      const done = await ended(tenant.admin, made.id, LONG);
      await killer.expectRuns(made.id, hits);
      expect(done.result).to.include({ succeeded: 360, skipped: 0, errored: 0 });
      const { events } = await killer.histories({ ...torn, ids }, since);
      for (const [i, each] of events.entries()) expect(each, `row ${i}`).to.have.length(1);
      expect((await readSession(tenant.admin, made.id)).status).to.equal('committed');
      return hits;
    });
  }).timeout(TIMEOUT_MS);

  /**
   * Records with referrers that cascade, clear or restrict. Each cascading referrer has two referrers of its own: one
   * that cascades and one that clears.
   */
  const family = async ({ entity, ids: parents }: Side) => {
    const child = await define(
      tenant.admin,
      pointing('owned', entity, 'cascade'),
      pointing('loose', entity, 'clear'),
      pointing('kept', entity, 'restrict'),
    );
    const children = await Promise.all(
      parents
        .filter((_id, i) => i % 20 === 0)
        .map(async (id, i) => {
          const key = ['owned', 'loose', 'kept'][i % 3] ?? '';
          return (await create(tenant.admin, child, { [key]: id })).id;
        }),
    );
    const grandchild = await define(
      tenant.admin,
      pointing('owned', child, 'cascade'),
      pointing('loose', child, 'clear'),
    );
    const grandchildren = await Promise.all(
      children
        .filter((_id, i) => i % 3 === 0)
        .flatMap((id) => [{ owned: id }, { loose: id }])
        .map(async (values) => (await create(tenant.admin, grandchild, values)).id),
    );
    return { parents, children, grandchildren };
  };

  /** Round 0 uses rows of the other tests; each later round creates its own. */
  const parentsOf = async (nth: number): Promise<Side> => {
    if (nth === 0) return { ...torn, ids: torn.ids.slice(0, PARENTS) };
    const entity = await define(tenant.admin, { key: 'n', type: 'integer' });
    return { ...torn, entity, ids: await createMany(tenant.admin, entity, PARENTS, (n) => ({ n })) };
  };

  it('each deletion is made and counted once, with its cascade', async () => {
    await rounds(EACH, async (nth) => {
      const side = await parentsOf(nth);
      const { parents, children, grandchildren } = await family(side);
      const ids = [...parents, ...children, ...grandchildren];
      const since = await killer.lengths(ids);
      const made = await previewed(side, DELETE, parents);
      const answer = commit(tenant.admin, made.id).catch((error: unknown) => error);
      // An odd index, since only parents with an even index can be restricted.
      const aim = parents[2 * random(60) + 1] ?? '';
      const hits = await killer.fireAt(made.id, () => killer.rowIsDone(aim, 'RecordDeleted', 0));
      await answer;
      const { preview: foreseen, result } = await ended(tenant.admin, made.id, LONG);
      await killer.expectRuns(made.id, hits);
      expect(result).to.include({ succeeded: 295, skipped: 0, errored: 5 });
      expect(result?.cascade_applied).to.deep.equal(foreseen.cascade_summary);
      const kinds = result?.cascade_applied?.by_entity.map(({ action, count }) => `${action} ${count}`);
      expect(kinds).to.have.members(['delete 5', 'clear 5', 'delete 5', 'clear 5']);
      // A kill may cut off an attempt to delete, which is then repeated: its `RecordDeletion…` events are ignored.
      const { events } = await killer.histories({ ...side, ids }, since);
      const types = new Map(
        events.map((of, i) => [
          ids[i],
          of.map(({ type }) => type).filter((type) => !type.startsWith('RecordDeletion')),
        ]),
      );
      const typesOf = (some: readonly string[]) => some.map((id) => types.get(id)?.join(' '));
      const isKept = (i: number): boolean => i % 60 === 40;
      expect(typesOf(parents)).to.deep.equal(parents.map((_id, i) => (isKept(i) ? '' : 'RecordDeleted')));
      expect(typesOf(children)).to.deep.equal(
        children.map((_id, i) => ['RecordDeleted', 'RecordUpdated', ''][i % 3]),
      );
      expect(typesOf(grandchildren)).to.deep.equal(
        grandchildren.map((_id, i) => ['RecordDeleted', 'RecordUpdated'][i % 2]),
      );
      return hits;
    });
  }).timeout(TIMEOUT_MS);
});
