import type { Db } from 'mongodb';
import { z } from 'zod';
import type { Position } from '../../../application/ports/event-store.ts';
import {
  type CollectionSpec,
  Fenced,
  type GenerationId,
  leaseNameOf,
} from '../../../application/ports/read-store.ts';
import { insertOnce, type Row, type Rows, textIn } from '../../mongodb/calls.ts';
import { type IndexPlan, planIndex } from '../index-keys.ts';
import { checkNames, checkSameSpec, specOf, specText } from '../stored-values.ts';
import { indexKeys, TOMBSTONE_SECONDS } from './documents.ts';

export const generationId = ({ projection, tag }: GenerationId): string => `${projection}@${tag}`;

/** A collection of a generation, with its indexes parsed. */
export interface OpenCollection {
  readonly rows: Rows;
  readonly indexes: readonly IndexPlan[];
  readonly searchable: boolean;
}

export interface Generations {
  prepare(generation: GenerationId, collections: readonly CollectionSpec[]): Promise<void>;
  /** Undefined when the generation is not there (never prepared, or dropped). */
  open(generation: GenerationId, collection: string): Promise<OpenCollection | undefined>;
  checkpoint(generation: GenerationId): Promise<Position | undefined | ''>;
  advance(generation: GenerationId, fence: number, checkpoint: Position): Promise<void>;
  drop(generation: GenerationId): Promise<void>;
}

/** @param ttlIndexes whether the server expires documents by itself */
export function mongoGenerations(db: Db, ttlIndexes: boolean): Generations {
  const generations = db.collection<Row>('meta_generations');
  const specs = db.collection<Row>('meta_collections');
  const opened = new Map<string, OpenCollection>();

  const rowsOf = (generation: GenerationId, name: string): Rows =>
    db.collection<Row>(`${generationId(generation)}.${name}`);

  async function createIndexes(rows: Rows, indexes: readonly IndexPlan[]): Promise<void> {
    // One command each: FerretDB 1.x panics and hangs up on a command that names two indexes it already has
    // (its issue 3858), and a generation is prepared by every process. The collection is empty the first time.
    for (const plan of indexes) await rows.createIndex(indexKeys(plan), { name: plan.name });
    if (ttlIndexes) {
      await rows.createIndex({ gone_at: 1 }, { name: 'tombstones', expireAfterSeconds: TOMBSTONE_SECONDS });
    }
    await rows.deleteMany({ gone_at: { $lt: new Date(Date.now() - TOMBSTONE_SECONDS * 1000) } });
  }

  return {
    async prepare(generation, collections) {
      checkNames(generation.projection, generation.tag, collections);
      const _id = generationId(generation);
      const lease = leaseNameOf(generation);
      // An empty checkpoint is before every other, which saves a case in the conditional update.
      await insertOnce(generations, { _id, lease, checkpoint: '', fence: 0 });
      for (const collection of collections) {
        const { name, indexes } = collection;
        const row = {
          _id: `${_id}.${name}`,
          generation: _id,
          collection: name,
          indexes: specText(collection),
        };
        if (!(await insertOnce(specs, row))) {
          const known = await specs.findOne({ _id: row._id });
          if (known !== null) checkSameSpec(textIn(known, 'indexes'), collection);
        }
        await createIndexes(rowsOf(generation, name), indexes.map(planIndex));
      }
    },
    async open(generation, name) {
      const _id = `${generationId(generation)}.${name}`;
      const known = opened.get(_id);
      if (known !== undefined) return known;
      const spec = await specs.findOne({ _id });
      if (spec === null) return undefined;
      const { indexes, searchable } = specOf(textIn(spec, 'indexes'));
      const collection = { rows: rowsOf(generation, name), indexes: indexes.map(planIndex), searchable };
      opened.set(_id, collection);
      return collection;
    },
    async checkpoint(generation) {
      const row = await generations.findOne({ _id: generationId(generation) });
      return row === null ? undefined : storedCheckpoint.parse(row.checkpoint);
    },
    async advance(generation, fence, checkpoint) {
      const { matchedCount } = await generations.updateOne(
        { _id: generationId(generation), checkpoint: { $lte: checkpoint }, fence: { $lte: fence } },
        { $set: { checkpoint, fence } },
      );
      if (matchedCount === 0) throw new Fenced(`${generationId(generation)} was moved on by another holder`);
    },
    async drop(generation) {
      const _id = generationId(generation);
      for (const spec of await specs.find({ generation: _id }).toArray()) {
        opened.delete(spec._id);
        await rowsOf(generation, textIn(spec, 'collection')).drop();
      }
      await specs.deleteMany({ generation: _id });
      await generations.deleteOne({ _id });
    },
  };
}

const storedCheckpoint = z.custom<Position | ''>((value) => typeof value === 'string');
