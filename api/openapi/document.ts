import { isDeepStrictEqual } from 'node:util';
import { createDocument } from 'zod-openapi';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import type { Route } from '../http/route.ts';
import { errorComponents } from './errors.ts';
import { EXAMPLES, type Examples } from './examples.ts';
import { INFO } from './info.ts';
import { describedTags, INTRODUCTION } from './introduction.ts';
import { type Named, operationOf, templated } from './operation.ts';
import { securitySchemes } from './security.ts';
import { webhookItems } from './webhooks.ts';

/** Builds the OpenAPI 3.1 document from the route table that serves the requests. */

type OpenApiDocument = ReturnType<typeof createDocument>;

const HEADERS = {
  'X-Event-Position': {
    description: 'The position of the write in the log; send it as `X-Min-Position` to another node.',
    schema: { type: 'string' as const },
  },
  Link: {
    description: '`<…>; rel="next"`: the next page; absent on the last page.',
    schema: { type: 'string' as const },
  },
};

const ANONYMOUS = /^#\/components\/schemas\/(__schema\d+)$/;
/** The generator describes any JSON value as a union of the six JSON types. */
const KINDS = 6;

const replaced = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(replaced);
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value && typeof value.$ref === 'string' && ANONYMOUS.test(value.$ref)) {
    const { $ref: _any, ...rest } = value;
    return rest;
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each)]));
};

/**
 * Replaces the generator's recursive schema for any JSON value by `{}`.
 * @throws for another recursive schema without a name
 */
const withoutRecursion = ({ components, ...document }: OpenApiDocument): OpenApiDocument => {
  const kept = Object.entries(components?.schemas ?? {}).filter(([name, schema]) => {
    if (!name.startsWith('__schema')) return true;
    if (typeof schema === 'object' && 'anyOf' in schema && schema.anyOf?.length === KINDS) return false;
    throw new Error(`a recursive schema has no name: ${JSON.stringify(schema).slice(0, 200)}`);
  });
  const plain = { ...document, components: { ...components, schemas: Object.fromEntries(kept) } };
  return replaced(plain) as OpenApiDocument;
};

type Parts = Pick<Parameters<typeof createDocument>[0], 'tags' | 'paths' | 'webhooks' | 'components'>;

const made = (parts: Parts): OpenApiDocument =>
  withoutRecursion(
    createDocument(
      {
        openapi: '3.1.0',
        info: {
          ...INFO,
          description: INTRODUCTION,
          license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
        },
        servers: [{ url: '/', description: 'The server that serves this document.' }],
        ...parts,
      },
      {
        // Answers may get new keys: clients must accept unknown ones.
        override: ({ jsonSchema, io }) => {
          if (io === 'output' && jsonSchema.additionalProperties === false)
            delete jsonSchema.additionalProperties;
        },
      },
    ),
  );

/** Makes the document in steps of a few milliseconds: shared parts, each webhook, each route. */
function* partsOf(routes: readonly Route[], { operations, errors, events }: Examples): Generator<Parts> {
  yield {
    tags: describedTags([...new Set(routes.map(({ tag }) => tag))]),
    components: {
      securitySchemes,
      headers: HEADERS,
      responses: errorComponents((status) => errors[String(status)]),
    },
  };
  for (const [event, item] of Object.entries(webhookItems(events))) yield { webhooks: { [event]: item } };
  const named: Named = new Map();
  for (const route of routes) {
    const operation = operationOf(route, operations[route.operationId], named);
    yield { paths: { [templated(route.path)]: { [route.method]: operation } } };
  }
}

/**
 * Makes the document in slices, so that it does not block the event loop. Parts that name the same schema share one
 * component.
 * @throws for a recursive schema without a name, and for two schemas of one name
 */
export const openApiDocument = async (
  routes: readonly Route[],
  examples: Examples = EXAMPLES,
): Promise<OpenApiDocument> => {
  const slice = timeSlices.of('public', 'openApiDocument');
  const document: OpenApiDocument = { openapi: '3.1.0', info: INFO };
  const webhooks: NonNullable<OpenApiDocument['webhooks']> = {};
  const paths: NonNullable<OpenApiDocument['paths']> = {};
  const schemas: NonNullable<NonNullable<OpenApiDocument['components']>['schemas']> = {};
  for (const parts of partsOf(routes, examples)) {
    const part = made(parts);
    const { components: { schemas: more = {}, ...components } = {} } = part;
    Object.assign(document, part, { components: { ...document.components, ...components } });
    Object.assign(webhooks, part.webhooks);
    for (const [path, item] of Object.entries(part.paths ?? {})) paths[path] = { ...paths[path], ...item };
    for (const [name, schema] of Object.entries(more)) {
      if (!isDeepStrictEqual(schemas[name] ?? schema, schema)) throw new Error(`${name} names two schemas`);
      schemas[name] = schema;
    }
    const wait = slice.pause();
    if (wait !== undefined) await wait;
  }
  const inOrder = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...document, webhooks, paths, components: { ...document.components, schemas: inOrder } };
};
