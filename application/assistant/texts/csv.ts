/** A column's name stands in every row: a long one would multiply the file. */
const MAX_COLUMN = 80;

/**
 * A CSV file as lines of `column: value`, so that a row says what it is about wherever the file is cut. Nothing is
 * refused: a file that is no table comes out line by line.
 * @param maxCharacters rows end about there
 */
export const csvText = (text: string, maxCharacters: number = Number.POSITIVE_INFINITY): string => {
  const [first, ...records] = rowsOf(text, separatorOf(text));
  if (first === undefined) return '';
  if (records.length === 0 || first.length < 2) return text;
  const columns = first.map((name) =>
    [...name.trim().slice(0, MAX_COLUMN * 2)].slice(0, MAX_COLUMN).join(''),
  );
  const lines: string[] = [];
  let characters = 0;
  for (const cells of records) {
    if (characters >= maxCharacters) break;
    const line = lineOf(cells, columns, maxCharacters - characters);
    if (line === '') continue;
    lines.push(line);
    characters += line.length + 1;
  }
  return lines.join('\n');
};

/** @param room characters after which no further cell is taken */
const lineOf = (cells: readonly string[], columns: readonly string[], room: number): string => {
  let line = '';
  for (const [index, cell] of cells.entries()) {
    if (line.length >= room) break;
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

/** By RFC 4180; a quote that is never closed is a character like any other of its cell. */
const rowsOf = (text: string, separator: string): readonly (readonly string[])[] => {
  const rows: string[][] = [];
  let row: string[] = [];
  const plain = new RegExp(`[${separator === '|' ? '\\|' : separator}\\r\\n]`, 'g');
  let at = 0;
  while (at < text.length) {
    let cell: string;
    const quoted = text[at] === '"' ? quotedAt(text, at) : undefined;
    if (quoted !== undefined) {
      cell = quoted.value;
      at = quoted.end;
    } else cell = '';
    plain.lastIndex = at;
    const end = plain.exec(text)?.index ?? text.length;
    row.push(cell + text.slice(at, end));
    if (text[end] === separator) {
      at = end + 1;
      if (at === text.length) row.push('');
      continue;
    }
    rows.push(row);
    row = [];
    at = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1;
  }
  if (row.length > 0) rows.push(row);
  return rows;
};

/** Longer cells are taken for a quote that nobody closed. */
const MAX_CELL = 20_000;

const quotedAt = (text: string, from: number): { value: string; end: number } | undefined => {
  for (let at = from + 1; at <= from + MAX_CELL; at += 2) {
    at = text.indexOf('"', at);
    if (at < 0 || at > from + MAX_CELL) return undefined;
    if (text[at + 1] !== '"') return { value: text.slice(from + 1, at).replaceAll('""', '"'), end: at + 1 };
  }
  return undefined;
};
