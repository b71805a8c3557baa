import { stringify } from 'csv-stringify/sync';

/** Rows of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets a leading `'`. */

export type Cell = string | number | bigint | boolean | null | undefined;

const FORMULA = /^[=+\-@]/;

const safe = (cell: Cell): string => {
  const text = cell === null || cell === undefined ? '' : String(cell);
  return typeof cell !== 'number' && typeof cell !== 'bigint' && FORMULA.test(text) ? `'${text}` : text;
};

export const csvRows = (rows: readonly (readonly Cell[])[]): string =>
  stringify(
    rows.map((row) => row.map(safe)),
    { record_delimiter: 'windows' },
  );

export const CSV_TYPE = 'text/csv; charset=utf-8';
