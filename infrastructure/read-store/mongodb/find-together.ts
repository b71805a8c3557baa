import type { ClientSession } from 'mongodb';
import type {
  Cursor,
  FindQuery,
  FindResult,
  GenerationId,
  JsonObject,
  RangeQuery,
} from '../../../application/ports/read-store.ts';
import { planNamed } from '../index-keys.ts';
import { findPage } from './find.ts';
import type { Generations } from './generations.ts';
import type { Transactions } from './transactions.ts';

/** On a server without transactions: maximum number of tries to read all ranges while no commit ends. */
const QUIET_TRIES = 5;
const PAGE = 1000;

/**
 * All documents of each range, from one snapshot. A server without transactions may show a part of a commit: the ranges
 * are read again only when a commit ended meanwhile, and the last try is returned even then.
 */
export async function findTogether(
  generations: Generations,
  transactions: Transactions | undefined,
  generation: GenerationId,
  queries: readonly RangeQuery[],
): Promise<JsonObject[][]> {
  const everythingOf = async (query: RangeQuery, session?: ClientSession) => {
    const all: JsonObject[] = [];
    let after: Cursor | undefined;
    do {
      const page = await findIn(generations, generation, { ...query, limit: PAGE, after }, session);
      for (const { value } of page.docs) all.push(value);
      after = page.next;
    } while (after !== undefined);
    return all;
  };
  // In sequence, since a session allows one call at a time.
  if (transactions !== undefined)
    return transactions.run((session) => Array.fromAsync(queries, (query) => everythingOf(query, session)));
  const checkpoint = async () => (await generations.progress(generation))?.checkpoint;
  for (let left = QUIET_TRIES; ; left -= 1) {
    const before = await checkpoint();
    const found = await Promise.all(queries.map((query) => everythingOf(query)));
    if (left <= 1 || (await checkpoint()) === before) return found;
  }
}

export async function findIn(
  generations: Generations,
  generation: GenerationId,
  query: FindQuery,
  session?: ClientSession,
): Promise<FindResult> {
  const collection = await generations.open(generation, query.collection);
  if (collection === undefined) return { docs: [] };
  return findPage(collection.rows, planNamed(collection.indexes, query).plan, query, session);
}
