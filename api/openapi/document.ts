import { isDeepStrictEqual } from 'node:util';
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { nextTick } from '../../application/core/runtime/timers.ts';
import type { Route } from '../http/route.ts';
import { withoutRecursion } from './any-json.ts';
import { errorComponents } from './errors.ts';
import { EXAMPLES, type Examples } from './examples.ts';
import { INFO } from './info.ts';
import { describedTags, INTRODUCTION } from './introduction.ts';
import { type Named, operationOf, templated } from './operation.ts';
import { securitySchemes } from './security.ts';
import { webhookItems } from './webhooks.ts';

/** Builds the OpenAPI 3.1 document from the route table that serves the requests. */

export type OpenApiDocument = ReturnType<typeof createDocument>;

const HEADERS = {
  'X-Event-Position': {
    description: 'Where the write ended in the log; send it as `X-Min-Position` to another node.',
    schema: { type: 'string' as const },
  },
  Link: {
    description: '`<…>; rel="next"`: the next page, as long as there is one.',
    schema: { type: 'string' as const },
  },
};

/** Routes that are described in one tick: about 10 ms. */
const ROUTES = 5;

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

/**
 * Made in parts, a tick each, since the whole would hold the event loop for 130 ms. A schema is the same component in
 * each part that names it.
 * @throws for a recursive schema without a name, and for two schemas of one name
 */
export const openApiDocument = async (
  routes: readonly Route[],
  { operations, errors, events }: Examples = EXAMPLES,
): Promise<OpenApiDocument> => {
  const named: Named = new Map();
  const document = made({
    tags: describedTags([...new Set(routes.map(({ tag }) => tag))]),
    webhooks: webhookItems(events),
    components: {
      securitySchemes,
      headers: HEADERS,
      responses: errorComponents((status) => errors[String(status)]),
    },
  });
  const paths: NonNullable<OpenApiDocument['paths']> = {};
  const schemas = { ...document.components?.schemas };
  for (let from = 0; from < routes.length; from += ROUTES) {
    await nextTick();
    const described: ZodOpenApiPathsObject = {};
    for (const route of routes.slice(from, from + ROUTES)) {
      const at = templated(route.path);
      const operation = operationOf(route, operations[route.operationId], named);
      described[at] = { ...described[at], [route.method]: operation };
    }
    const part = made({ paths: described });
    for (const [path, item] of Object.entries(part.paths ?? {})) paths[path] = { ...paths[path], ...item };
    for (const [name, schema] of Object.entries(part.components?.schemas ?? {})) {
      if (!isDeepStrictEqual(schemas[name] ?? schema, schema)) throw new Error(`${name} names two schemas`);
      schemas[name] = schema;
    }
  }
  const inOrder = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...document, paths, components: { ...document.components, schemas: inOrder } };
};
