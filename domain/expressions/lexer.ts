import { ExpressionError } from './tree.ts';

export type Token = { readonly at: number } & (
  | { readonly kind: 'name' | 'number' | 'string' | 'symbol'; readonly text: string }
  | { readonly kind: 'end'; readonly text: '' }
);

const SPACE = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SYMBOL = /==|!=|<=|>=|&&|\|\||[<>!()[\],.-]/y;
/** An escape sequence of a string, after the backslash. */
const ESCAPE = /[\\"'`?abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}/y;
/** Characters up to the next quote, escape or end of line. */
const PLAIN = /[^"'\\\r\n]+/y;
const CONTROLS: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The token at or after `from`, and the offset of its end. @throws {ExpressionError} */
export function nextToken(text: string, from: number): { token: Token; end: number } {
  const at = from + (match(SPACE, text, from)?.length ?? 0);
  if (at >= text.length) return { token: { kind: 'end', text: '', at }, end: at };
  const first = text.charAt(at);
  if (first === '"' || first === "'") return stringAt(text, at, first);
  const name = match(NAME, text, at);
  if (name !== undefined) return { token: { kind: 'name', text: name, at }, end: at + name.length };
  const number = match(NUMBER, text, at);
  if (number !== undefined) {
    const end = at + number.length;
    if (match(NAME, text, end) !== undefined) throw new ExpressionError('This is not a number.', at);
    return { token: { kind: 'number', text: number, at }, end };
  }
  const symbol = match(SYMBOL, text, at);
  if (symbol === undefined) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0).toWellFormed();
    throw new ExpressionError(`Unexpected ${JSON.stringify(character)}.`, at);
  }
  return { token: { kind: 'symbol', text: symbol, at }, end: at + symbol.length };
}

function stringAt(text: string, at: number, quote: string): { token: Token; end: number } {
  let value = '';
  let i = at + 1;
  for (;;) {
    const plain = match(PLAIN, text, i) ?? '';
    value += plain;
    i += plain.length;
    const next = text.charAt(i);
    if (next === quote) break;
    if (next === '"' || next === "'") {
      value += next;
      i += 1;
    } else if (next === '\\') {
      const code = match(ESCAPE, text, i + 1);
      if (code === undefined) throw new ExpressionError('Unknown escape in a string.', i);
      value += charactersOf(code, i);
      i += 1 + code.length;
    } else {
      throw new ExpressionError('A string is not closed.', at);
    }
  }
  // A literal with a lone surrogate or a NUL could never match, because stored texts hold neither.
  if (!value.isWellFormed() || value.includes('\0')) {
    throw new ExpressionError('A string contains NUL or half of a surrogate pair.', at);
  }
  return { token: { kind: 'string', text: value, at }, end: i + 1 };
}

function charactersOf(sequence: string, at: number): string {
  const [first = ''] = sequence;
  if (first === 'x' || first === 'u' || first === 'U') {
    const code = Number.parseInt(sequence.slice(1), 16);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      throw new ExpressionError('The escape names no valid character.', at);
    }
    return String.fromCodePoint(code);
  }
  if (sequence.length === 3) return String.fromCodePoint(Number.parseInt(sequence, 8));
  return CONTROLS[first] ?? first;
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
