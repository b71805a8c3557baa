export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The parsed JSON; the text of a body that is not JSON. */
  readonly body: unknown;
}

/** Reads answers of HTTP/1.1 one after another from the parts in which they arrive. */
export class AnswerParser {
  #rest: Buffer = Buffer.alloc(0);

  /** The next answer, once it is whole. */
  take(chunk: Buffer): Reply | undefined {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [first = '', ...lines] = this.#rest.toString('latin1', 0, end).split('\r\n');
    const status = Number(first.slice(9, 12));
    const headers: Record<string, string | undefined> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const found = bodyIn(this.#rest.subarray(end + 4), status, headers);
    if (found === undefined) return undefined;
    this.#rest = this.#rest.subarray(end + 4 + found.length);
    const isJson = headers['content-type']?.startsWith('application/json') === true;
    return { status, headers, body: isJson ? JSON.parse(found.text) : found.text };
  }
}

/** @returns the body, and its length on the wire; undefined when more has to come */
const bodyIn = (
  rest: Buffer,
  status: number,
  headers: Readonly<Record<string, string | undefined>>,
): { readonly text: string; readonly length: number } | undefined => {
  if (status === 204 || status === 304) return { text: '', length: 0 };
  if (headers['transfer-encoding'] === 'chunked') return chunkedBody(rest);
  const length = Number(headers['content-length']);
  if (!Number.isInteger(length)) throw new Error('an answer without a length');
  return rest.length < length ? undefined : { text: rest.toString('utf8', 0, length), length };
};

const chunkedBody = (rest: Buffer): { readonly text: string; readonly length: number } | undefined => {
  const parts: Buffer[] = [];
  for (let from = 0; ; ) {
    const line = rest.indexOf('\r\n', from);
    if (line < 0) return undefined;
    const size = Number.parseInt(rest.toString('latin1', from, line), 16);
    const [begin, end] = [line + 2, line + 2 + size];
    if (rest.length < end + 2) return undefined;
    if (size === 0) return { text: Buffer.concat(parts).toString(), length: end + 2 };
    parts.push(rest.subarray(begin, end));
    from = end + 2;
  }
};
