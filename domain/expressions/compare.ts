import type { CompareOperator, TextFunction } from './tree.ts';

/**
 * Compares texts by code point, which is the order of their UTF-8 bytes and of both stores. (`<` of JavaScript puts
 * astral characters before U+E000.)
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const one = a.charCodeAt(i);
    const other = b.charCodeAt(i);
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** Ranks surrogates above every other unit. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit);

/** Compares two order keys of one type. */
export function compareKeys(a: string | number | boolean, b: string | number | boolean): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  return Number(a) - Number(b);
}

/** Whether two values, ordered as {@link compareKeys} says, satisfy an operator. */
export function satisfies(order: number, operator: CompareOperator): boolean {
  switch (operator) {
    case '==':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    default:
      return operator satisfies never;
  }
}

export const hasText = (text: string, name: TextFunction, part: string): boolean =>
  name === 'contains' ? text.includes(part) : text[name](part);
