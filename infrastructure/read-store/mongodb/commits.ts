import type { ClientSession } from 'mongodb';
import {
  type BatchWrite,
  type DocWrite,
  Fenced,
  type GenerationId,
  leaseNameOf,
} from '../../../application/ports/read-store.ts';
import { type Row, type Rows, rowsById, textIn } from '../../mongodb/calls.ts';
import { lastWrites, toRow, writeRows } from './documents.ts';
import type { Generations } from './generations.ts';
import type { Leases } from './leases.ts';
import { checkFence } from './progress.ts';
import type { TransactionSession, Transactions } from './transactions.ts';

/** Stores a batch of documents with its checkpoint. */
type Commit = (batch: BatchWrite) => Promise<void>;

interface CommitDeps {
  readonly generations: Generations;
  readonly leases: Leases;
  /** For tests: awaited between the documents and the checkpoint. */
  readonly beforeCheckpoint: () => Promise<void>;
}

/** Writes of a batch to one collection. */
export interface RowsOfBatch<Collection> {
  readonly collection: Collection;
  readonly all: readonly Row[];
}

/** The transaction's operations that a batch needs. */
export interface BatchTransaction<Collection> {
  /** Positions of the stored rows, by id. */
  positions(collection: Collection, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  replace(collection: Collection, rows: readonly Row[]): Promise<void>;
  /** @throws {Fenced} */
  advance(): Promise<void>;
}

/**
 * Stores documents, checkpoint and fence in one transaction. Each batch and each change of the lease's holder write the
 * generation's row, which has the fence: the later write sees the earlier one, or fails with a write conflict and is
 * repeated.
 */
export function transactionalCommits(deps: CommitDeps, transactions: Transactions): Commit {
  const { generations, leases, beforeCheckpoint } = deps;
  const inSession = holderSessions(generations, transactions);
  return async (batch) => {
    const { generation, fence, checkpoint } = batch;
    await checkFence(leases, leaseNameOf(generation), fence);
    const rows = await rowsOf(generations, batch);
    if (rows.length === 0) {
      if (checkpoint !== undefined) await generations.advance(generation, fence, checkpoint);
      return;
    }
    await inSession(generation, fence, (session) =>
      writeBatch<Rows>(rows, beforeCheckpoint, {
        positions: async (collection, ids) => {
          const found = await rowsById(collection, ids, { session, projection: { position: 1 } });
          return new Map([...found].map(([id, row]) => [id, textIn(row, 'position')]));
        },
        replace: async (collection, all) => {
          const operations = all.map(({ _id, ...replacement }) => ({
            replaceOne: { filter: { _id }, replacement, upsert: true },
          }));
          await collection.bulkWrite(operations, { session, ordered: false });
        },
        advance: () => generations.advance(generation, fence, checkpoint, session),
      }),
    );
  };
}

/**
 * One session per generation for its batches. The generation's row names the session before its first transaction, so
 * that the next holder of the lease can end the open transaction of a crashed process.
 */
function holderSessions(generations: Generations, transactions: Transactions) {
  const idle = new Map<string, { readonly session: TransactionSession; readonly fence: number }>();
  return async (
    generation: GenerationId,
    fence: number,
    work: (session: ClientSession) => Promise<void>,
  ): Promise<void> => {
    const key = leaseNameOf(generation);
    const known = idle.get(key);
    // A call that timed out may still run in its session, so no other call uses that session.
    idle.delete(key);
    const session = known?.session ?? transactions.open();
    try {
      if (known?.fence !== fence) await generations.noteSession(generation, fence, session.id);
      await session.run(work);
    } catch (error) {
      await session.end();
      throw error;
    }
    if (idle.has(key)) await session.end();
    else idle.set(key, { session, fence });
  };
}

/** Writes each row that is newer than the stored one, then the checkpoint. */
export async function writeBatch<Collection>(
  rows: readonly RowsOfBatch<Collection>[],
  beforeCheckpoint: () => Promise<void>,
  transaction: BatchTransaction<Collection>,
): Promise<void> {
  for (const { collection, all } of rows) {
    const stored = await transaction.positions(
      collection,
      all.map(({ _id }) => _id),
    );
    const newer = all.filter((row) => (stored.get(row._id) ?? '') < textIn(row, 'position'));
    if (newer.length > 0) await transaction.replace(collection, newer);
  }
  await beforeCheckpoint();
  await transaction.advance();
}

/**
 * For servers without transactions: writes documents, then the checkpoint, each only over an older version.
 * @param oneByOne as in {@link writeRows}
 */
export function orderedCommits(deps: CommitDeps, oneByOne: boolean): Commit {
  const { generations, leases, beforeCheckpoint } = deps;
  return async (batch) => {
    const { generation, fence, checkpoint } = batch;
    await Promise.all([
      checkFence(leases, leaseNameOf(generation), fence),
      // Without documents, the conditional update of the checkpoint is a sufficient check.
      batch.writes.length === 0 ? undefined : checkOrder(generations, batch),
    ]);
    const rows = await rowsOf(generations, batch);
    for (const { collection, all } of rows) await writeRows(collection, all, oneByOne);
    await beforeCheckpoint();
    if (checkpoint !== undefined) await generations.advance(generation, fence, checkpoint);
  };
}

/** Checks the order before any document is written; the checkpoint's update checks it again. @throws {Fenced} */
async function checkOrder(generations: Generations, { generation, checkpoint }: BatchWrite): Promise<void> {
  if (checkpoint === undefined) return;
  const stored = (await generations.progress(generation))?.checkpoint;
  if (stored === undefined || stored > checkpoint) {
    throw new Fenced(
      `the checkpoint of ${leaseNameOf(generation)} is ${stored ?? 'gone'}, not before ${checkpoint}`,
    );
  }
}

/** Builds all rows before the first write, so that a document that cannot be indexed stops the whole batch. */
function rowsOf(generations: Generations, batch: BatchWrite): Promise<RowsOfBatch<Rows>[]> {
  const collections = Map.groupBy(lastWrites(batch.writes), (write: DocWrite) => write.collection);
  const work = [...collections].map(async ([name, writes]) => {
    const opened = await generations.open(batch.generation, name);
    if (opened === undefined) throw new Error(`collection ${name} of the batch is not prepared`);
    return { collection: opened.rows, all: writes.map((write) => toRow(write, batch.fence, opened)) };
  });
  return Promise.all(work);
}
