import { parse as parseQuery } from 'node:querystring';
import type { z } from 'zod';
import type { Position } from '../../application/ports/event-store.ts';
import { type CredentialFamily, callerKey, type Principal } from '../../application/principal.ts';
import type { KeyInUse } from '../../application/request-context.ts';
import { invalid, notFound } from '../../domain/errors.ts';
import { accessFamily, bearerToken, checkAccess, checkTenant } from './authorization.ts';
import { type JsonBody, readBody } from './body.ts';
import type { HttpDeps } from './deps.ts';
import { rateLimited } from './errors.ts';
import { type Exchange, replyHeaders } from './exchange.ts';
import { fingerprint, type Idempotency, parseIdempotencyKey } from './idempotency.ts';
import { SENTENCES, validationError } from './issues.ts';
import type { Reply, Route } from './route.ts';
import { isKeyed } from './route-errors.ts';

/** 1 MiB (decisions, section 1). */
export const DEFAULT_BODY_LIMIT = 1_048_576;

const EMPTY: JsonBody = Object.freeze({});

type Checked = Readonly<Record<'params' | 'query' | 'body', unknown>> & {
  readonly minPosition: Position | undefined;
};

const check = (schema: z.ZodType | undefined, value: unknown): unknown => {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value, SENTENCES);
  if (result.success) return result.data;
  throw validationError(result.error.issues);
};

const refuse = (wait: number | undefined): void => {
  if (wait !== undefined) throw rateLimited(wait);
};

/**
 * One route, ready to serve: the checks in the order of decisions, section 2, then the handler. What can be decided
 * once per route is decided in the constructor; what need not wait does not.
 */
export class Endpoint {
  readonly route: Route;
  readonly #deps: HttpDeps;
  readonly #idempotency: Idempotency;
  /** Undefined on public routes. */
  readonly #family: CredentialFamily | undefined;
  readonly #bodyLimit: number;
  readonly #keyed: boolean;
  readonly #reads: readonly string[] | undefined;
  /** Whether `X-Min-Position` is looked at: on every read, and where a write reads first. */
  readonly #waits: boolean;

  constructor(route: Route, deps: HttpDeps, idempotency: Idempotency) {
    const { access } = route;
    this.route = route;
    this.#deps = deps;
    this.#idempotency = idempotency;
    this.#family = access.kind === 'public' ? undefined : accessFamily(access, route.operationId);
    this.#bodyLimit = route.bodyLimit ?? DEFAULT_BODY_LIMIT;
    this.#keyed = isKeyed(route);
    this.#reads = route.reads?.length ? route.reads : undefined;
    this.#waits = this.#reads !== undefined || (route.method === 'get' && access.kind === 'principals');
  }

  /** @param names @param values of the path's variables, values still percent-encoded */
  async serve(exchange: Exchange, names: readonly string[], values: readonly string[]): Promise<Reply> {
    const { route } = this;
    const { request, search } = exchange;
    const principal = await this.#admit(exchange);
    const body = (await readBody(request, this.#bodyLimit)) ?? EMPTY;
    const query = search === '' ? EMPTY : parseQuery(search, undefined, undefined, { maxKeys: 0 });
    if (principal !== undefined) {
      if (body.tenant_id !== undefined) checkTenant(principal, body.tenant_id);
      if (query.tenant_id !== undefined) checkTenant(principal, query.tenant_id);
    }
    if (route.limit === 'login' && typeof body.email === 'string') {
      refuse(this.#deps.limits.loginAs(body.email));
    }
    const asked = {
      query: check(route.query, query),
      body: check(route.body, body),
      minPosition: this.#waits ? this.#minPosition(exchange) : undefined,
    };
    const header = this.#keyed ? request.headers['idempotency-key'] : undefined;
    const key = header === undefined ? undefined : parseIdempotencyKey(header);
    // Behind all that is 400: a malformed id is answered like an unknown one.
    const checked: Checked = { ...asked, params: this.#params(names, values) };
    if (key === undefined || principal === undefined) {
      return this.#perform(exchange, principal, checked, undefined);
    }
    const keyed = {
      scope: callerKey(principal),
      key,
      fingerprint: fingerprint(route.method, exchange.path, body === EMPTY ? undefined : body),
    };
    const reply = await this.#idempotency.run(
      keyed,
      (inUse) => this.#perform(exchange, principal, checked, inUse),
      (made) => replyHeaders(exchange, made),
    );
    this.#noteReplayed(principal, reply);
    return reply;
  }

  /** Credential, kind and role, rate limit. Gives a promise only where `authenticate` does. */
  #admit(exchange: Exchange): Principal | undefined | Promise<Principal> {
    const { limit } = this.route;
    if (this.#family === undefined) {
      if (limit === 'login') refuse(this.#deps.limits.loginFrom(this.#address(exchange)));
      return undefined;
    }
    const found = this.#deps.authenticate(bearerToken(exchange.request), this.#family);
    return found instanceof Promise
      ? found.then((principal) => this.#welcome(principal))
      : this.#welcome(found);
  }

  #welcome(principal: Principal): Principal {
    const { access } = this.route;
    if (access.kind === 'principals') checkAccess(access, principal);
    refuse(this.#deps.limits.request(callerKey(principal)));
    return principal;
  }

  /** @throws {DomainError} 404: a malformed id is answered like an unknown one */
  #params(names: readonly string[], values: readonly string[]): unknown {
    if (names.length === 0 && this.route.params === undefined) return undefined;
    const params: Record<string, string> = {};
    names.forEach((name, i) => {
      const value = values[i] ?? '';
      params[name] = value.includes('%') ? decode(value) : value;
    });
    if (this.route.params === undefined) return params;
    const result = this.route.params.safeParse(params);
    if (!result.success) throw notFound();
    return result.data;
  }

  async #perform(
    exchange: Exchange,
    principal: Principal | undefined,
    { params, query, body, minPosition }: Checked,
    idempotency: KeyInUse | undefined,
  ): Promise<Reply> {
    if (this.#reads !== undefined || minPosition !== undefined) {
      const waiting = this.#deps.waitForReads({
        tenantId: tenantOf(principal),
        projections: this.#reads ?? [],
        minPosition,
      });
      if (waiting !== undefined) await waiting;
    }
    const request = {
      principal,
      params,
      query,
      body,
      requestId: exchange.requestId,
      idempotency,
      ip: this.#address(exchange),
    };
    // `route()` tied the handler's types to these very schemas and forgot them; they cannot be named again here.
    const reply = await this.route.handle(request as never);
    if (reply.position !== undefined) this.#deps.answered(tenantOf(principal), reply.position);
    return reply;
  }

  /** A stored answer may be another process's: what it wrote is read here from now on as well. */
  #noteReplayed(principal: Principal, { headers }: Reply): void {
    const text = headers?.['X-Event-Position'];
    const position = text === undefined ? undefined : this.#deps.parsePosition(text);
    if (position !== undefined) this.#deps.answered(tenantOf(principal), position);
  }

  #minPosition({ request }: Exchange): Position | undefined {
    const header = request.headers['x-min-position'];
    if (header === undefined) return undefined;
    const position = typeof header === 'string' ? this.#deps.parsePosition(header) : undefined;
    if (position !== undefined) return position;
    const message = 'X-Min-Position is not a position.';
    throw invalid([{ path: 'X-Min-Position', code: 'invalid_format', message }]);
  }

  /** Express reads `X-Forwarded-For` only behind `TRUST_PROXY`; without it the socket says it at once. */
  #address({ request }: Exchange): string {
    const trusted = this.#deps.trustProxy !== undefined && this.#deps.trustProxy !== false;
    return (trusted ? request.ip : request.socket.remoteAddress) ?? '';
  }
}

/** Undefined for platform admins and public routes: they belong to no tenant. */
const tenantOf = (principal: Principal | undefined): string | undefined =>
  principal !== undefined && 'tenantId' in principal ? principal.tenantId : undefined;

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
};
