/** What a stored metadata text says, read where the codec puts it: parsing it costs more than all else of a line. */
export interface PlainMetadata {
  /** Id of the actor. */
  readonly actor: string;
  readonly occurredAt: string;
}

const CAUSATION = '{"$causationId":"';
const CORRELATION = '","$correlationId":"';
const ACTOR = '","actor":{"id":"';
const KIND = '","kind":"';
const HASH = '"},"hash":"';
const OCCURRED = '","occurred_at":"';
const PREVIOUS = '","prev_hash":"';
const VERSION = '","schema_version":';
const TENANT = ',"tenant_id":"';
const END = '"}';
const HEX = 64;
const INSTANT = 24;
const MOST_DIGITS = 9;
const ZERO = 0x30;
/** Of all the parts above. */
const QUOTES = [CAUSATION, CORRELATION, ACTOR, KIND, HASH, OCCURRED, PREVIOUS, VERSION, TENANT, END]
  .join('')
  .replace(/[^"]/g, '').length;

/**
 * Undefined for every text that is not exactly of the form that most events have: such a one has to be parsed. What is of
 * this form is JSON.
 * @param quoted the text as a JSON string: by its length it tells that nothing but the quotes below was escaped
 */
export const plainMetadata = (text: string, quoted: string): PlainMetadata | undefined => {
  if (quoted.length !== text.length + 2 + QUOTES || !text.startsWith(CAUSATION)) return undefined;
  let at = text.indexOf('"', CAUSATION.length);
  if (!text.startsWith(CORRELATION, at)) return undefined;
  at = text.indexOf('"', at + CORRELATION.length);
  if (!text.startsWith(ACTOR, at)) return undefined;
  const actorAt = at + ACTOR.length;
  const actorEnd = text.indexOf('"', actorAt);
  if (!text.startsWith(KIND, actorEnd)) return undefined;
  at = text.indexOf('"', actorEnd + KIND.length);
  if (!text.startsWith(HASH, at)) return undefined;
  at += HASH.length + HEX;
  if (!text.startsWith(OCCURRED, at)) return undefined;
  const occurredAt = at + OCCURRED.length;
  at = occurredAt + INSTANT;
  if (!text.startsWith(PREVIOUS, at)) return undefined;
  at += PREVIOUS.length + HEX;
  if (!text.startsWith(VERSION, at)) return undefined;
  at += VERSION.length;
  const versionEnd = text.indexOf(',', at);
  if (!isNumber(text, at, versionEnd) || !text.startsWith(TENANT, versionEnd)) return undefined;
  at = text.indexOf('"', versionEnd + TENANT.length);
  if (at !== text.length - END.length || !text.endsWith(END)) return undefined;
  return {
    actor: text.slice(actorAt, actorEnd),
    occurredAt: text.slice(occurredAt, occurredAt + INSTANT),
  };
};

/** Digits, without a zero before others. */
const isNumber = (text: string, from: number, to: number): boolean => {
  if (to <= from || to - from > MOST_DIGITS || (to - from > 1 && text.charCodeAt(from) === ZERO))
    return false;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return false;
  }
  return true;
};
