import type { FieldType, OrderOperator, TextFunction } from './tree.ts';

/** A field in stored documents: `keys.<key>` for a field of the entity, `<key>` for a system field. */
export interface FilterField {
  readonly key: string;
  readonly type: FieldType;
  /** True for `id`, `state`, `created_at`, `updated_at`. */
  readonly system: boolean;
}

/** The value that a field's order key is compared with; `now` is the instant of the query. */
export type FilterValue = string | number | boolean | { readonly now: true };

/**
 * A checked filter as plain JSON: fields are resolved, values are order keys of their field's type (order-key.ts).
 * A filter is true or false, never unknown: a comparison with a missing value is false, and its `not` is true.
 */
export type Filter =
  | { readonly op: 'constant'; readonly value: boolean }
  | { readonly op: 'and' | 'or'; readonly of: readonly Filter[] }
  | { readonly op: 'not'; readonly of: Filter }
  | { readonly op: 'has'; readonly field: FilterField }
  | { readonly op: '==' | OrderOperator; readonly field: FilterField; readonly value: FilterValue }
  | { readonly op: 'in'; readonly field: FilterField; readonly values: readonly FilterValue[] }
  | { readonly op: TextFunction; readonly field: FilterField /** Not empty. */; readonly text: string };

/** Sort order of a list: one field, then id. A missing value sorts before (in `desc` order after) all other values. */
export interface SortField {
  readonly field: FilterField;
  readonly direction: 'asc' | 'desc';
}
