import { setTimeout as delay } from 'node:timers/promises';
import {
  type Collection,
  type Filter,
  type FindOptions,
  MongoBulkWriteError,
  MongoServerError,
} from 'mongodb';
import { z } from 'zod';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { failureOf } from './failures.ts';

/** Time limit (ms) of one {@link call}, retries included. */
const DEADLINE_MS = 10_000;
/** Time to look for a primary; a replica set elects one in a few seconds. */
const SELECTION_MS = 5_000;

export const CLIENT_OPTIONS = {
  serverSelectionTimeoutMS: SELECTION_MS,
  connectTimeoutMS: SELECTION_MS,
  socketTimeoutMS: DEADLINE_MS,
  writeConcern: { w: 'majority' },
  ignoreUndefined: true,
} as const;

/** Stored documents are read as unknown fields and narrowed. */
export type Row = { _id: string; [field: string]: unknown };
export type Rows = Collection<Row>;

/**
 * Retries an idempotent operation after transient errors, under one deadline for all attempts: the driver's timeouts
 * bound each attempt alone.
 * @throws {StoreUnavailable} and the operation's other errors
 */
export async function call<T>(operation: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  using _timer = setTimeout(
    () => late.reject(new StoreUnavailable('MongoDB did not answer in time')),
    DEADLINE_MS,
  );
  return await Promise.race([retrying(operation, Date.now() + DEADLINE_MS), late.promise]);
}

async function retrying<T>(operation: () => Promise<T>, until: number): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await operation();
    } catch (error) {
      const failure = failureOf(error);
      if (failure === 'gone') throw new StoreUnavailable('MongoDB cannot be reached', { cause: error });
      if (failure === 'final') throw error;
      const pause = Math.min(1_000, 20 * 2 ** attempt) * (0.5 + Math.random());
      if (Date.now() + pause > until) throw new StoreUnavailable('MongoDB keeps failing', { cause: error });
      await delay(pause);
    }
  }
}

/**
 * BadValue, FailedToParse, TypeMismatch, CommandNotSupported and NotImplemented: the server lacks a feature.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([2, 9, 14, 115, 238]);

export function isRefusal(error: unknown): boolean {
  return error instanceof MongoServerError && REFUSALS.has(error.code);
}

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === 11000;
}

/** Inserts a document; returns false if its `_id` exists. */
export async function insertOnce(rows: Rows, row: Row): Promise<boolean> {
  try {
    await rows.insertOne(row);
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/** The rows of a bulk insert that failed because of a duplicate `_id`; throws any other failure. */
export function duplicatesOf(error: unknown, rows: readonly Row[]): Row[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const failures = [error.writeErrors].flat();
  // Without failures of single rows the connection was lost, and any row may be missing.
  const foreign = failures.some((failure) => failure.code !== 11000) || failures.length === 0;
  if (foreign || error.result.getWriteConcernError() !== undefined) throw error;
  return failures.flatMap((failure) => rows[failure.index] ?? []);
}

/** Matches a single id by equality: FerretDB 1.x indexes only that, and scans the collection for `$in`. */
export function whereId(ids: readonly string[]): Filter<Row> {
  const [only] = ids;
  return ids.length === 1 && only !== undefined ? { _id: only } : { _id: { $in: [...ids] } };
}

/** The rows with some ids, by id. */
export async function rowsById(
  rows: Rows,
  ids: readonly string[],
  options: FindOptions = {},
): Promise<ReadonlyMap<string, Row>> {
  if (ids.length === 0) return new Map();
  const found = await rows.find(whereId(ids), options).toArray();
  return new Map(found.map((row) => [row._id, row]));
}

export function textIn(row: Row, field: string): string {
  const value = row[field];
  if (typeof value !== 'string') throw new TypeError(`field ${field} holds no text`);
  return value;
}

export function optionalTextIn(row: Row | null, field: string): string | undefined {
  return row === null || row[field] === null || row[field] === undefined ? undefined : textIn(row, field);
}

export function textsIn(row: Row, field: string): string[] {
  return z.array(z.string()).parse(row[field]);
}

export function numberIn(row: Row, field: string): number {
  const value = row[field];
  if (typeof value !== 'number') throw new TypeError(`field ${field} holds no number`);
  return value;
}
