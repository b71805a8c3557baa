import { z } from 'zod';
import type {
  ZodOpenApiMediaTypeObject,
  ZodOpenApiOperationObject,
  ZodOpenApiRequestBodyObject,
  ZodOpenApiResponseObject,
} from 'zod-openapi';
import { JSON_ONLY, MEDIA_TYPES } from '../http/media-types.ts';
import { NDJSON } from '../http/ndjson.ts';
import type { Access, Route } from '../http/route.ts';
import { errorResponses, ownErrors } from './errors.ts';
import type { OperationExample } from './examples.ts';
import { headersOf, parametersOf } from './parameters.ts';
import { SCHEMES } from './security.ts';

/** One operation of the document, from its route. */

const JSON_TYPE = 'application/json';
const TEXT = { type: 'string' } as const;
/** Client generators read `format`. */
const BYTES = { type: 'string', format: 'binary' } as const;
const isText = (type: string): boolean => type.startsWith('text/') || type === NDJSON;

/** Statuses without a body. */
const BODILESS: ReadonlySet<string> = new Set(['204', '302', '304']);

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const idOf = (schema: z.ZodType): string | undefined => {
  const id: unknown = schema.meta()?.id;
  return typeof id === 'string' ? id : undefined;
};

/** Schemas that {@link named} has named in one document, by schema or by the name of a list. */
export type Named = Map<z.ZodType | string, z.ZodType>;

/** Names a schema as a component: by its own name, else after its elements (`UserList`), else by `fallback`. */
const named = (schema: z.ZodType, fallback: string, known: Named): z.ZodType => {
  if (idOf(schema) !== undefined) return schema;
  const element =
    schema instanceof z.ZodArray && schema.element instanceof z.ZodType ? schema.element : undefined;
  const elementId = element === undefined ? undefined : idOf(element);
  const list = elementId === undefined ? undefined : `${elementId}List`;
  const present = known.get(list ?? schema) ?? schema.meta({ ...schema.meta(), id: list ?? fallback });
  known.set(list ?? schema, present);
  return present;
};

const media = (
  schema: NonNullable<ZodOpenApiMediaTypeObject['schema']>,
  example: unknown,
): ZodOpenApiMediaTypeObject => ({
  schema,
  ...(example === undefined ? {} : { example }),
});

const POSITION = { $ref: '#/components/headers/X-Event-Position' };
const NEXT_PAGE = { $ref: '#/components/headers/Link' };

const isPaged = (route: Route): boolean =>
  route.query instanceof z.ZodObject && ('cursor' in route.query.shape || 'after' in route.query.shape);

const success = (
  route: Route,
  status: string,
  schema: z.ZodType | null,
  example: OperationExample | undefined,
  known: Named,
): ZodOpenApiResponseObject => {
  const headers = {
    ...(route.method === 'get' || route.access.kind === 'public' ? {} : { 'X-Event-Position': POSITION }),
    ...(isPaged(route) ? { Link: NEXT_PAGE } : {}),
  };
  const content = {
    ...(schema === null
      ? {}
      : {
          [JSON_TYPE]: media(
            named(schema, `${capital(route.operationId)}Answer`, known),
            example?.answers[status],
          ),
        }),
    ...(route.produces === undefined || BODILESS.has(status)
      ? {}
      : {
          [route.produces]: media(
            isText(route.produces) ? TEXT : BYTES,
            example?.answers[`${status} ${route.produces}`],
          ),
        }),
  };
  return {
    description: `${route.summary}.`,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
};

const requestBody = (
  { operationId, body, bodyKinds = JSON_ONLY, upload }: Route,
  example: unknown,
  known: Named,
): ZodOpenApiRequestBodyObject | undefined => {
  if (upload !== undefined) {
    const description = `The file, at most ${upload.limit} bytes.`;
    const file = z.unknown().meta({ description, override: BYTES });
    const schema = z.object({ file }).meta({ id: `${capital(operationId)}Body` });
    return { required: true, content: { [MEDIA_TYPES.multipart]: media(schema, example) } };
  }
  if (body === undefined) return undefined;
  const schema = named(body, `${capital(operationId)}Body`, known);
  return {
    required: !body.safeParse({}).success,
    content: Object.fromEntries(bodyKinds.map((kind) => [MEDIA_TYPES[kind], media(schema, example)])),
  };
};

const ENTITLEMENTS: Readonly<Record<'ledger' | 'assistant' | 'webhooks', string>> = {
  ledger: 'The tenant needs the entitlement `ledger`.',
  assistant: 'The tenant needs the assistant.',
  webhooks: 'The tenant needs a paid plan.',
};

const permissions = (access: Access): string => {
  if (access.kind === 'public') return 'Needs no credential.';
  const { roles, scope, permission, entitlement } = access;
  return [
    ...(roles?.includes('admin') === true ? ['People need the role `admin`.'] : []),
    ...(scope === undefined ? [] : [`Extensions and API tokens need the scope \`${scope}\`.`]),
    ...(permission === undefined ? [] : [`Needs the permission \`${permission}\`.`]),
    ...(entitlement === undefined ? [] : [ENTITLEMENTS[entitlement]]),
  ].join(' ');
};

export const templated = (path: string): string => path.replaceAll(/:([A-Za-z0-9_]+)/g, '{$1}');

const alsoAt = ({ aliases = [] }: Route): string =>
  aliases.length === 0 ? '' : `Also served at ${aliases.map((path) => `\`${templated(path)}\``).join(', ')}.`;

export const operationOf = (
  route: Route,
  example: OperationExample | undefined,
  known: Named,
): ZodOpenApiOperationObject => {
  const { access, aliases } = route;
  const body = requestBody(route, example?.body, known);
  const headers = headersOf(route);
  const responses = errorResponses(route);
  const successes = Object.entries(route.responses).map(([status, schema]) => [
    status,
    success(route, status, schema, example, known),
  ]);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: [route.description, permissions(access), ownErrors(route), alsoAt(route)]
      .filter((part) => part !== '')
      .join('\n\n'),
    tags: [route.tag],
    security: access.kind === 'public' ? [] : access.kinds.map((kind) => ({ [SCHEMES[kind].name]: [] })),
    requestParams: parametersOf(route),
    ...(headers.length === 0 ? {} : { parameters: headers }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...responses, ...Object.fromEntries(successes) },
    ...(aliases === undefined ? {} : { 'x-aliases': aliases.map(templated) }),
  };
};
