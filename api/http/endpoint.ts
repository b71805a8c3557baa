import {
  type CredentialFamily,
  callerKey,
  type Principal,
} from '../../application/core/commands/principal.ts';
import { type IdempotencyUse, requestContext } from '../../application/core/commands/request-context.ts';
import { mark } from '../../application/core/concurrency/tick-marks.ts';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import { monotonic } from '../../application/core/runtime/timers.ts';
import type { Position } from '../../application/ports/event-store.ts';
import { invalid, notFound } from '../../domain/core/errors.ts';
import { clientAddress, originOf } from './address.ts';
import { accessFamily, admitTo, bearerToken } from './authorization.ts';
import { type BodyRules, DEFAULT_VALUE_LIMIT, type JsonBody, readBody } from './body.ts';
import { checkBounded } from './bounded-bodies.ts';
import { check, checkNamed, decode, sliceOwnerOf, tenantOf } from './checks.ts';
import { takeReadSlot } from './concurrent-reads.ts';
import type { HttpDeps } from './deps.ts';
import { type Exchange, replyHeaders } from './exchange.ts';
import { headerValues } from './header-values.ts';
import { type Idempotency, parseIdempotencyKey, strangersScope } from './idempotency.ts';
import { impersonationLogOf } from './impersonation-log.ts';
import { JSON_ONLY } from './media-types.ts';
import type { ObserveAnswer } from './metrics.ts';
import { checkMultipart } from './multipart.ts';
import { checkQueryNames, queryNames, queryOf } from './query.ts';
import { countRequest, refuse } from './rate-limits.ts';
import type { Reply, Route, UploadRules } from './route.ts';
import { isKeyed } from './route-errors.ts';
import type { Segments } from './router.ts';
import { type ReadUpload, withUpload } from './upload.ts';

/** 1 MiB (decisions, section 1). */
export const DEFAULT_BODY_LIMIT = 1_048_576;

/** A credential check older than this (ms) is repeated before the handler runs. */
const TRUSTED_MS = 50;
const EMPTY: JsonBody = Object.freeze({});

/** Checked query and headers of a request; the path is checked later. */
interface Head {
  readonly query: unknown;
  readonly minPosition: Position | undefined;
  readonly key: string | undefined;
}

interface Checked extends Head {
  readonly params: unknown;
  readonly body: unknown;
}

/**
 * A route ready to serve. {@link Endpoint.serve} runs the checks in the order of decisions, section 2, then calls the
 * handler.
 */
export class Endpoint {
  readonly route: Route;
  readonly observe: ObserveAnswer;
  readonly #deps: HttpDeps;
  readonly #idempotency: Idempotency;
  readonly #keyed: boolean;
  readonly #queryNames: readonly string[];
  readonly #bodyRules: BodyRules;
  /** Undefined on public routes. */
  readonly #family: CredentialFamily | undefined;

  /** @throws for a route with an inconsistent access entry, or a list in its body that is not bounded */
  constructor(route: Route, deps: HttpDeps, idempotency: Idempotency) {
    const { access, operationId, method, path } = route;
    checkBounded(route);
    this.route = route;
    this.observe = deps.metrics.route(method.toUpperCase(), path);
    this.#deps = deps;
    this.#idempotency = idempotency;
    this.#keyed = isKeyed(route);
    this.#queryNames = queryNames(route.query);
    this.#bodyRules = {
      limit: route.bodyLimit ?? DEFAULT_BODY_LIMIT,
      valueLimit: route.valueLimit ?? DEFAULT_VALUE_LIMIT,
      kinds: route.bodyKinds ?? JSON_ONLY,
      isTimed: route.expensive === true,
    };
    this.#family = access.kind === 'public' ? undefined : accessFamily(access, operationId);
  }

  async serve(exchange: Exchange, segments: Segments): Promise<Reply> {
    const { route } = this;
    mark(route.operationId);
    const principal = await this.#admit(exchange, segments);
    if (route.upload !== undefined) return this.#serveUpload(exchange, principal, segments);
    // While the request waits here, its body stays unread.
    if (route.expensive && principal) await this.#deps.expensive.begin(principal, exchange.response);
    const slice = timeSlices.of(sliceOwnerOf(principal), route.operationId);
    const reading = readBody(exchange.request, this.#bodyRules, slice);
    const body = reading === undefined ? EMPTY : ((await reading) ?? EMPTY);
    // Distributes requests that arrive together over several ticks, fairly among tenants.
    if (reading === undefined && route.isPrompt !== true) await slice.begin();
    // Answers sent meanwhile may have used up the caller's limit of unread answers.
    if (principal !== undefined) exchange.pending.admit(principal);
    else if (route.method === 'get' && route.isPrompt !== true)
      exchange.pending.admitStranger(exchange.request.socket);
    if (route.limit === 'login' && typeof body.email === 'string') {
      refuse(this.#deps.limits.loginAs(body.email, this.#address(exchange)), 'address');
    }
    mark(route.operationId);
    checkNamed(principal, body);
    const head = this.#head(exchange, principal);
    // A malformed id is a 404 like an unknown one, so the path is checked after the query, headers and body, whose
    // checks throw 400.
    const checked = { ...head, body: check(route.body, body), params: this.#params(segments) };
    return this.#once(exchange, principal, checked, body === EMPTY ? undefined : body, (use) =>
      this.#perform(exchange, principal, checked, use),
    );
  }

  /**
   * Checks credential, rate limit, pending answers, then kind, role, scope and entitlement.
   * @throws {DomainError} 401, 402, 403, 429, 503
   */
  async #admit(exchange: Exchange, segments: Segments): Promise<Principal | undefined> {
    const { route } = this;
    const { limits, appendLine } = this.#deps;
    if (this.#family === undefined) {
      if (route.limit === 'login') refuse(limits.loginFrom(this.#address(exchange)), 'address');
      if (route.limit === 'public') {
        refuse(limits.publicFrom(this.#address(exchange), route.operationId), 'address');
      }
      return undefined;
    }
    exchange.admittedAt = monotonic();
    const { request, requestId } = exchange;
    const principal = await this.#deps.authenticate(bearerToken(request), this.#family);
    exchange.principal = principal;
    const params = (): unknown => this.#params(segments);
    exchange.impersonationLog = impersonationLogOf(request, requestId, route, principal, params, appendLine);
    // Counts before the access checks, because refused requests also cost work.
    try {
      countRequest(limits, principal);
    } finally {
      exchange.limitHeaders = limits.headersOf(principal);
    }
    // The body has a password, which could be a guess, so the request counts like a login.
    if (route.limit === 'login' && principal.kind === 'user') {
      refuse(limits.loginAs(principal.email, this.#address(exchange)), 'address');
    }
    exchange.pending.admit(principal);
    return this.#checkAccess(principal);
  }

  /** Repeats the checks of credential and access after `TRUSTED_MS`: the credential may have been revoked. */
  async #stillAdmitted(exchange: Exchange, admitted: Principal | undefined): Promise<Principal | undefined> {
    if (this.#family === undefined || monotonic() - exchange.admittedAt < TRUSTED_MS) return admitted;
    return this.#checkAccess(await this.#deps.authenticate(bearerToken(exchange.request), this.#family));
  }

  /**
   * Serves an upload. Checks that need no bytes, 404s included, run before any byte is read; the other checks run
   * afterwards. Bytes of a request that does not reach the handler are deleted.
   */
  async #serveUpload(
    exchange: Exchange,
    principal: Principal | undefined,
    segments: Segments,
  ): Promise<Reply> {
    const { route } = this;
    const { request, requestId } = exchange;
    if (route.upload === undefined || principal === undefined) throw new Error('a route takes no uploads');
    // The compiler checked these types at `route()`, which erases them.
    const rules = route.upload as unknown as UploadRules<unknown>;
    checkMultipart(request, rules);
    const head = this.#head(exchange, principal);
    const params = this.#params(segments);
    const uploadRequest = { principal, params };
    // A repeated request gets the stored answer, even if the record has changed since.
    const isRepeated =
      head.key !== undefined && (await this.#idempotency.hasAnswered(callerKey(principal), head.key));
    if (!isRepeated) await rules.admit(uploadRequest);
    const onLeft = (err: unknown): void =>
      this.#deps.logger.warn({ err, request_id: requestId }, 'an unused upload could not be removed');
    return await withUpload(exchange, rules, uploadRequest, onLeft, (upload) => {
      checkNamed(principal, upload.fields);
      const checked = { ...head, params, body: check(route.body, upload.fields) };
      return this.#once(exchange, principal, checked, upload.sameAs, (use) =>
        this.#perform(exchange, principal, checked, use, upload),
      );
    });
  }

  /** @throws {DomainError} 400, 403 */
  #head({ request, search }: Exchange, principal: Principal | undefined): Head {
    const query = queryOf(search);
    checkNamed(principal, query);
    if (this.route.openQuery !== true) checkQueryNames(query, this.#queryNames);
    const { headers } = request;
    const isGiven = this.#keyed && headers['idempotency-key'] !== undefined;
    const key = isGiven ? headerValues(request, 'idempotency-key') : undefined;
    return {
      query: check(this.route.query, query),
      minPosition: this.#minPosition(headers['x-min-position']),
      key: key === undefined ? undefined : parseIdempotencyKey(key),
    };
  }

  /** `X-Min-Position` applies to routes that read projections, and to every GET that needs a credential. */
  #minPosition(header: string | string[] | undefined): Position | undefined {
    const { access, method, reads = [] } = this.route;
    const counts = reads.length > 0 || (method === 'get' && access.kind === 'principals');
    if (header === undefined || !counts) return undefined;
    const position = typeof header === 'string' ? this.#deps.parsePosition(header) : undefined;
    if (position !== undefined) return position;
    const message = 'X-Min-Position is not a position.';
    throw invalid([{ path: 'X-Min-Position', code: 'invalid_format', message }]);
  }

  /** @throws {DomainError} 404 for a malformed id, like an unknown one */
  #params(segments: Segments): unknown {
    const schema = this.route.params;
    if (segments.length === 0 && schema === undefined) return undefined;
    const params = Object.fromEntries(segments.map(([name, value]) => [name, decode(value)]));
    if (schema === undefined) return params;
    const result = schema.safeParse(params);
    if (!result.success) throw notFound();
    return result.data;
  }

  /** @param body identifies repetitions of a request, together with method and path */
  async #once(
    exchange: Exchange,
    principal: Principal | undefined,
    { key, params }: Checked,
    body: unknown,
    perform: (use: IdempotencyUse | undefined) => Promise<Reply>,
  ): Promise<Reply> {
    if (key === undefined) return perform(undefined);
    const { method, operationId } = this.route;
    const keyed = {
      scope: principal === undefined ? strangersScope(operationId, params ?? {}) : callerKey(principal),
      key,
      fingerprint: await this.#deps.fingerprint(method, exchange.path, body, sliceOwnerOf(principal)),
    };
    const reply = await this.#idempotency.run(keyed, perform, (made) => replyHeaders(exchange, made));
    // The stored answer may come from another process; later reads in this process must include its write.
    const text = reply.headers?.['X-Event-Position'];
    const position = text === undefined ? undefined : this.#deps.parsePosition(text);
    if (position !== undefined) this.#deps.answered(tenantOf(principal), position);
    return reply;
  }

  async #perform(
    exchange: Exchange,
    admitted: Principal | undefined,
    { params, query, body, minPosition }: Checked,
    idempotency: IdempotencyUse | undefined,
    upload?: ReadUpload,
  ): Promise<Reply> {
    const projections = this.route.reads ?? [];
    const tenantId = tenantOf(admitted);
    if (projections.length > 0 || minPosition !== undefined) {
      const behind = this.#deps.waitForReads({ tenantId, projections, minPosition });
      if (behind !== undefined) {
        await behind;
        // Otherwise all requests that waited for the same batch of events would continue in one tick.
        await timeSlices.of(sliceOwnerOf(admitted), this.route.operationId).next();
      }
    }
    if (this.route.method === 'get') await takeReadSlot(exchange, admitted);
    else if (tenantId !== undefined) await this.#deps.pace?.(tenantId);
    const principal = await this.#stillAdmitted(exchange, admitted);
    const { requestId, impersonationLog, span } = exchange;
    const cause = { requestId, idempotency, impersonationLog, traceparent: span?.traceparent };
    const request = {
      principal,
      context: principal === undefined ? undefined : requestContext({ principal, ...cause }, this.#deps.ids),
      params,
      query,
      body,
      requestId,
      idempotency,
      ip: this.#address(exchange),
      origin: () => originOf(exchange.request),
      headers: exchange.request.headers,
      upload: upload?.file,
    };
    upload?.take();
    mark(this.route.operationId);
    // The compiler checked the handler's types against these schemas at `route()`, which erases them.
    const reply = await this.route.handle(request as never);
    if (reply.position !== undefined) this.#deps.answered(tenantOf(principal), reply.position);
    return reply;
  }

  #checkAccess(principal: Principal): Principal | Promise<Principal> {
    const { access } = this.route;
    return access.kind === 'principals' ? admitTo(access, principal, this.#deps.freshRights) : principal;
  }

  #address({ request }: Exchange): string {
    return clientAddress(request, this.#deps.trustProxy);
  }
}
