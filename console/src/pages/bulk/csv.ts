/** A field: quoted, with doubled quotes in it, or plain; then the comma, line break or end of the text that ends it. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/** Rows of a CSV (RFC 4180), at most `most` of them. */
export const rowsOf = (text: string, most: number): string[][] => {
  const rows: string[][] = [];
  let row: string[] = [];
  FIELD.lastIndex = 0;
  while (FIELD.lastIndex < text.length && rows.length < most) {
    const found = FIELD.exec(text);
    if (found === null) break;
    const [, quoted, plain = '', end] = found;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
};
