import { stringify } from 'csv-stringify/sync';

/**
 * Writes CSV rows (RFC 4180). A text that a spreadsheet could read as a formula gets a leading `'`. The sign of the
 * formula may be full-width, or follow characters that spreadsheets skip. Numbers stay numbers.
 */

export type Cell = string | number | bigint | boolean | null | undefined;

const FORMULA = /^[\p{White_Space}\p{Cc}\p{Cf}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/u;

const safe = (cell: Cell): string => {
  const text = cell === null || cell === undefined ? '' : String(cell);
  return typeof cell !== 'number' && typeof cell !== 'bigint' && FORMULA.test(text) ? `'${text}` : text;
};

export const csvRows = (rows: readonly (readonly Cell[])[]): string =>
  stringify(
    rows.map((row) => row.map(safe)),
    // The default quotes CRLF only, but many readers also end a row at a lone CR or LF.
    { record_delimiter: 'windows', quoted_match: /[\r\n]/ },
  );

/** The columns of a table, in order: the cell of a row under each heading. */
export type Columns<R> = Readonly<Record<string, (row: R) => Cell>>;

export const csvHead = (columns: Columns<never>): string => csvRows([Object.keys(columns)]);

/** Rows of a table, without its heading. */
export const csvBody = <R>(columns: Columns<R>, rows: readonly R[]): string => {
  const cells = Object.values(columns);
  return csvRows(rows.map((row) => cells.map((cell) => cell(row))));
};

export const csvTable = <R>(columns: Columns<R>, rows: readonly R[]): string =>
  csvHead(columns) + csvBody(columns, rows);

export const CSV_TYPE = 'text/csv; charset=utf-8';
