import { compareKeys, hasText, satisfies } from './compare.ts';
import type { Filter, FilterField, FilterValue } from './filter-tree.ts';
import { type OrderKey, orderKey, ownValue } from './order-key.ts';
import { instantKey } from './times.ts';

/** The record that a filter is matched against, as the API shows it. */
export interface FilteredRecord {
  readonly id: string;
  readonly state: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Whether a filter selects a record; gives the same result as the read stores. @param now ms */
export const matches = (filter: Filter, record: FilteredRecord, now: number): boolean =>
  selects(filter, (field) => keyIn(record, field), now);

/** Like {@link matches}, for anything that has order keys. */
export function selects(
  filter: Filter,
  keyIn: (field: FilterField) => OrderKey | undefined,
  now: number,
): boolean {
  switch (filter.op) {
    case 'constant':
      return filter.value;
    case 'and':
      return filter.of.every((each) => selects(each, keyIn, now));
    case 'or':
      return filter.of.some((each) => selects(each, keyIn, now));
    case 'not':
      return !selects(filter.of, keyIn, now);
    case 'has':
      return keyIn(filter.field) !== undefined;
    default: {
      const key = keyIn(filter.field);
      return key !== undefined && leafMatches(filter, key, now);
    }
  }
}

type Leaf = Extract<Filter, { field: FilterField }>;

function leafMatches(leaf: Exclude<Leaf, { op: 'has' }>, key: OrderKey, now: number): boolean {
  switch (leaf.op) {
    case '==':
      return key === keyOf(leaf.value, now);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return satisfies(compareKeys(key, keyOf(leaf.value, now)), leaf.op);
    case 'in':
      return leaf.values.some((value) => key === keyOf(value, now));
    case 'contains':
    case 'startsWith':
    case 'endsWith':
      return hasText(String(key), leaf.op, leaf.text);
    default:
      return leaf satisfies never;
  }
}

function keyIn(record: FilteredRecord, field: FilterField): OrderKey | undefined {
  return orderKey(field.type, ownValue(field.system ? record : record.values, field.key));
}

/** The order key of a filter's value. @param now ms */
export const keyOf = (value: FilterValue, now: number): OrderKey =>
  typeof value === 'object' ? instantKey(now) : value;
