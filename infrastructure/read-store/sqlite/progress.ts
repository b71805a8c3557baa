import { z } from 'zod';
import {
  type ActiveGeneration,
  type CheckpointWrite,
  Fenced,
  type GenerationId,
  type GenerationState,
  leaseNameOf,
  leaseNameOfSubscriber,
  type ReadProgress,
} from '../../../application/ports/read-store.ts';
import { optionalTextOf, type SqliteConnection, textOf } from '../../sqlite/connection.ts';
import { behindOf, optionalPosition, parkedRow, positionOf, textOfBehind } from '../stored-values.ts';
import { checkFence } from './leases.ts';

/** One statement, so that checkpoint and parked tenants are consistent. */
const STATE = `SELECT checkpoint, tenant, position, event_id, error, since, attempts
  FROM generations LEFT JOIN parked USING (projection, tag)
  WHERE projection = ? AND tag = ? ORDER BY tenant`;
const PARK = `INSERT OR REPLACE INTO parked (projection, tag, tenant, position, event_id, error, since, attempts)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const SAVE_SUBSCRIBER = `INSERT INTO subscribers (name, position) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET position = excluded.position WHERE excluded.position >= position`;
const READ_SUBSCRIBER = `SELECT position, tenants FROM subscribers LEFT JOIN subscribers_behind USING (name)
  WHERE name = ?`;
const SAVE_BEHIND = 'INSERT OR REPLACE INTO subscribers_behind (name, tenants) VALUES (?, ?)';

/** Progress of projections and subscribers. */
export function sqliteProgress(connection: SqliteConnection): ReadProgress {
  const { prepare, read, write } = connection;
  return {
    state: (generation) => read(() => stateOf(connection, generation)),
    states: (generations) => read(() => generations.map((generation) => stateOf(connection, generation))),
    saveCheckpoints: (all) => write(() => all.map((each) => saveCheckpoint(connection, each))),
    park: (generation, fence, { tenant, position, event_id, error, since, attempts }) =>
      write(() => {
        checkFence(connection, leaseNameOf(generation), fence);
        const { projection, tag } = generation;
        prepare(PARK).run(projection, tag, tenant, position, event_id, error, since, attempts);
      }),
    unpark: ({ projection, tag }, fence, tenant) =>
      write(() => {
        checkFence(connection, leaseNameOf({ projection, tag }), fence);
        prepare('DELETE FROM parked WHERE projection = ? AND tag = ? AND tenant = ?').run(
          projection,
          tag,
          tenant,
        );
      }),
    activeGeneration: (projection) => read(() => activeOf(connection, projection)),
    activeGenerations: (names) => read(() => names.map((name) => activeOf(connection, name))),
    setActiveGeneration: (projection, { active, building }) =>
      write(() => {
        prepare(
          'INSERT OR REPLACE INTO active_generations (projection, active, building) VALUES (?, ?, ?)',
        ).run(projection, active ?? null, building ?? null);
      }),
    subscriberProgress: (name) =>
      read(() => {
        const row = prepare(READ_SUBSCRIBER).get(name);
        if (row === undefined) return undefined;
        const behind = behindOf(optionalTextOf(row, 'tenants'));
        return { position: positionOf(textOf(row, 'position')), behind };
      }),
    subscriberCheckpoints: () =>
      read(() => {
        const rows = prepare('SELECT name, position FROM subscribers').all();
        return new Map(rows.map((row) => [textOf(row, 'name'), positionOf(textOf(row, 'position'))]));
      }),
    saveSubscriberProgress: (name, fence, { position, behind }) =>
      write(() => {
        checkFence(connection, leaseNameOfSubscriber(name), fence);
        const { changes } = prepare(SAVE_SUBSCRIBER).run(name, position);
        if (changes === 0) throw new Fenced(`the checkpoint of ${name} is already beyond ${position}`);
        prepare(SAVE_BEHIND).run(name, textOfBehind(behind));
      }),
  };
}

function stateOf(connection: SqliteConnection, { projection, tag }: GenerationId): GenerationState {
  const rows = connection.prepare(STATE).all(projection, tag);
  const [first] = rows;
  const parked = z.array(parkedRow).parse(rows.filter((row) => row.tenant !== null));
  return { checkpoint: optionalPosition(first && optionalTextOf(first, 'checkpoint')), parked };
}

function activeOf({ prepare }: SqliteConnection, projection: string): ActiveGeneration {
  const row = prepare('SELECT active, building FROM active_generations WHERE projection = ?').get(projection);
  if (row === undefined) return { active: undefined, building: undefined };
  return { active: optionalTextOf(row, 'active'), building: optionalTextOf(row, 'building') };
}

function saveCheckpoint(
  connection: SqliteConnection,
  { generation, fence, checkpoint }: CheckpointWrite,
): Fenced | undefined {
  try {
    checkFence(connection, leaseNameOf(generation), fence);
    advanceCheckpoint(connection, generation, checkpoint);
    return undefined;
  } catch (error) {
    // The refused checkpoint has written nothing; the other checkpoints are stored.
    if (error instanceof Fenced) return error;
    throw error;
  }
}

/** @throws {Fenced} when the checkpoint would go backwards */
export function advanceCheckpoint(
  connection: SqliteConnection,
  { projection, tag }: GenerationId,
  position: string,
): void {
  const { changes } = connection
    .prepare(
      `UPDATE generations SET checkpoint = :position
       WHERE projection = :projection AND tag = :tag AND (checkpoint IS NULL OR checkpoint <= :position)`,
    )
    .run({ projection, tag, position });
  if (changes === 0) throw new Fenced(`the checkpoint of ${projection}@${tag} is not before ${position}`);
}
