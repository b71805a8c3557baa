import type { Filter, FilterField } from '../../domain/expressions/filter-tree.ts';
import { keyOf } from '../../domain/expressions/matches.ts';
import type { OrderKey } from '../../domain/expressions/order-key.ts';
import { beginning, entryName, SHORTEST_CUT } from './field-entries.ts';

/** Index entries that cover every document of a filter; unless they are exact, the store checks each found document. */
type Access =
  | RangeAccess
  | { readonly kind: 'missing'; readonly field: string }
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  /** Alternatives: each covers all documents. */
  | { readonly kind: 'choice'; readonly of: readonly Access[] }
  /** Parts that together cover all documents. */
  | { readonly kind: 'union'; readonly of: readonly Access[] };

interface RangeAccess {
  readonly kind: 'range';
  readonly field: string;
  readonly spans: readonly Span[];
  /** Whether the entries match the whole filter exactly, provided no text of the field is truncated. */
  readonly isExact: boolean;
}

/** Values of a field between two bounds; excludes entries without a value. */
export interface Span {
  readonly low?: Bound | undefined;
  readonly high?: Bound | undefined;
}
interface Bound {
  readonly value: OrderKey;
  readonly inclusive: boolean;
  /** True when the bound was lowered to include truncated texts. */
  readonly isWider?: boolean;
}

export type Source = Extract<Access, { kind: 'range' | 'missing' | 'ids' }>;

/** Sources that together cover all documents of the filter, and the number of their entries. */
export interface Choice {
  readonly sources: readonly Source[];
  readonly entries: number;
}

/** Undefined when a scan is the only way. @param now ms since 1970 */
export function accessOf(filter: Filter, now: number): Access | undefined {
  switch (filter.op) {
    case 'constant':
      return filter.value ? undefined : { kind: 'union', of: [] };
    case 'and':
      return conjunction(filter.of, now);
    case 'or': {
      const of = filter.of.map((each) => accessOf(each, now));
      return of.every((each) => each !== undefined) ? { kind: 'union', of: of.map(inexact) } : undefined;
    }
    case 'not': {
      if (filter.of.op !== 'has') return undefined;
      const field = entryName(filter.of.field);
      return field === undefined ? undefined : { kind: 'missing', field };
    }
    case 'has':
      return rangeOf(filter.field, [{}]);
    case '==':
      return rangeOf(filter.field, [pointAt(keyOf(filter.value, now))]);
    case 'in':
      return rangeOf(
        filter.field,
        [...new Set(filter.values.map((value) => keyOf(value, now)))].map(pointAt),
      );
    case '<':
    case '<=':
      return rangeOf(filter.field, [
        { high: { value: keyOf(filter.value, now), inclusive: filter.op === '<=' } },
      ]);
    case '>':
    case '>=':
      return rangeOf(filter.field, [{ low: lowAt(keyOf(filter.value, now), filter.op === '>=') }]);
    case 'startsWith':
      return rangeOf(filter.field, [prefixed(filter.text)]);
    case 'contains':
    case 'endsWith':
      return undefined;
    default:
      return filter satisfies never;
  }
}

function rangeOf(field: FilterField, spans: readonly Span[]): Access | undefined {
  const name = entryName(field);
  const isExact = spans.every(({ low }) => low?.isWider !== true);
  if (name !== undefined) return { kind: 'range', field: name, spans, isExact };
  const isPoints = spans.every(({ low, high }) => low?.value === high?.value);
  const ids = spans.map(({ high }) => high?.value);
  return isPoints && ids.every((id) => typeof id === 'string') ? { kind: 'ids', ids } : undefined;
}

/** Bounds of one field become one range, so that `a < f && f < b` reads no more than the documents in between. */
function conjunction(parts: readonly Filter[], now: number): Access | undefined {
  const of = flat(parts).map((part) => accessOf(part, now));
  const given = of.filter((each) => each !== undefined);
  const bounds = new Map<string, RangeAccess>();
  const others: Access[] = [];
  for (const each of given) {
    const known = each.kind === 'range' ? bounds.get(each.field) : undefined;
    const both = each.kind === 'range' && known !== undefined ? intersection(known, each) : undefined;
    if (both !== undefined) bounds.set(both.field, both);
    else if (each.kind === 'range' && known === undefined) bounds.set(each.field, each);
    else others.push(each);
  }
  const all = [...bounds.values(), ...others];
  const [only] = all;
  if (only === undefined) return undefined;
  if (all.length === 1 && of.length === given.length) return only;
  return all.length === 1 ? inexact(only) : { kind: 'choice', of: all.map(inexact) };
}

const flat = (parts: readonly Filter[]): Filter[] =>
  parts.flatMap((part) => (part.op === 'and' ? flat(part.of) : [part]));

const inexact = (access: Access): Access =>
  access.kind === 'range' && access.isExact ? { ...access, isExact: false } : access;

function intersection(a: RangeAccess, b: RangeAccess): RangeAccess | undefined {
  const [one, other] = [a.spans[0], b.spans[0]];
  if (a.spans.length !== 1 || b.spans.length !== 1 || one === undefined || other === undefined)
    return undefined;
  // Two parts that bound the same side are not merged; the store checks the documents that one of them selects.
  if ((one.low && other.low) || (one.high && other.high)) return undefined;
  const spans = [{ low: one.low ?? other.low, high: one.high ?? other.high }];
  return { ...a, spans, isExact: a.isExact && b.isExact };
}

/**
 * Entries hold truncated texts, which sort at or before the full text. A high bound stays as given; a low bound that
 * reaches the truncation length is shortened to it.
 */
function lowAt(value: OrderKey, inclusive: boolean): Bound {
  if (typeof value !== 'string' || value.length < SHORTEST_CUT) return { value, inclusive };
  return { value: beginning(value, SHORTEST_CUT), inclusive: true, isWider: true };
}

const pointAt = (value: OrderKey): Span => ({
  low: lowAt(value, true),
  high: { value, inclusive: true },
});

function prefixed(text: string): Span {
  const low = lowAt(text, true);
  const end = successor(text);
  return end === undefined ? { low } : { low, high: { value: end, inclusive: false } };
}

/** The lowest text above all texts with the prefix `text`; undefined when there is none. */
function successor(text: string): string | undefined {
  const points = [...text];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const code = last.codePointAt(0) ?? 0;
    // Skips the surrogates, which are no characters.
    if (code < 0x10ffff) return points.join('') + String.fromCodePoint(code === 0xd7ff ? 0xe000 : code + 1);
  }
  return undefined;
}

/** The sources with the fewest entries; undefined when all have `most` or more. */
export function choose(
  access: Access,
  most: number,
  count: (source: Source, most: number) => number | undefined,
): Choice | undefined {
  switch (access.kind) {
    case 'choice': {
      let best: Choice | undefined;
      for (const each of access.of) best = choose(each, best?.entries ?? most, count) ?? best;
      return best;
    }
    case 'union': {
      const sources: Source[] = [];
      let entries = 0;
      for (const each of access.of) {
        const part = choose(each, most - entries, count);
        if (part === undefined) return undefined;
        sources.push(...part.sources);
        entries += part.entries;
      }
      return { sources, entries };
    }
    case 'range':
    case 'missing':
    case 'ids': {
      const entries = count(access, most);
      return entries === undefined || entries >= most ? undefined : { sources: [access], entries };
    }
    default:
      return access satisfies never;
  }
}
