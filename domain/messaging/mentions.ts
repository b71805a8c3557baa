import { codePoints, truncate } from '../core/text.ts';

/**
 * Mention tokens `@[<name>](user:<id>)`. Names are personal, so a stored text keeps only the id between NUL marks
 * (which no body may hold), and the present name is filled in on reading.
 */
const TOKEN = /@\[([^[\]\r\n]{1,128})\]\(user:([A-Za-z0-9._:@|-]{1,128})\)/gu;
const MARK = '\u0000';
const STORED = new RegExp(`${MARK}([A-Za-z0-9._:@|-]{1,128})${MARK}`, 'g');
const PIECES = new RegExp(`(${MARK}[^${MARK}]*${MARK})`);

/** Distinct user ids of tokens, in order of appearance; at most `limit`. */
export const mentionedIds = (body: string, limit = 1000): string[] => {
  if (!body.includes('@[')) return [];
  const ids = new Set<string>();
  for (const match of body.matchAll(TOKEN)) {
    if (match[2] !== undefined) ids.add(match[2]);
    if (ids.size >= limit) break;
  }
  return [...ids];
};

/** Replaces tokens of known users by marks; other tokens stay as typed. */
export const toStoredText = (body: string, known: ReadonlySet<string>): string =>
  known.size === 0
    ? body
    : body.replace(TOKEN, (token, _name, id: string) => (known.has(id) ? MARK + id + MARK : token));

/** Distinct user ids in marks. */
export const storedMentions = (stored: string): string[] =>
  stored.includes(MARK) ? [...new Set([...stored.matchAll(STORED)].map((match) => match[1] ?? ''))] : [];

/** A name without characters of the token syntax, so that a text can be sent again with the same mention. */
const tokenName = (name: string): string => truncate(name.replace(/[[\]\r\n]/g, ' '), 128);

/** The text with tokens of present names. */
export const toBody = (stored: string, nameOf: (userId: string) => string): string =>
  stored.includes(MARK)
    ? stored.replace(STORED, (_mark, id: string) => `@[${tokenName(nameOf(id))}](user:${id})`)
    : stored;

/** An excerpt of at most 140 characters, tokens shown as `@name`. */
export const toSnippet = (stored: string, nameOf: (userId: string) => string): string =>
  truncate(
    stored.includes(MARK) ? stored.replace(STORED, (_mark, id: string) => `@${nameOf(id)}`) : stored,
    140,
  );

/** The part of a stored text that a snippet can need; never splits a mark. */
export const snippetSource = (stored: string): string => {
  const pieces = stored.split(PIECES);
  let left = 140;
  let source = '';
  for (const piece of pieces) {
    if (left <= 0) break;
    if (piece.startsWith(MARK)) {
      source += piece;
      left -= 1;
    } else {
      const part = truncate(piece, left);
      source += part;
      left -= codePoints(part);
    }
  }
  return source;
};
