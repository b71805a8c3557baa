import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';

/** CSV by an independent parser. */

/** Parses strict RFC 4180: every row ends with CRLF and has as many cells as the first one. */
export const cellsOf = (csv: string): string[][] => parse(csv, { record_delimiter: '\r\n' });

/** Rows as objects, by column names. */
export const rowsOf = (csv: string): Readonly<Record<string, string>>[] => {
  const [columns = [], ...rows] = cellsOf(csv);
  return rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at] ?? ''])));
};

const SIGNS = [...'=+-@＝＋－＠'];
/** Some of the characters that a spreadsheet skips before it looks for a sign. */
const UNSEEN = [
  ...'\t\r\n\v\f \u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff\u0001',
];

/** Whether a spreadsheet could evaluate the cell, or drop white space in front of a formula. */
export const isRun = (cell: string): boolean => {
  const seen = [...cell].find((character) => !/[\p{White_Space}\p{Cc}\p{Cf}]/u.test(character));
  return (seen !== undefined && SIGNS.includes(seen)) || /^[\t\r\n]/.test(cell);
};

/** The cell that a text must have in a CSV. */
export const cellOf = (text: string): string => (isRun(text) ? `'${text}` : text);

/** Checks that no cell is a formula, except numbers in columns of numbers. */
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

/** Texts that are difficult in CSV: signs after invisible characters, quotes, commas and each kind of line end. */
export const hardText = fc.oneof(
  fc
    .tuple(fc.constantFrom('', ...UNSEEN), fc.constantFrom(...SIGNS), fc.string())
    .map((parts) => parts.join('')),
  fc.array(piece, { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
);
