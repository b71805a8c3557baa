import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Principal, PrincipalKind, Role } from '../../application/core/commands/principal.ts';
import type { IdempotencyUse } from '../../application/core/commands/request-context.ts';
import type { ImpersonationLog } from '../../application/core/events/event-codec.ts';
import type { Position } from '../../application/ports/event-store.ts';
import type { Scope } from '../../domain/identity/scopes.ts';
import type { ErrorAnswer } from './errors.ts';
import type { BodyKind } from './media-types.ts';

/**
 * A route is data: the same entry validates requests, decides who may call, and is documented in
 * `/openapi.json`. Handlers are functions from a checked request to a reply.
 */

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Credentials that a route may refuse although it takes persons. */
export type Delegated = 'api_token' | 'extension' | 'test_token' | 'impersonation';

/** Who may call. `public` routes see no credential. */
export type Access =
  | { readonly kind: 'public' }
  | {
      readonly kind: 'principals';
      /** Kinds of one credential family; a credential of another family is `invalid_credential`. */
      readonly kinds: readonly PrincipalKind[];
      /** Of persons; `admin_required` for others. */
      readonly roles?: readonly Role[];
      /** Of extensions and API tokens; there exactly where `kinds` has them. */
      readonly scope?: Scope;
      /** `delegated_credential_refused` for these (`forbidden` for an impersonation). */
      readonly refuses?: readonly Delegated[];
      /** What the tenant must be entitled to: `ledger` 402 before any 403, `assistant` 403, `webhooks` a paid plan, 403. */
      readonly entitlement?: 'ledger' | 'assistant' | 'webhooks';
      /** Of partners; `partner_permission_missing` for others. */
      readonly permission?: string;
    };

/** Where the bytes of an upload went, and what they are. */
export interface ReceivedFile {
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** The part `file` of a request: its bytes are stored, and the handler decides what becomes of them. */
export interface Upload extends ReceivedFile {
  /** As the client said; may be anything. */
  readonly filename: string | undefined;
  readonly contentType: string;
}

/** How a route takes a file, as `multipart/form-data`; other fields of the form are its body. */
export interface UploadRules<P, A extends Principal = Principal> {
  /** Bytes of the file that are still taken. */
  readonly limit: number;
  /** ms for the whole upload, and between two pieces of it; see `multipart.ts`. */
  readonly totalMs?: number;
  readonly idleMs?: number;
  /** Told before anything is read, so that nothing is stored for what is a 404. */
  readonly admit: (request: UploadRequest<P, A>) => Promise<void>;
  /** Takes the bytes; when `source` fails it must fail too, and leave nothing. */
  readonly receive: (request: UploadRequest<P, A>, source: Readable) => Promise<ReceivedFile>;
  /** Takes away what was received, of a request that never comes to the handler. */
  readonly drop: (request: UploadRequest<P, A>, receivedId: string) => Promise<void>;
}

export interface UploadRequest<P, A extends Principal = Principal> {
  readonly principal: A;
  readonly params: P;
}

export interface Reply {
  readonly status: number;
  /** Sent as JSON; undefined: no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Becomes `X-Event-Position`: where the write ended in the log. */
  readonly position?: Position | undefined;
  /** Becomes `Link: <…>; rel="next"`: query parameters that replace those of the request. */
  readonly next?: Readonly<Record<string, string>> | undefined;
  /**
   * Ids of the data keys of personal texts in the body. An answer kept for an idempotency key is sealed with all of
   * them, so that it goes when any of these texts goes.
   */
  readonly personal?: readonly string[];
  /** Top-level keys of the body that are shown once and never kept with an idempotency key. */
  readonly secrets?: readonly string[];
}

export interface RouteRequest<P, Q, B, A extends Principal = Principal> {
  readonly principal: A;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** `X-Request-Id`, taken over or made: the correlation id of every event the request causes. */
  readonly requestId: string;
  /** Present for a request with `Idempotency-Key`: unique per tenant, caller (or public path) and key. */
  readonly idempotency: IdempotencyUse | undefined;
  /** Address of the client, by `TRUST_PROXY`. */
  readonly ip: string;
  /** Scheme and host by which the client called, by `TRUST_PROXY`. @throws {DomainError} 400 for a broken `Host` */
  readonly origin: () => string;
  /** Of a request under impersonation: part of the cause of its commands. */
  readonly impersonationLog?: ImpersonationLog | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Present exactly on routes with `upload`. */
  readonly upload: Upload | undefined;
}

export interface Route {
  readonly method: Method;
  /** Express path (`:id`). */
  readonly path: string;
  /** Further paths that serve the same (specification paths without the prefix). */
  readonly aliases?: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  readonly access: Access;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Success answers by status; `null` for no body. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>;
  /** Error codes beyond those that every route may answer. */
  readonly errors?: readonly string[];
  /** Projections whose documents the handler reads: they must have reached the tenant's answered writes. */
  readonly reads?: readonly string[];
  /** The handler honours `If-Match`, against the `ETag` of what it changes. */
  readonly honoursIfMatch?: boolean;
  /** Bytes of a body that are still read; 1 MiB unless given. */
  readonly bodyLimit?: number;
  /** What the body may be; JSON unless given. */
  readonly bodyKinds?: readonly Exclude<BodyKind, 'multipart'>[];
  /** Makes the body multipart, with a file. */
  readonly upload?: UploadRules<never, never>;
  /** The media type of a success without a schema, or what it may be beside JSON: bytes. */
  readonly produces?: string;
  /**
   * Counted by the login limits instead of the credential's; `public`: 30 a minute per address and route, for public
   * routes that guess or write.
   */
  readonly limit?: 'login' | 'public';
  /** Of a public route: `Idempotency-Key` counts, among all strangers who call it with the same path. */
  readonly keyedBy?: 'stranger';
  /**
   * The page instead of an error in JSON, for a body or an `Accept` of a browser; undefined leaves the JSON. Status and
   * headers are the error's own.
   */
  readonly errorPage?: (error: ErrorAnswer, headers: IncomingHttpHeaders) => Page | undefined;
  readonly handle: (request: RouteRequest<never, never, never, never>) => Promise<Reply>;
}

export interface Page {
  readonly body: string;
  /** `Content-Type` among them. */
  readonly headers: Readonly<Record<string, string>>;
}

type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A route with its schemas' types: the handler sees exactly what was validated. */
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

/** The types are paired here once; the pipeline validates with the very schemas that made them. */
export const route = <
  A extends Principal,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(
  definition: Definition<A, P, Q, B>,
): Route => definition as unknown as Route;
