import type { Position } from '../../application/ports/event-store.ts';

/**
 * Positions are 16 lower-case hex digits, so that they compare as text in log order and still have room for
 * EventStoreDB's 63-bit commit positions.
 */
const HEX16 = /^[0-9a-f]{16}$/;

/** Text that has the form of a position. Whether the log has got that far is another question. */
export function isPosition(text: string): text is Position {
  return text.length === 16 && HEX16.test(text);
}

/** Formats a log offset; a negative, fractional or too large one is a programming error. */
export function formatPosition(offset: number | bigint): Position {
  const text = offset.toString(16).padStart(16, '0');
  if (offset < 0 || !isMinted(text)) throw new RangeError(`no log position: ${offset}`);
  return text;
}

/** Enough for a text we have just made of a number: a fraction would have made it longer, or shown a dot. */
function isMinted(text: string): text is Position {
  return text.length === 16 && !text.includes('.');
}

/** The offset of an embedded log's position; undefined when it is malformed or beyond 2^53 (no such log). */
export function parseOffset(text: string): number | undefined {
  if (!isPosition(text)) return undefined;
  const offset = Number.parseInt(text, 16);
  return Number.isSafeInteger(offset) ? offset : undefined;
}

/** As {@link parseOffset} for a position a caller got from us; a foreign one is a programming error. */
export function offsetOf(position: Position): number {
  const offset = parseOffset(position);
  if (offset === undefined) throw new RangeError(`not a position of this log: ${position}`);
  return offset;
}
