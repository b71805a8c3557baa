/**
 * Canonical JSON (RFC 8785): object keys sorted by UTF-16 code units, no white space, ECMAScript numbers. The
 * stored form of events is this text, and the hash chain is over its bytes.
 */
export const canonicalJson = (value: unknown): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[${value.map(canonicalJson).join(',')}]`;
  }
  return `{${canonicalMembers(value).join(',')}}`;
};

/** The members `"key":value` of an object, sorted by key; members without a value are left out. */
export const canonicalMembers = (object: object): string[] => {
  const members: string[] = [];
  const values: Record<string, unknown> = { ...object };
  for (const key of Object.keys(values).sort()) {
    const value = values[key];
    if (value !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(value)}`);
  }
  return members;
};
