import { type About, about, environment } from './variables.ts';

/** A variable as documents and `admin config` list it. */
export interface Variable extends About {
  readonly name: string;
  /** The default as written in the environment; undefined if there is none. */
  readonly fallback: string | undefined;
}

/** A value as written in the environment. */
const written = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return Array.isArray(value) ? value.join(',') : String(value);
};

const fallbackOf = (schema: { safeParse(value: undefined): { data?: unknown } }): string | undefined => {
  const { data } = schema.safeParse(undefined);
  const text = data === undefined ? '' : written(data);
  return text === '' ? undefined : text;
};

/** Every variable, in the order of the documentation. */
export const variables = (): Variable[] =>
  Object.entries(environment.shape).map(([name, schema]) => {
    const described = about.get(schema);
    if (described === undefined) throw new Error(`${name} has no description`);
    return { name, fallback: fallbackOf(schema), ...described };
  });

const SECRET_PARAMETER = /((?:^|[?&;])[^=&;]*(?:password|token|secret|key|properties)[^=&;]*=)[^&;]*/gi;

/** Masks a secret, the user part of a URL, and credentials among a URL's parameters. */
const masked = (value: string, { isSecret }: About): string => {
  if (isSecret) return '***';
  return value.replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/i, '$1***@').replace(SECRET_PARAMETER, '$1***');
};

/** The configuration in force as lines of an environment file; defaults are comments, secrets are masked. */
export const effectiveConfig = (given: Readonly<Record<string, string | undefined>>): string[] =>
  variables().map((variable) => {
    const { name, fallback, unset = 'unset' } = variable;
    const value = given[name];
    if (value !== undefined && value !== '') return `${name}=${masked(value, variable)}`;
    return fallback === undefined ? `# ${name}: ${unset}` : `# ${name}=${fallback}`;
  });
