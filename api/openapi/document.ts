import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
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

/** @throws for a recursive schema without a name */
export const openApiDocument = (
  routes: readonly Route[],
  { operations, errors, events }: Examples = EXAMPLES,
): OpenApiDocument => {
  const paths: ZodOpenApiPathsObject = {};
  const named: Named = new Map();
  for (const route of routes) {
    const at = templated(route.path);
    paths[at] = { ...paths[at], [route.method]: operationOf(route, operations[route.operationId], named) };
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        ...INFO,
        description: INTRODUCTION,
        license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The server that serves this document.' }],
      tags: describedTags([...new Set(routes.map(({ tag }) => tag))]),
      paths,
      webhooks: webhookItems(events),
      components: {
        securitySchemes,
        headers: HEADERS,
        responses: errorComponents((status) => errors[String(status)]),
      },
    },
    {
      // Answers may get new keys: clients must accept unknown ones.
      override: ({ jsonSchema, io }) => {
        if (io === 'output' && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
      },
    },
  );
  return withoutRecursion(document);
};
