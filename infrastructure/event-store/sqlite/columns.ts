import type { SQLOutputValue } from 'node:sqlite';

/** Reads columns with checks, since the driver's types do not know the schema. */
export type Row = Record<string, SQLOutputValue>;

export function integer(row: Row | undefined, column: string): number {
  const value = row?.[column];
  if (typeof value !== 'number') throw new TypeError(`column ${column} holds no integer`);
  return value;
}

export function text(row: Row | undefined, column: string): string {
  const value = row?.[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}
