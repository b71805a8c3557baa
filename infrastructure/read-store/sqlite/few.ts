import type { FindResult, SearchQuery } from '../../../application/ports/read-store.ts';
import { allCells, inCells } from '../../sqlite/cells.ts';
import { LIMIT_CLAUSE } from '../../sqlite/connection.ts';
import { accessOf } from '../field-access.ts';
import type { IndexPlan } from '../index-keys.ts';
import { searchedIndex } from '../searched.ts';
import { bound } from './filter-sql.ts';
import { type PlanLimits, scopeOf } from './plan.ts';
import { pageOf, QUICK_BYTES } from './quick.ts';
import { searchedRange } from './slices.ts';
import type { TableShape, Tables } from './tables.ts';

/** Maximum of entries of one value that are read without a plan. */
const MAX_UNPLANNED_ENTRIES = 4;

/** The statement's text for each index; it is long, so it is made once. */
const texts = new WeakMap<IndexPlan, string>();

/**
 * The page of a filter by one value that few documents have, such as a unique one; undefined for any other search.
 * One statement reads the page, so no snapshot is needed.
 */
export function fewPage(
  tables: Tables,
  query: SearchQuery,
  { quick, without }: PlanLimits,
): FindResult | undefined {
  const { filter, tenant, now, explain } = query;
  const isPlanned =
    explain || quick < MAX_UNPLANNED_ENTRIES || without?.includes('lookup') || !tables.namesRows;
  if (isPlanned || filter?.op !== '==') return undefined;
  const access = accessOf(filter, now);
  const scope = scopeOf(tables, query);
  if (access?.kind !== 'range' || scope === undefined) return undefined;
  const [{ low, high } = {}] = access.spans;
  if (low === undefined || high === undefined) return undefined;
  const { plan, at } = searchedIndex(tables, query);
  const text = texts.get(plan) ?? fewSql(tables, at);
  texts.set(plan, text);
  const keys = searchedRange(plan, query);
  const rows = allCells(inCells(tables.connection.prepare(text)), [
    QUICK_BYTES / MAX_UNPLANNED_ENTRIES,
    tenant,
    scope,
    access.field,
    bound(low.value),
    bound(high.value),
    tenant,
    keys.low,
    keys.high,
    MAX_UNPLANNED_ENTRIES + 1,
  ]);
  return rows.length > MAX_UNPLANNED_ENTRIES ? undefined : pageOf(tables, query, rows);
}

function fewSql({ number }: TableShape, at: number): string {
  return `SELECT id, iif(octet_length(doc) <= ?, doc, NULL), k${at} FROM (
      SELECT row AS place FROM f${number} WHERE
      field = (SELECT number FROM g${number} WHERE tenant = ? AND scope = ? AND field = ?) AND value >= ? AND value <= ?
    ) CROSS JOIN d${number} WHERE row = place AND tenant = ? AND k${at} > ? AND k${at} < ? ${LIMIT_CLAUSE}`;
}
