import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { ERROR_CODES, type ErrorCode } from '../../domain/core/errors.ts';
import { STATUS_OF } from '../http/errors.ts';
import type { Route } from '../http/route.ts';
import { errorCodes } from '../http/route-errors.ts';
import { errorBody } from '../http/schemas.ts';

/** Defines each error answer once, and the references from operations to these answers. */

interface ErrorResponse {
  /** Key in `components.responses`. */
  readonly name: string;
  readonly meaning: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const RETRY_AFTER = { 'Retry-After': 'Seconds to wait before the next try.' };

const RESPONSES = {
  400: { name: 'BadRequest', meaning: 'The request is malformed. `details.issues` names each wrong part.' },
  401: {
    name: 'Unauthorized',
    meaning: 'The credential is missing, expired or not valid.',
    headers: { 'WWW-Authenticate': '`Bearer`.' },
  },
  402: {
    name: 'PaymentRequired',
    meaning: 'The tenant lacks the entitlement for this area. `details.listing_slug` names it.',
  },
  403: { name: 'Forbidden', meaning: 'The credential is valid but does not allow this.' },
  404: {
    name: 'NotFound',
    meaning: 'It does not exist in the caller’s tenant. Resources of other tenants get the same answer.',
  },
  409: { name: 'Conflict', meaning: 'The current state does not allow it, or another request came first.' },
  413: { name: 'PayloadTooLarge', meaning: 'The body is too large: usually more than 1 MiB.' },
  415: {
    name: 'UnsupportedMediaType',
    meaning: 'The body has a media type that this operation does not accept.',
  },
  422: {
    name: 'Unprocessable',
    meaning: 'The request is well formed, but a business rule refuses it.',
  },
  429: {
    name: 'TooManyRequests',
    meaning: 'A limit is reached; `details.limit` names it. Wait, then try again.',
    headers: RETRY_AFTER,
  },
  431: { name: 'HeadersTooLarge', meaning: 'The headers of the request are larger than 16 KiB.' },
  500: {
    name: 'InternalError',
    meaning: 'An error of the server. Retry later with the same idempotency key.',
  },
  503: {
    name: 'Unavailable',
    meaning:
      'The server is temporarily unavailable. Retry, unless the code is `embedding_model_unavailable`.',
    headers: RETRY_AFTER,
  },
} as const satisfies Readonly<Record<number, ErrorResponse>>;

type ErrorStatus = keyof typeof RESPONSES;

const isErrorStatus = (status: number): status is ErrorStatus => status in RESPONSES;

/** The status of a code, as a key of `RESPONSES`. */
const statusOf = (code: ErrorCode): ErrorStatus => {
  const status = STATUS_OF[code];
  if (!isErrorStatus(status))
    throw new Error(`the document does not describe the status ${status} of ${code}`);
  return status;
};

const list = (codes: readonly string[]): string => codes.map((code) => `\`${code}\``).join(', ');

/** `components.responses`. */
export const errorComponents = (
  example: (status: number) => unknown,
): Record<string, ZodOpenApiResponseObject> =>
  Object.fromEntries(
    Object.entries<ErrorResponse>(RESPONSES).map(([key, { name, meaning, headers = {} }]) => {
      const status = Number(key);
      const codes =
        status === 431 ? ['payload_too_large'] : ERROR_CODES.filter((code) => STATUS_OF[code] === status);
      const shown = example(status);
      const described = Object.entries(headers).map(
        ([header, description]) => [header, { description, schema: { type: 'string' as const } }] as const,
      );
      return [
        name,
        {
          description: `${meaning} Codes: ${list(codes)}.`,
          ...(described.length === 0 ? {} : { headers: Object.fromEntries(described) }),
          content: {
            'application/json': { schema: errorBody, ...(shown === undefined ? {} : { example: shown }) },
          },
        },
      ];
    }),
  );

/** References to the error answers that an operation may give. */
export const errorResponses = (route: Route): ZodOpenApiResponsesObject => {
  const statuses = new Set<ErrorStatus>([431]);
  for (const code of errorCodes(route)) statuses.add(statusOf(code));
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map((status) => [status, { $ref: `#/components/responses/${RESPONSES[status].name}` }]),
  );
};

/** A sentence for the description: the error codes that the route itself lists, by status. */
export const ownErrors = (route: Route): string => {
  const codes = [...new Set(route.errors ?? [])].filter((code) =>
    ERROR_CODES.some((known) => known === code),
  );
  if (codes.length === 0) return '';
  const byStatus = Map.groupBy(codes, (code) => statusOf(code as ErrorCode));
  const parts = [...byStatus].sort(([a], [b]) => a - b).map(([status, of]) => `${status} ${list(of)}`);
  return `Errors of its own: ${parts.join('; ')}.`;
};
