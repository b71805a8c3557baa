import { expect } from 'chai';
import { z } from 'zod';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { withLogOf } from '../../support/log-of.ts';
import { eventually } from '../../support/server.ts';
import type { TestTenant, World } from '../../support/world.ts';
import { csvOf, type Session } from './support.ts';

/** Kills the process that works on a session, and reads the result from the log. */

/** Total number of rounds. A round kills a session's process once or twice, and checks the session. */
export const KILL_ROUNDS = Number(process.env.BULK_KILL_ROUNDS ?? 3);

/** Records of an entity, in order. */
export interface Side {
  readonly entity: string;
  readonly ids: readonly string[];
  /** What takes the place of each id, so that the events and errors of equal records are equal. */
  readonly labels: ReadonlyMap<string, string>;
}

export interface Stored {
  readonly type: string;
  readonly data: unknown;
}

const metadata = z.object({
  $causationId: z.string(),
  actor: z.object({ kind: z.string(), id: z.string() }),
});
export type Origin = z.output<typeof metadata>;

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g;

const random = (most: number): number => Math.floor(Math.random() * most);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Killer {
  readonly #world: World;
  readonly #tenant: TestTenant;

  constructor(world: World, tenant: TestTenant) {
    this.#world = world;
    this.#tenant = tenant;
  }

  async withLog<T>(read: (store: EventStore) => Promise<T>): Promise<T> {
    return withLogOf(this.#world.server, read);
  }

  /** Waits for the event in the log, not over the API, since the server is busy with rows. */
  rowIsDone(id: string, type: string, since: number): Promise<void> {
    return this.withLog(async (store) => {
      const stream = `${this.#tenant.id}.record-${id}`;
      const isDone = async () =>
        (await store.readStream(stream, { from: since })).some((event) => event.type === type);
      await eventually(`${type} of ${id}`, isDone, 60_000);
    });
  }

  /** Number of runs that the session has begun, and whether the session has ended. */
  look(sessionId: string): Promise<{ readonly runs: number; readonly hasEnded: boolean }> {
    return this.withLog(async (store) => {
      const types: string[] = [];
      const stream = `${this.#tenant.id}.bulk-${sessionId}`;
      for (let from = 0; ; from = types.length) {
        const page = await store.readStream(stream, { from, limit: 100 });
        types.push(...page.map(({ type }) => type));
        if (page.length < 100) break;
      }
      const runs = types.filter((type) => type === 'BulkRunStarted').length;
      return { runs, hasEnded: types.includes('BulkCommitted') || types.includes('BulkCommitErrored') };
    });
  }

  /**
   * Kills the process after `isUnderWay` has resolved, and then further processes.
   * @returns the number of kills during row processing
   */
  async fireAt(sessionId: string, isUnderWay: () => Promise<void>, kills = 1): Promise<number> {
    let hits = 0;
    let seen = 0;
    for (let nth = 0; nth < kills; nth += 1) {
      if (nth === 0) {
        await isUnderWay();
        // Kills while one of the next rows is processed.
        await pause(random(40));
      } else if (Math.random() < 0.5) await pause(random(1500));
      else {
        const isTakenUp = async () => (await this.look(sessionId)).runs > seen;
        await eventually('another run', isTakenUp, 60_000);
        await pause(random(120));
      }
      await this.#world.server.kill();
      const { runs, hasEnded } = await this.look(sessionId);
      expect(runs - seen, 'runs of one process').to.be.oneOf([0, 1]);
      if (runs > seen && !hasEnded) hits += 1;
      seen = runs;
      await this.#world.restart();
      if (hasEnded) break;
    }
    await this.#world.ready();
    return hits;
  }

  /** Expects one run for each kill during row processing, and one more run, which ended the work. */
  async expectRuns(sessionId: string, hits: number): Promise<void> {
    expect((await this.look(sessionId)).runs, 'runs that the log knows').to.equal(hits + 1);
  }

  /** Number of events of each record. */
  lengths(ids: readonly string[]): Promise<number[]> {
    return this.withLog(async (store) => {
      const filter = { streamPrefix: `${this.#tenant.id}.record-` };
      // Reads the whole log once: a remote store takes long to read thousands of streams one by one.
      const found = new Map<string, number>();
      for (const { stream, revision } of await store.readAll({ filter, limit: 1_000_000 })) {
        found.set(stream, revision + 1);
      }
      return ids.map((id) => found.get(`${filter.streamPrefix}${id}`) ?? 0);
    });
  }

  /**
   * Events of each record from revision `since` on, with their origins. Ids become labels, and all entities get the
   * same name, so that equal records can be compared.
   */
  histories(
    { entity, ids, labels }: Side,
    since?: readonly number[],
  ): Promise<{ readonly events: Stored[][]; readonly origins: Origin[][] }> {
    const plainText = (text: string): string =>
      text.replaceAll(ID, (id) => labels.get(id) ?? '<id>').replaceAll(entity, 'entity');
    return this.withLog(async (store) => {
      const found = await Promise.all(
        ids.map((id, i) =>
          store.readStream(`${this.#tenant.id}.record-${id}`, { from: since?.[i] ?? 0, limit: 100 }),
        ),
      );
      return {
        events: found.map((stored) =>
          stored.map(({ type, data }): Stored => ({ type, data: JSON.parse(plainText(data)) })),
        ),
        origins: found.map((stored) => stored.map((event) => metadata.parse(JSON.parse(event.metadata)))),
      };
    });
  }

  /** The different errors of a session, with the label of each record. */
  async errors({ id }: Session, { labels }: Side): Promise<Set<string>> {
    const rows = await csvOf(this.#tenant.admin, id);
    return new Set(rows.map((row) => row.replaceAll(ID, (found) => labels.get(found) ?? '<id>')));
  }
}

/** Repeats rounds until `count` of them were hit by a kill; a round that ended before its kill does not count. */
export const rounds = async (count: number, round: (nth: number) => Promise<number>): Promise<void> => {
  let hit = 0;
  for (let nth = 0; hit < count; nth += 1) {
    if (nth >= 3 * count + 10) throw new Error(`only ${hit} of ${nth} rounds were hit by a kill`);
    if ((await round(nth)) > 0) hit += 1;
  }
};
