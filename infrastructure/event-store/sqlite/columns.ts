import type { SQLOutputValue } from 'node:sqlite';

/** Checked reading of columns: the driver's types cannot know what the schema promises. */
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
