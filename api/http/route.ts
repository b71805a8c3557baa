import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Principal, PrincipalKind, Role } from '../../application/core/commands/principal.ts';
import type { IdempotencyUse, RequestContext } from '../../application/core/commands/request-context.ts';
import type { Position } from '../../application/ports/event-store.ts';
import type { Scope } from '../../domain/identity/scopes.ts';
import type { ErrorAnswer } from './errors.ts';
import type { BodyKind } from './media-types.ts';

/**
 * A route is data: one entry validates requests, decides access, and appears in `/openapi.json`. Handlers are
 * functions from a checked request to a reply.
 */

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Delegated credentials that a route for persons may refuse. */
export type Delegated = 'api_token' | 'extension' | 'test_token' | 'impersonation';

/** Access of a route. `public` routes ignore credentials. */
export type Access =
  | { readonly kind: 'public' }
  | {
      readonly kind: 'principals';
      /** Kinds of one credential family; credentials of another family are `invalid_credential`. */
      readonly kinds: readonly PrincipalKind[];
      /** A person needs one of these roles, else gets `admin_required`. Not checked for other kinds. */
      readonly roles?: readonly Role[];
      /** The scope that extensions and API tokens need; set exactly when `kinds` has one of these. */
      readonly scope?: Scope;
      /** Answered with `delegated_credential_refused` (`forbidden` for an impersonation). */
      readonly refuses?: readonly Delegated[];
      /** Required of the tenant, else 403; for `ledger` 402, before any 403. `webhooks` requires a paid plan. */
      readonly entitlement?: 'ledger' | 'assistant' | 'webhooks';
      /** The permission that a partner needs; without it: `partner_permission_missing`. */
      readonly permission?: string;
    };

/** The stored bytes of an upload. */
export interface ReceivedFile {
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** The part `file` of a request, whose bytes are stored before the handler runs. */
export interface Upload extends ReceivedFile {
  /** From the client; may be any text. */
  readonly filename: string | undefined;
  readonly contentType: string;
}

/** How a route accepts a file, as `multipart/form-data`; other fields of the form are its body. */
export interface UploadRules<P, A extends Principal = Principal> {
  /** Maximum bytes of the file. */
  readonly limit: number;
  /** ms for the whole upload, and between two chunks of it; see `multipart.ts`. */
  readonly totalMs?: number;
  readonly idleMs?: number;
  /**
   * Runs before bytes are read, so that nothing is stored for a 404. Not called if the idempotency key has an answer.
   */
  readonly admit: (request: UploadRequest<P, A>) => Promise<void>;
  /** Stores the bytes; when `source` fails, `receive` must fail and leave no bytes. */
  readonly receive: (request: UploadRequest<P, A>, source: Readable) => Promise<ReceivedFile>;
  /** Deletes the stored file of a request that does not reach the handler. */
  readonly drop: (request: UploadRequest<P, A>, receivedId: string) => Promise<void>;
}

export interface UploadRequest<P, A extends Principal = Principal> {
  readonly principal: A;
  readonly params: P;
}

/** Names are written as in their standards, so that an answer's own headers replace those of every answer. */
export type HeaderValues = Readonly<Record<Capitalize<string>, string>>;

export interface Reply {
  readonly status: number;
  /** Sent as JSON, unless `headers` sets `Content-Type` (see `send`); undefined: no body. */
  readonly body?: unknown;
  readonly headers?: HeaderValues;
  /** Becomes `X-Event-Position`: the log position of the write. */
  readonly position?: Position | undefined;
  /** Becomes `Link: <…>; rel="next"`: query parameters that replace those of the request. */
  readonly next?: Readonly<Record<string, string>> | undefined;
  /**
   * Ids of the data keys of personal texts in the body. They seal an answer stored for an idempotency key, so that
   * erasing any of these texts erases the answer.
   */
  readonly personal?: readonly string[];
  /** Top-level keys of the body that are never stored with an idempotency key. */
  readonly secrets?: readonly string[];
}

export interface RouteRequest<P, Q, B, A extends Principal = Principal> {
  /** Undefined on public routes, like `context`. */
  readonly principal: A;
  /** Cause and ids for commands. */
  readonly context: RequestContext;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** `X-Request-Id`, given or generated: the correlation id of every event of the request. */
  readonly requestId: string;
  /** Present with `Idempotency-Key`: unique per tenant, caller (or public path) and key. */
  readonly idempotency: IdempotencyUse | undefined;
  /** Address of the client, by `TRUST_PROXY`. */
  readonly ip: string;
  /** Scheme and host of the request, by `TRUST_PROXY`. @throws {DomainError} 400 for an invalid `Host` */
  readonly origin: () => string;
  readonly headers: IncomingHttpHeaders;
  /** Present only on routes with `upload`. */
  readonly upload: Upload | undefined;
}

export interface Route {
  readonly method: Method;
  /** Express path (`:id`). */
  readonly path: string;
  /** Further paths of the same endpoint (specification paths without the prefix). */
  readonly aliases?: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  /** Further text for callers in the OpenAPI document, in Markdown. */
  readonly description: string;
  readonly tag: string;
  readonly access: Access;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** Ignores unknown query parameters: for links that others extend, and answers of identity providers. */
  readonly openQuery?: true;
  readonly body?: z.ZodType;
  /** Success answers by status; `null` for no body. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>;
  /** Error codes beyond those that follow from the other members (`errorCodes`). */
  readonly errors?: readonly string[];
  /** Projections that the handler reads: they must include the tenant's answered writes. */
  readonly reads?: readonly string[];
  /** The handler checks `If-Match` against the `ETag` of the changed resource. */
  readonly honoursIfMatch?: boolean;
  /** Only a few expensive requests of a tenant run at a time, see `expensive-requests.ts`. */
  readonly expensive?: boolean;
  /** Starts at once instead of in its owner's time slice, so that monitoring gets answers from a busy process. */
  readonly isPrompt?: boolean;
  /** Maximum bytes of a body; default 1 MiB. */
  readonly bodyLimit?: number;
  /** Maximum number of values in a JSON body; default 100,000. */
  readonly valueLimit?: number;
  /** Accepted kinds of body; default JSON. */
  readonly bodyKinds?: readonly Exclude<BodyKind, 'multipart'>[];
  /** Makes the body multipart, with a file. */
  readonly upload?: UploadRules<never, never>;
  /** Media type of a success answer without a schema, or of an alternative to the JSON answer. */
  readonly produces?: string;
  /**
   * `login`: the login limits, in addition to the credential's limit. `public`: 30 a minute per address and route, for
   * public routes that write, or whose callers could guess a secret.
   */
  readonly limit?: 'login' | 'public';
  /** Public routes only: accepts `Idempotency-Key`, shared by all callers of the same path. */
  readonly keyedBy?: 'stranger';
  /** The page that replaces a JSON error for browsers; undefined keeps the JSON. Status and headers are the error's. */
  readonly errorPage?: (error: ErrorAnswer, headers: IncomingHttpHeaders) => Page | undefined;
  readonly handle: (request: RouteRequest<never, never, never, never>) => Promise<Reply>;
}

export interface Page {
  readonly body: string;
  /** Includes `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Shared members of public GET routes with the tag Operations, such as health, metrics and pages. */
export const operatorRoute = { method: 'get', tag: 'Operations', access: { kind: 'public' } } as const;

type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A route with its schemas' types: the handler gets exactly what was validated. */
export type Definition<
  A extends Principal,
  P extends z.ZodType | undefined,
  Q extends z.ZodType | undefined,
  B extends z.ZodType | undefined,
> = Omit<Route, 'handle' | 'params' | 'query' | 'body' | 'upload'> & {
  params?: P;
  query?: Q;
  body?: B;
  upload?: UploadRules<Out<P>, A>;
  handle: (request: RouteRequest<Out<P>, Out<Q>, Out<B>, A>) => Promise<Reply>;
};

/** Pairs schemas and handler types; the pipeline validates with the same schemas. */
export const route = <
  A extends Principal,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(
  definition: Definition<A, P, Q, B>,
): Route => definition as unknown as Route;
