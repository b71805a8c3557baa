import type { SearchQuery } from '../../../application/ports/read-store.ts';
import { accessOf, type Choice, choose, type Source, type Span } from '../field-access.ts';
import { entryName } from '../field-entries.ts';
import { searchedIndex } from '../searched.ts';
import { documentsOf, type KnownFields, knownFields } from './field-index.ts';
import { type CountEntries, entriesIn, missingIn, PRESENT_END, type Segment, segmentOf } from './segments.ts';
import type { Tables } from './tables.ts';

/** Chooses how a search reads its rows, by counts of entries in the index over fields. */

export type Plan =
  /** Reads the range of the query's index in slices. */
  | { readonly kind: 'scan'; readonly of: number | undefined }
  /** Reads the documents of some entries, then sorts. */
  | {
      readonly kind: 'lookup';
      readonly fields: readonly string[];
      readonly segments: readonly Segment[];
      readonly entries: number;
      /** Whether the entries are exactly the documents that match the filter. */
      readonly isExact: boolean;
      /** Whether no document has two of the entries. */
      readonly isDistinct: boolean;
      readonly of: number;
    }
  /** Reads entries in the order of the list. */
  | {
      readonly kind: 'order';
      readonly field: string;
      readonly segments: readonly Segment[];
      /** Whether the entries are exactly the documents that match the filter. */
      readonly isExact: boolean;
      readonly of: number;
    };

export type PlanOf<Kind extends Plan['kind']> = Extract<Plan, { kind: Kind }>;

/** Bounds of planning. */
export interface PlanLimits {
  /** Maximum of entries that are counted for one choice. */
  readonly counted: number;
  /** Maximum of entries that are counted in one tick. */
  readonly countedAtOnce: number;
  /** Entries or documents that a search may read without a slot. */
  readonly quick: number;
  /** For tests: kinds of plans that are not chosen. */
  readonly without?: readonly Plan['kind'][] | undefined;
}

/** Documents that are read and sorted without a comparison of costs. */
const CHEAP_ENTRIES = 1_000;
/** Ids that are held in memory to count each document once. */
const MANY = 20_000;
/** Factor by which a scan may need more rows than expected, when the filter has further conditions. */
const DOUBT = 8;

/** The plan of a search that the index over fields does not serve. */
export const SCAN: Plan = { kind: 'scan', of: undefined };

/** @param count may count in steps, see `entry-counts.ts` */
export function planOf(
  tables: Tables,
  query: SearchQuery,
  limits: PlanLimits,
  count: CountEntries = entriesIn,
): Plan {
  const fields = fieldsOf(tables, query);
  if (fields === undefined) return SCAN;
  const of = documentsOf(fields);
  const isAllowed = (kind: Plan['kind']): boolean => limits.without?.includes(kind) !== true;
  const order = orderOf(query, fields, of);
  if (order?.isExact && isAllowed('order')) return order;
  const isOrdered = query.sort === undefined || order !== undefined;
  // A scan in the order of the list costs less than a lookup of more entries than these: see `ordered`.
  const most = Math.ceil(Math.max(CHEAP_ENTRIES, Math.sqrt(DOUBT * (query.limit + 1) * of))) + 1;
  const counted = isOrdered && isAllowed('scan') ? Math.min(limits.counted, most) : limits.counted;
  const choice = isAllowed('lookup') ? choiceOf(tables, query, fields, counted, count) : undefined;
  if (choice !== undefined) {
    const lookup = lookupOf(choice, fields, of);
    const rows = ((query.limit + 1) * of) / Math.max(1, choice.entries);
    const ordered = isOrdered ? Math.min(of, lookup.isExact ? rows : DOUBT * rows) : of;
    if (choice.entries <= Math.max(CHEAP_ENTRIES, ordered) || !isAllowed('scan')) return lookup;
  }
  return order !== undefined && isAllowed('order') ? order : { kind: 'scan', of };
}

/** The plan of a count: a lookup of entries, or a scan if the lookup would not be clearly faster. */
export function countPlanOf(
  tables: Tables,
  query: SearchQuery,
  limits: PlanLimits,
  count: CountEntries = entriesIn,
): Plan {
  const fields = fieldsOf(tables, query);
  if (fields === undefined || limits.without?.includes('lookup') === true) return SCAN;
  const of = documentsOf(fields);
  if (query.filter === undefined) {
    return { kind: 'lookup', fields: [], segments: [], entries: of, isExact: true, isDistinct: true, of };
  }
  const choice = choiceOf(tables, query, fields, limits.counted, count);
  if (choice === undefined) return { kind: 'scan', of };
  const lookup = lookupOf(choice, fields, of);
  // Several sources may return the same document; duplicates are removed in memory.
  const isCheap =
    lookup.isExact || choice.entries <= (lookup.isDistinct ? Math.max(CHEAP_ENTRIES, of / 2) : MANY);
  return isCheap ? lookup : { kind: 'scan', of };
}

function fieldsOf(tables: Tables, query: SearchQuery): KnownFields | undefined {
  const scope = scopeOf(tables, query);
  return scope === undefined ? undefined : knownFields(tables, query.tenant, scope);
}

/** The scope of the index over fields that a search is in; undefined for searches that cannot use that index. */
export function scopeOf(tables: Tables, query: SearchQuery): string | undefined {
  const { plan } = searchedIndex(tables, query);
  const [scope, ...others] = query.equals ?? [];
  const isScoped = tables.scopedBy !== undefined && plan.paths[0]?.join('.') === tables.scopedBy;
  return isScoped && typeof scope === 'string' && others.length === 0 ? scope : undefined;
}

/**
 * The plan that reads entries in the order of a sorted list; undefined unless every document has an entry with its
 * whole value. If the filter is one range of the sort's field, the plan has only the entries in that range.
 */
function orderOf(
  { sort, filter, now }: SearchQuery,
  fields: KnownFields,
  of: number,
): PlanOf<'order'> | undefined {
  const name = sort === undefined ? undefined : entryName(sort.field);
  const field = name === undefined ? undefined : fields.get(name);
  if (name === undefined || field === undefined || field.cut > 0 || field.entries !== of) return undefined;
  const access = filter === undefined ? undefined : accessOf(filter, now);
  if (access?.kind === 'range' && access.isExact && access.field === name) {
    const [span, ...others] = access.spans;
    if (span !== undefined && others.length === 0) {
      return { kind: 'order', field: name, segments: [segmentOf(field.number, span)], isExact: true, of };
    }
  }
  const segments = [missingIn(field), { field: field.number, high: PRESENT_END }];
  return {
    kind: 'order',
    field: name,
    segments: sort?.direction === 'desc' ? segments.toReversed() : segments,
    isExact: filter === undefined,
    of,
  };
}

function choiceOf(
  tables: Tables,
  { filter, now }: SearchQuery,
  fields: KnownFields,
  counted: number,
  count: CountEntries,
): Choice | undefined {
  const access = filter === undefined ? undefined : accessOf(filter, now);
  if (access === undefined) return undefined;
  return choose(access, counted, (source, most) => {
    const segments = segmentsOf(source, fields, documentsOf(fields));
    let entries = 0;
    for (const segment of segments ?? []) {
      entries += count(tables, segment, most - entries);
      if (entries >= most) return undefined;
    }
    return segments === undefined ? undefined : entries;
  });
}

/** Undefined when not all documents of a source have entries. */
function segmentsOf(source: Source, fields: KnownFields, of: number): readonly Segment[] | undefined {
  if (source.kind === 'ids') return [source];
  const field = fields.get(source.field);
  if (source.kind === 'missing') return field?.entries === of ? [missingIn(field)] : undefined;
  // No document has a value of a field without entries.
  if (field === undefined) return [];
  return source.spans.map((span) => segmentOf(field.number, span));
}

function lookupOf({ sources, entries }: Choice, fields: KnownFields, of: number): PlanOf<'lookup'> {
  const [only, ...others] = sources;
  const isExact =
    only?.kind === 'range' && others.length === 0 && only.isExact && (fields.get(only.field)?.cut ?? 0) === 0;
  return {
    kind: 'lookup',
    fields: [...new Set(sources.map((source) => (source.kind === 'ids' ? 'id' : source.field)))],
    segments: sources.flatMap((source) => segmentsOf(source, fields, of) ?? []),
    entries,
    isExact,
    isDistinct: others.length === 0 && !(only?.kind === 'range' && mayOverlap(only.spans)),
    of,
  };
}

/** Spans of texts that differ only after the truncation have the same lower bound. */
const mayOverlap = (spans: readonly Span[]): boolean =>
  spans.length > 1 && spans.some(({ low }) => low?.isWider);

/** A plan as text for developers. */
export function explained(plan: Plan): string {
  switch (plan.kind) {
    case 'scan':
      return plan.of === undefined ? 'scan' : `scan of=${plan.of}`;
    case 'lookup':
      return `lookup fields=${plan.fields.join(',')} entries=${plan.entries} of=${plan.of}`;
    case 'order':
      return `order field=${plan.field} of=${plan.of}`;
    default:
      return plan satisfies never;
  }
}
