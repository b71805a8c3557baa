import { z } from 'zod';
import type { ZodOpenApiParameters } from 'zod-openapi';
import type { Route } from '../http/route.ts';
import { isKeyed } from '../http/route-errors.ts';

/** Parameters of an operation: those of its path and query, and the headers that operations of its kind read. */

export const header = (name: string, description: string, required: boolean, rules: object = {}) =>
  ({ in: 'header', name, required, description, schema: { type: 'string', ...rules } }) as const;

const KEY = header(
  'Idempotency-Key',
  'For 24 hours, a repeated request with the same key gets the same answer and has no second effect.',
  false,
  { minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$' },
);
const IF_MATCH = header('If-Match', 'An `ETag`: 409 `conflict` when there is a later version.', false);
const MIN_POSITION = header(
  'X-Min-Position',
  'An `X-Event-Position`; the answer includes this write and all earlier ones.',
  false,
);

export const headersOf = (route: Route) => [
  ...(isKeyed(route) ? [KEY] : []),
  ...(route.honoursIfMatch ? [IF_MATCH] : []),
  ...(route.reads?.length || (route.method === 'get' && route.access.kind === 'principals')
    ? [MIN_POSITION]
    : []),
];

type ObjectSchema = z.ZodType<unknown, Record<string, unknown>>;

const isObjectSchema = (schema: z.ZodType): schema is ObjectSchema =>
  schema instanceof z.ZodObject || (schema instanceof z.ZodPipe && schema.in instanceof z.ZodObject);

/** Nouns of path segments for which the segment without its final `s` would be wrong. */
const NOUNS: Readonly<Record<string, string>> = {
  entities: 'entity',
  entries: 'journal entry',
  'api-tokens': 'API token',
  sessions: 'bulk session',
  streams: 'event stream',
  statements: 'customer',
  impersonate: 'tenant',
  sso: 'tenant',
  validate: 'public link',
  docs: 'page',
};

const nounOf = (segment: string): string => NOUNS[segment] ?? segment.replaceAll('-', ' ').replace(/s$/, '');

/** Describes a path parameter by the segment before it: `:id` after `jobs` is the id of the job. */
const pathDescription = (path: string, name: string): string => {
  if (name === 'tenant') return 'The id of the tenant.';
  const segments = path.split('/');
  const before = segments[segments.indexOf(`:${name}`) - 1] ?? '';
  if (before.startsWith(':')) return `The ${name} of the form.`;
  const noun = nounOf(before);
  return name.endsWith('id') ? `The id of the ${noun}.` : `The ${name} of the ${noun}.`;
};

const pathSchema = (route: Route): ObjectSchema | undefined => {
  const names = [...route.path.matchAll(/:([A-Za-z0-9_]+)/g)].map(([, name]) => name ?? '');
  if (names.length === 0) return undefined;
  const given = route.params instanceof z.ZodObject ? route.params.shape : {};
  return z.object(
    Object.fromEntries(
      names.map((name) => {
        const schema: unknown = given[name];
        const typed = schema instanceof z.ZodType ? schema : z.string();
        const description = typed.meta()?.description ?? pathDescription(route.path, name);
        return [name, typed.meta({ ...typed.meta(), description })];
      }),
    ),
  );
};

export const parametersOf = (route: Route): ZodOpenApiParameters => {
  const path = pathSchema(route);
  const { query } = route;
  if (query !== undefined && !isObjectSchema(query)) {
    throw new Error(`${route.operationId}: its query is no object schema`);
  }
  return { ...(path === undefined ? {} : { path }), ...(query === undefined ? {} : { query }) };
};
