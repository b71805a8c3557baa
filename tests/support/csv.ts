import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';

/** CSV as an independent reader sees it. */

/** Strict RFC 4180: every row ends with CRLF and has as many cells as the first one. */
export const cellsOf = (csv: string): string[][] => parse(csv, { record_delimiter: '\r\n' });

/** Each row by the names of its columns. */
export const rowsOf = (csv: string): Readonly<Record<string, string>>[] => {
  const [columns = [], ...rows] = cellsOf(csv);
  return rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at] ?? ''])));
};

const SIGNS = [...'=+-@＝＋－＠'];
/** Some of the characters that a spreadsheet skips before it looks for a sign. */
const UNSEEN = [
  ...'\t\r\n\v\f \u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff\u0001',
];

/** Whether a spreadsheet could run the cell, or drop the white space that hides a formula in it. */
export const isRun = (cell: string): boolean => {
  const seen = [...cell].find((character) => !/[\p{White_Space}\p{Cc}\p{Cf}]/u.test(character));
  return (seen !== undefined && SIGNS.includes(seen)) || /^[\t\r\n]/.test(cell);
};

/** The cell that stands for a text in a CSV. */
export const cellOf = (text: string): string => (isRun(text) ? `'${text}` : text);

/** No cell is run, but for numbers in columns of numbers. */
export const expectInert = (csv: string, numbers: readonly string[] = []): void => {
  const [columns = [], ...rows] = cellsOf(csv);
  for (const row of rows) {
    for (const [at, cell] of row.entries()) {
      const column = columns[at] ?? '';
      if (numbers.includes(column)) expect(cell, column).to.match(/^(-?\d+(\.\d+)?)?$/);
      else expect(isRun(cell), `${column}: ${JSON.stringify(cell)}`).to.equal(false);
    }
  }
};

const piece = fc.constantFrom(...SIGNS, ...UNSEEN, ...`a1,;"'|&é😀`);

/** Texts that are hard on a CSV: signs behind what is not seen, quotes, commas and each kind of line end. */
export const hardText = fc.oneof(
  fc
    .tuple(fc.constantFrom('', ...UNSEEN), fc.constantFrom(...SIGNS), fc.string())
    .map((parts) => parts.join('')),
  fc.array(piece, { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
);
