import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

/** A row as an array in column order, cheaper than an object. */
export type Cells = readonly SQLOutputValue[];

/** Makes the statement return {@link Cells}: read it with {@link iterateCells} or {@link allCells}. */
export function inCells(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}

// The driver's types only know rows as objects.

export const iterateCells = (statement: StatementSync, values: readonly SQLInputValue[]): Iterable<Cells> =>
  statement.iterate(...values) as Iterable<unknown> as Iterable<Cells>;

export const allCells = (statement: StatementSync, values: readonly SQLInputValue[]): readonly Cells[] =>
  statement.all(...values) as readonly unknown[] as readonly Cells[];

export function numberAt(cells: Cells, at: number): number {
  const value = cells[at];
  if (typeof value !== 'number') throw new TypeError(`column ${at} holds no number`);
  return value;
}

export function textAt(cells: Cells, at: number): string {
  const value = cells[at];
  if (typeof value !== 'string') throw new TypeError(`column ${at} holds no text`);
  return value;
}
