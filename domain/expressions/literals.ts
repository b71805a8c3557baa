import { decimalKey } from './decimal.ts';
import type { OrderKey } from './order-key.ts';
import { instantKey, isDate } from './times.ts';
import type { Constant, FieldSpec, FieldType } from './tree.ts';

/** The order key of a literal for a field's type, or why it cannot be compared. */
type KeyOfLiteral = { readonly key: OrderKey | null | { readonly now: true } } | { readonly problem: string };

/** The literals that each type compares with, as named in error messages. */
const WANTED: Readonly<Record<FieldType, string>> = {
  text: 'a string',
  long_text: 'a string',
  reference: 'a string',
  user: 'a string',
  enum: 'a string',
  integer: 'an integer between -(2^53 - 1) and 2^53 - 1',
  decimal: 'a number or a numeric string',
  boolean: 'true or false',
  date: 'a day as "YYYY-MM-DD"',
  datetime: 'timestamp("…") or now()',
  json: 'null',
};

export function keyOfLiteral({ type, options }: FieldSpec, literal: Constant): KeyOfLiteral {
  if (literal.kind === 'literal' && literal.value === null) return { key: null };
  const key = keyOf(type, literal);
  if (key === undefined) return { problem: `must be compared with ${WANTED[type]}` };
  if (type === 'enum' && options !== undefined && !options.some((option) => option === key)) {
    return { problem: `has no option ${JSON.stringify(key)}` };
  }
  return { key };
}

function keyOf(type: FieldType, literal: Constant): OrderKey | { now: true } | undefined {
  const text = literal.kind === 'literal' && typeof literal.value === 'string' ? literal.value : undefined;
  switch (type) {
    case 'text':
    case 'long_text':
    case 'reference':
    case 'user':
    case 'enum':
      return text;
    case 'integer':
      return literal.kind === 'number' ? integerOf(literal.text) : undefined;
    case 'decimal':
      return decimalKey(literal.kind === 'number' ? literal.text : (text ?? ''));
    case 'boolean':
      return literal.kind === 'literal' && typeof literal.value === 'boolean' ? literal.value : undefined;
    case 'date':
      return text !== undefined && isDate(text) ? text : undefined;
    case 'datetime':
      if (literal.kind === 'now') return { now: true };
      return literal.kind === 'instant' ? instantKey(literal.ms) : undefined;
    case 'json':
      return undefined;
    default:
      return type satisfies never;
  }
}

/** `5`, `5.0` and `5e0` are the integer 5. */
function integerOf(text: string): number | undefined {
  const value = Number(text);
  const exact = Number.isSafeInteger(value) && decimalKey(text) === decimalKey(String(value));
  return exact ? value + 0 : undefined;
}

/** Whether values of a type have an order; values of other types can only be equal or different. */
export const isOrdered = (type: FieldType): boolean =>
  type !== 'enum' && type !== 'boolean' && type !== 'json';

/** Types that `contains`, `startsWith` and `endsWith` accept. */
export const isText = (type: FieldType): boolean =>
  type === 'text' || type === 'long_text' || type === 'reference' || type === 'user';
