/**
 * The scope vocabulary of extensions and API tokens (specification, Scope vocabulary). Persons' sessions are not
 * checked against scopes.
 */
export const SCOPES = [
  'data:read',
  'data:write',
  'workflow:read',
  'workflow:execute',
  'workflow:admin',
  'files:read',
  'files:write',
  'forms:read',
  'forms:write',
  'forms:admin',
  'admin:*',
] as const;

export type Scope = (typeof SCOPES)[number];

/** Satisfies every scope check. */
const WILDCARD: Scope = 'admin:*';

/** Exact match: `data:write` does not grant `data:read`; only the wildcard grants other scopes. */
export const grants = (held: readonly Scope[], required: Scope): boolean =>
  held.includes(required) || held.includes(WILDCARD);
