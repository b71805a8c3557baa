import type { FieldType, OrderOperator, TextFunction } from './tree.ts';

/** A field as stores find it: `keys.<key>` of the document for an entity's own, else the document's field itself. */
export interface FilterField {
  readonly key: string;
  readonly type: FieldType;
  /** True for `id`, `state`, `created_at`, `updated_at`. */
  readonly system: boolean;
}

/** The value that a field's order key is compared with; `now` stands for the query's instant. */
export type FilterValue = string | number | boolean | { readonly now: true };

/**
 * A checked filter: every field resolved, every value an order key of its field's type (order-key.ts). Plain JSON.
 * Two-valued: on a field without a value every comparison is false, and so `not` of it true.
 */
export type Filter =
  | { readonly op: 'constant'; readonly value: boolean }
  | { readonly op: 'and' | 'or'; readonly of: readonly Filter[] }
  | { readonly op: 'not'; readonly of: Filter }
  | { readonly op: 'has'; readonly field: FilterField }
  | { readonly op: '==' | OrderOperator; readonly field: FilterField; readonly value: FilterValue }
  | { readonly op: 'in'; readonly field: FilterField; readonly values: readonly FilterValue[] }
  | { readonly op: TextFunction; readonly field: FilterField /** Not empty. */; readonly text: string };

/** How a list is sorted: by one field, then by id. Without a value comes before every value. */
export interface SortField {
  readonly field: FilterField;
  readonly direction: 'asc' | 'desc';
}
