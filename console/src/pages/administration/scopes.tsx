import { ChoicesField } from '../../kit/index.ts';

/** All scopes, each with the right that it grants (specification, Scope vocabulary). */
const SCOPES = [
  ['data:read', 'Read records and schemas'],
  ['data:write', 'Write records and schemas'],
  ['workflow:read', 'List jobs'],
  ['workflow:execute', 'Transitions of jobs'],
  ['workflow:admin', 'Administer workflows'],
  ['files:read', 'Download files'],
  ['files:write', 'Upload files'],
  ['forms:read', 'Read forms'],
  ['forms:write', 'Write forms'],
  ['forms:admin', 'Publish, archive, delete forms'],
  ['admin:*', 'Everything'],
] as const;

export type Scope = (typeof SCOPES)[number][0];

export const scopesIn = (values: readonly string[]): Scope[] =>
  SCOPES.map(([scope]) => scope).filter((scope) => values.includes(scope));

export const ScopesField = () => (
  <ChoicesField
    name="scopes"
    label="Scopes"
    options={SCOPES.map(([scope, about]) => [
      scope,
      <>
        <code>{scope}</code> <span className="muted">{about}</span>
      </>,
    ])}
  />
);
