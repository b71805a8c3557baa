import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiParameters,
  type ZodOpenApiPathsObject,
  type ZodOpenApiRequestBodyObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import type { PrincipalKind } from '../../application/core/commands/principal.ts';
import type { ErrorCode } from '../../domain/core/errors.ts';
import { STATUS_OF } from './errors.ts';
import { JSON_ONLY, MEDIA_TYPES } from './media-types.ts';
import type { Route } from './route.ts';
import { errorCodes, isKeyed } from './route-errors.ts';
import { errorBody } from './schemas.ts';

/** Builds the OpenAPI 3.1 document from the route table that serves the requests. */

export type OpenApiDocument = ReturnType<typeof createDocument>;

/** The security scheme of each kind of principal. */
const SCHEMES: Readonly<Record<PrincipalKind, { name: string; format: string; description: string }>> = {
  user: {
    name: 'tenantJwt',
    format: 'JWT',
    description: 'A person’s token: from `POST /auth/login`, single sign-on, impersonation, or a test token.',
  },
  extension: {
    name: 'extensionJwt',
    format: 'JWT',
    description: 'An extension’s token of 15 minutes, checked against its scopes.',
  },
  api_token: {
    name: 'apiToken',
    format: 'svc_pat_…',
    description: 'A long-lived API token, checked against its scopes.',
  },
  platform_admin: {
    name: 'platformJwt',
    format: 'JWT',
    description: 'A platform admin’s token, from `POST /super/auth/login`.',
  },
  partner: {
    name: 'partnerJwt',
    format: 'JWT',
    description: 'A partner’s token, from `POST /api/v1/partner-portal/auth/exchange`.',
  },
};

const KEY_PARAMETER = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  description:
    'Repeating the request with the same key gives the same answer and no second effect, for 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
} as const;

const IF_MATCH_PARAMETER = {
  in: 'header',
  name: 'If-Match',
  required: false,
  description: 'An `ETag`: 409 `conflict` when there is a later version.',
  schema: { type: 'string' },
} as const;

const MIN_POSITION_PARAMETER = {
  in: 'header',
  name: 'X-Min-Position',
  required: false,
  description: 'An `X-Event-Position` that the answer must have seen.',
  schema: { type: 'string' },
} as const;

const POSITION_HEADER = {
  description: 'Where the write ended in the log; send it as `X-Min-Position` to another node.',
  schema: { type: 'string' },
} as const;

/** The type of a status in zod-openapi. */
const statusKey = (status: number): `${1 | 2 | 3 | 4 | 5}${string}` => {
  const [first, rest] = [Math.trunc(status / 100), String(status).slice(1)];
  if (first === 2 || first === 3 || first === 4 || first === 5) return `${first}${rest}`;
  throw new Error(`${status} is no status of an answer`);
};

const errorResponses = (route: Route): ZodOpenApiResponsesObject => {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorCodes(route)) {
    const status = STATUS_OF[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: ZodOpenApiResponsesObject = {};
  for (const [status, codes] of byStatus) {
    responses[statusKey(status)] = {
      description: codes.map((code) => `\`${code}\``).join(', '),
      content: { 'application/json': { schema: errorBody } },
    };
  }
  return responses;
};

const successResponse = (route: Route, schema: z.ZodType | null): ZodOpenApiResponseObject => ({
  description: route.summary,
  ...(route.method === 'get' || route.access.kind === 'public'
    ? {}
    : { headers: { 'X-Event-Position': POSITION_HEADER } }),
  ...(schema === null
    ? producedContent(route)
    : { content: { 'application/json': { schema }, ...producedContent(route).content } }),
});

const BYTES = { type: 'string', contentMediaType: 'application/octet-stream' } as const;

const producedContent = ({ produces }: Route): Pick<ZodOpenApiResponseObject, 'content'> =>
  produces === undefined ? {} : { content: { [produces]: { schema: BYTES } } };

const requestBody = ({
  body,
  bodyKinds = JSON_ONLY,
  upload,
}: Route): ZodOpenApiRequestBodyObject | undefined => {
  if (upload !== undefined) {
    const file = { ...BYTES, description: `The file, at most ${upload.limit} bytes.` };
    const schema = { type: 'object' as const, properties: { file }, required: ['file'] };
    return { required: true, content: { [MEDIA_TYPES.multipart]: { schema } } };
  }
  if (body === undefined) return undefined;
  const content = Object.fromEntries(bodyKinds.map((kind) => [MEDIA_TYPES[kind], { schema: body }]));
  return { required: !body.safeParse({}).success, content };
};

type ObjectSchema = z.ZodType<unknown, Record<string, unknown>>;

const isObjectSchema = (schema: z.ZodType): schema is ObjectSchema =>
  schema instanceof z.ZodObject || (schema instanceof z.ZodPipe && schema.in instanceof z.ZodObject);

const parameters = (route: Route): ZodOpenApiParameters => {
  const names = [...route.path.matchAll(/:([A-Za-z0-9_]+)/g)].map(([, name]) => name ?? '');
  const path =
    route.params ??
    (names.length === 0 ? undefined : z.object(Object.fromEntries(names.map((name) => [name, z.string()]))));
  const found: ZodOpenApiParameters = {};
  for (const [where, schema] of [
    ['path', path],
    ['query', route.query],
  ] as const) {
    if (schema === undefined) continue;
    if (!isObjectSchema(schema)) throw new Error(`${route.operationId}: its ${where} is no object schema`);
    found[where] = schema;
  }
  return found;
};

const operation = (route: Route, operationId: string): ZodOpenApiOperationObject => {
  const { access, reads } = route;
  const body = requestBody(route);
  const headers = [
    ...(isKeyed(route) ? [KEY_PARAMETER] : []),
    ...(route.honoursIfMatch ? [IF_MATCH_PARAMETER] : []),
    ...(reads?.length || (route.method === 'get' && access.kind === 'principals')
      ? [MIN_POSITION_PARAMETER]
      : []),
  ];
  const responses = errorResponses(route);
  for (const [status, schema] of Object.entries(route.responses)) {
    responses[statusKey(Number(status))] = successResponse(route, schema);
  }
  return {
    operationId,
    summary: route.summary,
    ...(access.kind === 'public' || access.scope === undefined
      ? {}
      : { description: `Extensions and API tokens need the scope \`${access.scope}\`.` }),
    tags: [route.tag],
    security: access.kind === 'public' ? [] : access.kinds.map((kind) => ({ [SCHEMES[kind].name]: [] })),
    requestParams: parameters(route),
    ...(headers.length === 0 ? {} : { parameters: headers }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses,
  };
};

const templated = (path: string): string => path.replaceAll(/:([A-Za-z0-9_]+)/g, '{$1}');

export const openApiDocument = (routes: readonly Route[]): OpenApiDocument => {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    [route.path, ...(route.aliases ?? [])].forEach((path, i) => {
      const id = i === 0 ? route.operationId : `${route.operationId}Alias${i === 1 ? '' : i}`;
      const at = templated(path);
      paths[at] = { ...paths[at], [route.method]: operation(route, id) };
    });
  }
  const tags = [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name }));
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Multi-tenant workflow platform',
        version: '1.0.0',
        description:
          'Lists are bare arrays; the next page is in `Link: <…>; rel="next"`. Errors are `Error`.',
      },
      servers: [{ url: '/' }],
      tags,
      paths,
      components: {
        securitySchemes: Object.fromEntries(
          Object.values(SCHEMES).map(({ name, format, description }) => [
            name,
            { type: 'http' as const, scheme: 'bearer', bearerFormat: format, description },
          ]),
        ),
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
};
