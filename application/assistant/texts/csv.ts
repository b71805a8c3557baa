import Papa from 'papaparse';
import { truncate } from '../../../domain/core/text.ts';

/** Most characters of a column's name, which is repeated in every row. */
const MAX_COLUMN = 80;

/**
 * Turns each row of CSV after the first (column names) into a line of `column: value` pairs, so that each row can be
 * read on its own. A text without a table is returned unchanged. When a quote is never closed, quotes are read as plain
 * characters.
 * @param maxCharacters approximate limit of the result
 */
export const csvText = (text: string, maxCharacters: number = Number.POSITIVE_INFINITY): string =>
  linesOf(text, maxCharacters, false) ?? linesOf(text, maxCharacters, true) ?? text;

/** @param plainQuotes read quotes as plain characters @returns undefined when a quote is never closed */
const linesOf = (text: string, maxCharacters: number, plainQuotes: boolean): string | undefined => {
  let columns: readonly string[] | undefined;
  let isTable = false;
  let isClosed = true;
  let characters = 0;
  const lines: string[] = [];
  Papa.parse<string[]>(text, {
    delimiter: separatorOf(text),
    skipEmptyLines: true,
    ...(plainQuotes ? { fastMode: true } : {}),
    step: ({ data: cells, errors }, parser) => {
      if (errors.some(({ code }) => code === 'MissingQuotes')) isClosed = false;
      if (columns === undefined) {
        columns = cells.map((name) => truncate(name.trim(), MAX_COLUMN));
        return;
      }
      isTable = columns.length > 1;
      if (!isClosed || !isTable || characters >= maxCharacters) {
        parser.abort();
        return;
      }
      const line = lineOf(cells, columns, maxCharacters - characters);
      if (line === '') return;
      lines.push(line);
      characters += line.length + 1;
    },
  });
  if (!isClosed) return undefined;
  return isTable ? lines.join('\n') : text;
};

/** @param limit characters after which no further cell is added */
const lineOf = (cells: readonly string[], columns: readonly string[], limit: number): string => {
  let line = '';
  for (const [index, cell] of cells.entries()) {
    if (line.length >= limit) break;
    const value = cell.trim().replace(/\s+/g, ' ');
    if (value === '') continue;
    const column = columns[index] ?? '';
    line += `${line === '' ? '' : '; '}${column === '' ? value : `${column}: ${value}`}`;
  }
  return line;
};

const separatorOf = (text: string): string => {
  const end = text.search(/[\r\n]/);
  const first = end < 0 ? text : text.slice(0, end);
  const count = (separator: string): number => first.split(separator).length;
  return [',', ';', '\t', '|'].reduce((best, one) => (count(one) > count(best) ? one : best));
};
