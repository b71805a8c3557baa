import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { testLogger } from '../../support/fakes.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { create, define, pointing } from '../entities/support.ts';
import { type Definition, defineEntity } from '../workflows/support.ts';
import {
  commit,
  committed,
  createMany,
  csvOf,
  DELETE,
  ended,
  preview,
  readSession,
  type Session,
  transition,
} from './support.ts';

/** A transition that is made twice is seen: it leads back. */
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

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g;

const metadata = z.object({
  $causationId: z.string(),
  actor: z.object({ kind: z.string(), id: z.string() }),
});

interface Stored {
  readonly type: string;
  readonly data: unknown;
}

describe('kill -9 while a bulk session is committed', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
  });
  after(endWorld);

  /** Kills the server when a row is seen to be done, and starts another one. */
  const killWhen = async (what: string, isDone: () => Promise<boolean>): Promise<void> => {
    await eventually(what, isDone, 30_000);
    // Somewhere within the work of a few rows.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
    await world.server.kill();
    await world.restart();
    await world.ready();
  };

  const record = z.looseObject({ state: z.string().nullable() });
  const stateOf = async (entity: string, id: string): Promise<string | null | undefined> => {
    const answer = await tenant.admin.api.get(`/api/v1/tenant/entities/${entity}/records/${id}`);
    return answer.status === 404 ? undefined : answer.as(record).state;
  };

  const withLog = async <T>(read: (store: EventStore) => Promise<T>): Promise<T> => {
    const path = join(world.server.dataDir, 'events.db');
    const store = await openSqliteEventStore({ path, logger: testLogger() });
    try {
      return await read(store);
    } finally {
      await store.close();
    }
  };

  /** The events of each record; ids by where their records stand, and both entities under one name. */
  const histories = (ids: readonly string[], index: ReadonlyMap<string, string>): Promise<Stored[][]> => {
    const plainText = (text: string): string =>
      text.replaceAll(ID, (id) => index.get(id) ?? '<id>').replaceAll(/twin|torn/g, 'entity');
    return withLog((store) =>
      Promise.all(
        ids.map(async (id) => {
          const stored = await store.readStream(`${tenant.id}.record-${id}`);
          return stored.map(({ type, data }) => {
            const parsed: unknown = JSON.parse(plainText(data));
            return { type, data: parsed };
          });
        }),
      ),
    );
  };

  /** What caused the last event of a record, and who. */
  const causeOfLast = async (id: string): Promise<z.output<typeof metadata>> => {
    const [last] = await withLog((store) =>
      store.readStream(`${tenant.id}.record-${id}`, { direction: 'backward', limit: 1 }),
    );
    return metadata.parse(JSON.parse(last?.metadata ?? ''));
  };

  /** Asks the log itself: the server is too busy with rows to answer before many more are done. */
  const isLast = (id: string, type: string): Promise<boolean> =>
    withLog(async (store) => {
      const [last] = await store.readStream(`${tenant.id}.record-${id}`, { direction: 'backward', limit: 1 });
      return last?.type === type;
    });

  const runsOf = async (sessionId: string): Promise<number> => {
    const stored = await withLog((store) => store.readStream(`${tenant.id}.bulk-${sessionId}`));
    return stored.filter(({ type }) => type === 'BulkRunStarted').length;
  };

  /** What a session says of itself, with ids by where their records stand. */
  const plain = async (session: Session, index: ReadonlyMap<string, string>) => ({
    result: { ...session.result, committed_at: '' },
    errors: (await csvOf(tenant.admin, session.id)).map((row) =>
      row.replaceAll(ID, (id) => index.get(id) ?? id),
    ),
  });

  const indexed = (ids: readonly string[]): Map<string, string> =>
    new Map(ids.map((id, i): [string, string] => [id, `row ${i}`]));

  it('each transition is made once, none is lost, and the counts add up', async () => {
    const lists: string[][] = [];
    for (const entity of ['torn', 'twin']) {
      await defineEntity(tenant, entity, { definition: LOOP });
      const ids = await createMany(tenant.admin, entity, 2_400, (i) => ({ title: `${i}`, amount: i % 10 }));
      ids.splice(1_000, 0, randomUUID(), 'no id');
      lists.push(ids);
    }
    const [torn = [], twin = []] = lists;
    const made = await preview(tenant.admin, 'torn', transition('flip'), torn);
    expect((await commit(tenant.admin, made.id)).status).to.equal(202);
    for (const row of [20 + 10 * Math.floor(Math.random() * 10), 305, 706, 1_107, 1_602]) {
      await killWhen(`row ${row}`, () => isLast(torn[row] ?? '', 'JobTransitioned'));
    }
    const done = await ended(tenant.admin, made.id, 60_000);
    const other = await preview(tenant.admin, 'twin', transition('flip'), twin);
    const undisturbed = await committed(tenant.admin, other.id, 60_000);
    expect(done.status).to.equal('committed');
    expect(done.result).to.include({ succeeded: 2_160, skipped: 0, errored: 242 });
    expect(await plain(done, indexed(torn))).to.deep.equal(await plain(undisturbed, indexed(twin)));
    await world.server.stop();
    const ours = await histories(torn, indexed(torn));
    const theirs = await histories(twin, indexed(twin));
    for (const [i, events] of ours.entries()) expect(events, `row ${i}`).to.deep.equal(theirs[i]);
    expect(await causeOfLast(torn[400] ?? '')).to.deep.equal({
      $causationId: `bulk:${made.id}:${torn[400]}`,
      actor: { kind: 'user', id: tenant.admin.id },
    });
    // A kill may come after the last row, but the first ones must have cut the work off.
    expect(await runsOf(made.id), 'processes that worked on it').to.be.at.least(2);
    await world.restart();
    await world.ready();
  }).timeout(180_000);

  it('each deletion is made once, with all that goes with it, and counted', async () => {
    const lists: string[][] = [];
    const beside: string[][] = [];
    const names: string[] = [];
    for (const _ of ['torn', 'twin']) {
      const parent = await define(tenant.admin, { key: 'n', type: 'integer' });
      const child = await define(
        tenant.admin,
        pointing('owned', parent, 'cascade'),
        pointing('loose', parent, 'clear'),
        pointing('kept', parent, 'restrict'),
      );
      const parents = await createMany(tenant.admin, parent, 1_000, (n) => ({ n }));
      const children = await Promise.all(
        parents
          .filter((_id, i) => i % 20 === 0)
          .map(async (id, i) => {
            const key = ['owned', 'loose', 'kept'][i % 3] ?? '';
            return (await create(tenant.admin, child, { [key]: id })).id;
          }),
      );
      names.push(parent);
      lists.push(parents);
      beside.push(children);
    }
    const [torn = [], twin = []] = lists;
    const [made, calm] = await Promise.all(
      [torn, twin].map((ids, i) => preview(tenant.admin, names[i] ?? '', DELETE, ids)),
    );
    if (made === undefined || calm === undefined) throw new Error('no previews');
    expect((await commit(tenant.admin, made.id)).status).to.equal(202);
    for (const row of [101, 342, 701]) {
      const id = torn[row] ?? '';
      await killWhen(`row ${row}`, () => isLast(id, 'RecordDeleted'));
    }
    const done = await ended(tenant.admin, made.id, 60_000);
    const undisturbed = await committed(tenant.admin, calm.id, 60_000);
    expect(done.result).to.include({ succeeded: 984, skipped: 0, errored: 16 });
    const kinds = ({ result }: Session) =>
      result?.cascade_applied?.by_entity.map(({ action, count }) => [action, count]);
    expect(kinds(done)).to.deep.equal(kinds(undisturbed));
    expect(kinds(done)).to.deep.equal([
      ['delete', 17],
      ['clear', 17],
    ]);
    await world.server.stop();
    // An attempt that a kill cut off may be given up and made again: its marks come and go.
    const lasting = async (ids: readonly string[]) =>
      (await histories(ids, new Map())).map((events) =>
        events.map(({ type }) => type).filter((type) => !type.startsWith('RecordDeletion')),
      );
    const ours = await lasting([...torn, ...(beside[0] ?? [])]);
    expect(ours).to.deep.equal(await lasting([...twin, ...(beside[1] ?? [])]));
    expect(await runsOf(made.id), 'processes that worked on it').to.be.at.least(2);
    await world.restart();
    await world.ready();
  }).timeout(180_000);

  it('a commit within a request is taken up by another process', async () => {
    await defineEntity(tenant, 'small', { definition: LOOP });
    const ids = await createMany(tenant.admin, 'small', 900, (i) => ({ title: `${i}`, amount: 1 }));
    const made = await preview(tenant.admin, 'small', transition('flip'), ids);
    const answer = commit(tenant.admin, made.id).catch((error: unknown) => error);
    await killWhen('row 300', () => isLast(ids[300] ?? '', 'JobTransitioned'));
    await answer;
    const done = await ended(tenant.admin, made.id, 30_000);
    expect(done.result).to.include({ succeeded: 900, skipped: 0, errored: 0 });
    for (const id of [0, 299, 300, 301, 899]) expect(await stateOf('small', ids[id] ?? '')).to.equal('b');
    expect((await readSession(tenant.admin, made.id)).status).to.equal('committed');
  }).timeout(60_000);
});
