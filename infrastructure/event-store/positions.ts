import type { Position } from '../../application/ports/event-store.ts';

/**
 * Positions are 16 lower-case hex digits, so that they sort as text in log order and fit EventStoreDB's 63-bit commit
 * positions.
 */
const HEX16 = /^[0-9a-f]{16}$/;

/** Whether a text has the form of a position; the log may not have reached it. */
export function isPosition(text: string): text is Position {
  return text.length === 16 && HEX16.test(text);
}

/** Formats a log offset. @throws for a negative, fractional or too large one */
export function formatPosition(offset: number | bigint): Position {
  const text = offset.toString(16).padStart(16, '0');
  if (offset < 0 || !isFormatted(text)) throw new RangeError(`no log position: ${offset}`);
  return text;
}

/** Checks only the length and that there is no fraction, which is enough for a formatted number. */
function isFormatted(text: string): text is Position {
  return text.length === 16 && !text.includes('.');
}

/** The offset of a position in the embedded log; undefined for a malformed position, or from 2^53 on. */
export function parseOffset(text: string): number | undefined {
  if (!isPosition(text)) return undefined;
  const offset = Number.parseInt(text, 16);
  return Number.isSafeInteger(offset) ? offset : undefined;
}

/** Like {@link parseOffset}, but for a position of this store. @throws for any other */
export function offsetOf(position: Position): number {
  const offset = parseOffset(position);
  if (offset === undefined) throw new RangeError(`not a position of this log: ${position}`);
  return offset;
}
