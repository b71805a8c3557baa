import { randomUUID } from 'node:crypto';
import { Binary, type ClientSession, type Db } from 'mongodb';
import { z } from 'zod';
import type { Position } from '../../../application/ports/event-store.ts';
import {
  type CheckpointWrite,
  type CollectionSpec,
  Fenced,
  type GenerationId,
  leaseNameOf,
} from '../../../application/ports/read-store.ts';
import { insertOnce, type Row, type Rows, rowsById, textIn } from '../../mongodb/calls.ts';
import { type IndexPlan, planIndex } from '../index-keys.ts';
import { checkNames, checkSameSpec, specOf, specText } from '../stored-values.ts';
import { indexKeys, type Shape, TOMBSTONE_SECONDS } from './documents.ts';
import type { IndexFields } from './field-index.ts';

export const generationId = ({ projection, tag }: GenerationId): string => `${projection}@${tag}`;

/** A collection of a generation, with its indexes parsed. */
export interface OpenCollection extends Shape {
  readonly rows: Rows;
}

export interface GenerationProgress {
  /** Empty before the first batch. */
  readonly checkpoint: Position | '';
  /** The documents have an older format than those of a new generation, or lack the index over fields. */
  readonly isOutdated: boolean;
}

export type Generations = ReturnType<typeof mongoGenerations>;

/**
 * The format of documents in new generations. Format 1, which has no mark, is JSON text under `value` (decision 34).
 */
const FORMAT = 2;

const advanceOf = (generation: GenerationId, fence: number, checkpoint: Position | undefined) => {
  const order = checkpoint === undefined ? {} : { checkpoint: { $lte: checkpoint } };
  return {
    filter: { _id: generationId(generation), fence: { $lte: fence }, ...order },
    // The random id makes every update a change; an update without a change would not conflict with a raised fence.
    update: { $set: { fence, batch: randomUUID(), ...(checkpoint !== undefined && { checkpoint }) } },
  };
};

/** Abilities of the server, apart from transactions. */
export interface Abilities {
  /** The server expires documents. */
  readonly ttlIndexes: boolean;
  /** The server supports nested arrays. */
  readonly nestedArrays: boolean;
  /** Undefined if the server cannot index the fields. */
  readonly indexFields: IndexFields | undefined;
}

export function mongoGenerations(db: Db, abilities: Abilities) {
  const { ttlIndexes, nestedArrays, indexFields } = abilities;
  const generations = db.collection<Row>('meta_generations');
  const specs = db.collection<Row>('meta_collections');
  const opened = new Map<string, OpenCollection>();
  /** Whether all searched fields of a generation are indexed, by its id. */
  const indexed = new Map<string, boolean>();

  const rowsOf = (generation: GenerationId, name: string): Rows =>
    db.collection<Row>(`${generationId(generation)}.${name}`);

  async function createIndexes(rows: Rows, indexes: readonly IndexPlan[]): Promise<void> {
    // One command for each index: FerretDB 1.x panics on a command that names two existing indexes (its issue 3858),
    // and every process prepares each generation. The collection is empty the first time, so this is cheap.
    for (const plan of indexes) await rows.createIndex(indexKeys(plan), { name: plan.name });
    if (ttlIndexes) {
      await rows.createIndex({ gone_at: 1 }, { name: 'tombstones', expireAfterSeconds: TOMBSTONE_SECONDS });
    }
    await rows.deleteMany({ gone_at: { $lt: new Date(Date.now() - TOMBSTONE_SECONDS * 1000) } });
  }

  /** False if the server can index searched fields, but those of this generation are not indexed. */
  async function isIndexed(generation: string): Promise<boolean> {
    if (indexFields === undefined) return true;
    const known = indexed.get(generation);
    if (known !== undefined) return known;
    const prepared = await specs.find({ generation }).toArray();
    const found = prepared.every(
      (spec) => spec.fields === true || specOf(textIn(spec, 'indexes')).scopedBy === undefined,
    );
    // A generation that is just prepared may have no specifications yet.
    if (prepared.length > 0) indexed.set(generation, found);
    return found;
  }

  /** The progress of all generations, in order: one command, and one for each generation unknown to `isIndexed`. */
  async function progressOf(all: readonly GenerationId[]): Promise<(GenerationProgress | undefined)[]> {
    const ids = all.map(generationId);
    const byId = await rowsById(generations, ids);
    return Promise.all(
      ids.map(async (id) => {
        const row = byId.get(id);
        if (row === undefined) return undefined;
        const progress = storedProgress.parse(row);
        return { ...progress, isOutdated: progress.isOutdated || !(await isIndexed(id)) };
      }),
    );
  }

  return {
    async prepare(generation: GenerationId, collections: readonly CollectionSpec[]): Promise<void> {
      checkNames(generation.projection, generation.tag, collections);
      const _id = generationId(generation);
      const lease = leaseNameOf(generation);
      // An empty checkpoint sorts before every other, so the conditional update needs no special case.
      await insertOnce(generations, { _id, lease, checkpoint: '', fence: 0, format: FORMAT });
      for (const collection of collections) {
        const { name, indexes } = collection;
        const row = {
          _id: `${_id}.${name}`,
          generation: _id,
          collection: name,
          indexes: specText(collection),
          ...(collection.scopedBy !== undefined && indexFields !== undefined && { fields: true }),
        };
        const known = (await insertOnce(specs, row)) ? row : await specs.findOne({ _id: row._id });
        if (known !== null) checkSameSpec(textIn(known, 'indexes'), collection);
        const rows = rowsOf(generation, name);
        await createIndexes(rows, indexes.map(planIndex));
        // A collection that was filled without the index never gets it: its generation is outdated, and a new one
        // gets the index.
        if (known?.fields === true) await indexFields?.(rows);
      }
    },
    /** Undefined when the generation was never prepared, or was dropped. */
    async open(generation: GenerationId, name: string): Promise<OpenCollection | undefined> {
      const _id = `${generationId(generation)}.${name}`;
      const known = opened.get(_id);
      if (known !== undefined) return known;
      const spec = await specs.findOne({ _id });
      if (spec === null) return undefined;
      const { indexes, searchable } = specOf(textIn(spec, 'indexes'));
      const plans = indexes.map(planIndex);
      const collection = { rows: rowsOf(generation, name), indexes: plans, searchable, nestedArrays };
      opened.set(_id, collection);
      return collection;
    },
    /** Tags of all generations of a projection. */
    async tags(projection: string): Promise<string[]> {
      // `A` follows `@`, so this selects every id that begins with the projection's name and `@`.
      const rows = await generations
        .find({ _id: { $gt: `${projection}@`, $lt: `${projection}A` } })
        .toArray();
      return rows.map((row) => row._id.slice(projection.length + 1)).sort();
    },
    progress: async (generation: GenerationId): Promise<GenerationProgress | undefined> =>
      (await progressOf([generation]))[0],
    progressOf,
    /**
     * Stores the fence and, if given, the checkpoint. Writes the row in any case, so that the transaction conflicts
     * with a raised fence.
     * @throws {Fenced}
     */
    async advance(
      generation: GenerationId,
      fence: number,
      checkpoint: Position | undefined,
      session?: ClientSession,
    ): Promise<void> {
      const { filter, update } = advanceOf(generation, fence, checkpoint);
      const options = session === undefined ? {} : { session };
      const { matchedCount } = await generations.updateOne(filter, update, options);
      if (matchedCount === 0) throw new Fenced(`${generationId(generation)} was moved on by another holder`);
    },
    /** Advances several generations like `advance`, in one command. Returns false when any of them was refused. */
    async advanceAll(all: readonly CheckpointWrite[]): Promise<boolean> {
      const updates = all.map(({ generation, fence, checkpoint }) => ({
        updateOne: advanceOf(generation, fence, checkpoint),
      }));
      const { matchedCount } = await generations.bulkWrite(updates, { ordered: false });
      return matchedCount === all.length;
    },
    /** Stores the session of the holder's transactions. */
    async noteSession(generation: GenerationId, fence: number, id: Binary): Promise<void> {
      const _id = generationId(generation);
      await generations.updateOne({ _id, fence: { $lte: fence } }, { $set: { session: id } });
    },
    /** The session stored by a holder with a lower fence. */
    async sessionBefore(lease: string, fence: number): Promise<Binary | undefined> {
      const row = await generations.findOne({ lease, fence: { $lt: fence } });
      return row?.session instanceof Binary ? row.session : undefined;
    },
    async drop(generation: GenerationId): Promise<void> {
      const _id = generationId(generation);
      for (const spec of await specs.find({ generation: _id }).toArray()) {
        opened.delete(spec._id);
        await rowsOf(generation, textIn(spec, 'collection')).drop();
      }
      indexed.delete(_id);
      await specs.deleteMany({ generation: _id });
      await generations.deleteOne({ _id });
    },
  };
}

const storedProgress = z
  .object({
    checkpoint: z.custom<Position | ''>((value) => typeof value === 'string'),
    format: z.number().default(1),
  })
  .transform(({ checkpoint, format }) => ({ checkpoint, isOutdated: format < FORMAT }));
