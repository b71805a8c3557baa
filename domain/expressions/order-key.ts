import { decimalKey } from './decimal.ts';
import { instantKey, instantOf, isDate } from './times.ts';
import type { FieldType } from './tree.ts';

export type OrderKey = string | number | boolean;

/**
 * A value as an order-preserving scalar: filters compare it and lists sort by it, in memory and in both stores.
 * Undefined for null, a missing value and a value of another type.
 * Decimals become an ordered text; date-times become their UTC text with milliseconds. A `json` value becomes `true`,
 * which only shows that a value exists. All other values stay unchanged. The records projection stores the order keys
 * of a record under `keys.<field>` ({@link orderKeys}).
 */
export function orderKey(type: FieldType, value: unknown): OrderKey | undefined {
  if (value === undefined || value === null) return undefined;
  switch (type) {
    case 'text':
    case 'long_text':
    case 'enum':
    case 'reference':
    case 'user':
      return typeof value === 'string' ? value.toWellFormed() : undefined;
    case 'integer':
      // Adding 0 converts -0 to 0.
      return Number.isSafeInteger(value) ? Number(value) + 0 : undefined;
    case 'decimal':
      return typeof value === 'string' || typeof value === 'number' ? decimalKey(String(value)) : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'date':
      return typeof value === 'string' && isDate(value) ? value : undefined;
    case 'datetime': {
      const ms = typeof value === 'string' ? instantOf(value) : undefined;
      return ms === undefined ? undefined : instantKey(ms);
    }
    case 'json':
      return true;
    default:
      return type satisfies never;
  }
}

/** The `keys` object of a record's document. */
export function orderKeys(
  types: Readonly<Record<string, FieldType>>,
  values: Readonly<Record<string, unknown>>,
): Record<string, OrderKey> {
  const keys = Object.entries(types).flatMap(([name, type]) => {
    const key = orderKey(type, ownValue(values, name));
    return key === undefined ? [] : [[name, key] as const];
  });
  // Unlike assignments, this also defines `__proto__` as a key.
  return Object.fromEntries(keys);
}

/** Reads an own member of an object, never an inherited one. */
export const ownValue = (values: object, name: string): unknown =>
  Object.hasOwn(values, name) ? Reflect.get(values, name) : undefined;
