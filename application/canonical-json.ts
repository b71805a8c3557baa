/**
 * Canonical JSON (RFC 8785): object keys sorted by UTF-16 code units, no white space, ECMAScript numbers. The
 * stored form of events is this text, and the hash chain is over its bytes.
 */
export const canonicalJson = (value: unknown): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[${value.map(canonicalJson).join(',')}]`;
  }
  const members: string[] = [];
  const values: Record<string, unknown> = { ...value };
  for (const key of Object.keys(values).sort()) {
    const member = values[key];
    // A member without a value is no member.
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
};
