/**
 * Canonical JSON (RFC 8785): keys sorted by UTF-16 code units, no white space, ECMAScript numbers. Events are stored as
 * this text, and the hash chain covers its bytes.
 */
export const canonicalJson = (value: unknown): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[${value.map(canonicalJson).join(',')}]`;
  }
  const values = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(values);
  if (keys.length > 1) keys.sort();
  let text = '{';
  for (const key of keys) {
    const member = values[key];
    if (member === undefined) continue;
    if (text.length > 1) text += ',';
    text += `${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `${text}}`;
};

/** The text of {@link canonicalJson} in parts, so that the text of a large value can be made in slices. */
export function* canonicalParts(value: unknown): Generator<string> {
  if (value === null || typeof value !== 'object') {
    yield canonicalJson(value);
  } else if (Array.isArray(value)) {
    let before = '[';
    for (const each of value) {
      yield before;
      yield* canonicalParts(each);
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  } else {
    const values = value as Readonly<Record<string, unknown>>;
    let before = '{';
    for (const key of Object.keys(values).sort()) {
      if (values[key] === undefined) continue;
      yield `${before}${JSON.stringify(key)}:`;
      yield* canonicalParts(values[key]);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  }
}

/** Whether two values are equal as JSON. Ignores the order of keys and undefined members. */
export const isSameJson = (a: unknown, b: unknown): boolean =>
  a === b || (a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b));
