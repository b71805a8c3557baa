import { parse as parseQuery } from 'node:querystring';
import type { z } from 'zod';
import type { Position } from '../../application/ports/event-store.ts';
import { callerKey, type Principal } from '../../application/principal.ts';
import type { KeyInUse } from '../../application/request-context.ts';
import { invalid, notFound } from '../../domain/errors.ts';
import { clientAddress } from './address.ts';
import { Admission, refuse } from './admission.ts';
import { checkPartner, checkTenant } from './authorization.ts';
import { type JsonBody, readBody } from './body.ts';
import type { HttpDeps } from './deps.ts';
import { type Exchange, replyHeaders } from './exchange.ts';
import { type Idempotency, parseIdempotencyKey, strangersScope } from './idempotency.ts';
import { SENTENCES, validationError } from './issues.ts';
import { checkMultipart, dropRest } from './multipart.ts';
import type { Reply, Route, Upload, UploadRules } from './route.ts';
import { isKeyed } from './route-errors.ts';
import { withUpload } from './upload.ts';

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

/**
 * One route, ready to serve: the checks in the order of decisions, section 2, then the handler. What can be decided
 * once per route is decided in the constructor; what need not wait does not.
 */
export class Endpoint {
  readonly route: Route;
  readonly #deps: HttpDeps;
  readonly #idempotency: Idempotency;
  readonly #admission: Admission;
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
    this.#admission = new Admission(route, deps);
    this.#bodyLimit = route.bodyLimit ?? DEFAULT_BODY_LIMIT;
    this.#keyed = isKeyed(route);
    this.#reads = route.reads?.length ? route.reads : undefined;
    this.#waits = this.#reads !== undefined || (route.method === 'get' && access.kind === 'principals');
  }

  /** @param names @param values of the path's variables, values still percent-encoded */
  async serve(exchange: Exchange, names: readonly string[], values: readonly string[]): Promise<Reply> {
    const { route } = this;
    const { request, search } = exchange;
    const principal = await this.#admission.admit(exchange, () => this.#params(names, values));
    if (route.upload !== undefined) return this.#serveUpload(exchange, principal, names, values);
    const body = (await readBody(request, this.#bodyLimit, route.bodyKinds)) ?? EMPTY;
    const query = search === '' ? EMPTY : parseQuery(search, undefined, undefined, { maxKeys: 0 });
    if (principal !== undefined) {
      if (body.tenant_id !== undefined) checkTenant(principal, body.tenant_id);
      if (query.tenant_id !== undefined) checkTenant(principal, query.tenant_id);
      if (body.partner_id !== undefined) checkPartner(principal, body.partner_id);
      if (query.partner_id !== undefined) checkPartner(principal, query.partner_id);
    }
    if (route.limit === 'login' && typeof body.email === 'string') {
      refuse(this.#deps.limits.loginAs(body.email));
    }
    const asked = {
      query: check(route.query, query),
      body: check(route.body, body),
      minPosition: this.#waits ? this.#minPosition(exchange) : undefined,
    };
    const key = this.#key(exchange);
    // Behind all that is 400: a malformed id is answered like an unknown one.
    const checked: Checked = { ...asked, params: this.#params(names, values) };
    if (key === undefined) return this.#perform(exchange, principal, checked, undefined, undefined);
    const caller = { principal, params: checked.params };
    return this.#once(exchange, caller, key, body === EMPTY ? undefined : body, (inUse) =>
      this.#perform(exchange, principal, checked, inUse, undefined),
    );
  }

  /**
   * A request with a file: what can be refused without its bytes is refused before they are read, also what is a
   * 404. The rest comes when they are stored; bytes of a request that did not come to the handler are dropped again.
   */
  async #serveUpload(
    exchange: Exchange,
    principal: Principal | undefined,
    names: readonly string[],
    values: readonly string[],
  ): Promise<Reply> {
    const { route } = this;
    const { request, requestId, search } = exchange;
    if (route.upload === undefined || principal === undefined) throw new Error('a route takes no uploads');
    // As in `#perform`: tied to the route's own types by `route()`.
    const upload = route.upload as unknown as UploadRules<unknown>;
    try {
      checkMultipart(request, upload);
      const query = search === '' ? EMPTY : parseQuery(search, undefined, undefined, { maxKeys: 0 });
      if (query.tenant_id !== undefined) checkTenant(principal, query.tenant_id);
      const asked = {
        query: check(route.query, query),
        minPosition: this.#waits ? this.#minPosition(exchange) : undefined,
      };
      const key = this.#key(exchange);
      const params = this.#params(names, values);
      const whose = { principal, params };
      // What was answered once is answered again, whatever has become of the record.
      const again = key !== undefined && (await this.#idempotency.hasAnswered(callerKey(principal), key));
      if (!again) await upload.admit(whose);
      const onLeft = (err: unknown): void =>
        this.#deps.logger.warn({ err, request_id: requestId }, 'an unused upload could not be removed');
      return await withUpload(exchange, upload, whose, onLeft, ({ file, fields, sameAs, take }) => {
        if (fields.tenant_id !== undefined) checkTenant(principal, fields.tenant_id);
        const checked: Checked = { ...asked, params, body: check(route.body, fields) };
        return this.#once(exchange, whose, key, sameAs, async (inUse) => {
          await this.#admission.stillAdmitted(exchange, principal);
          take();
          return this.#perform(exchange, principal, checked, inUse, file);
        });
      });
    } catch (error) {
      dropRest(request);
      throw error;
    }
  }

  /** @throws {DomainError} 400 for a key that is none */
  #key({ request }: Exchange): string | undefined {
    const header = this.#keyed ? request.headers['idempotency-key'] : undefined;
    return header === undefined ? undefined : parseIdempotencyKey(header);
  }

  /** @param body what makes two requests with one key the same, beside method and path */
  async #once(
    exchange: Exchange,
    { principal, params }: { readonly principal: Principal | undefined; readonly params: unknown },
    key: string | undefined,
    body: unknown,
    perform: (inUse: KeyInUse | undefined) => Promise<Reply>,
  ): Promise<Reply> {
    if (key === undefined) return perform(undefined);
    const keyed = {
      scope:
        principal === undefined ? strangersScope(this.route.operationId, params ?? {}) : callerKey(principal),
      key,
      fingerprint: this.#deps.fingerprint(this.route.method, exchange.path, body),
    };
    const reply = await this.#idempotency.run(keyed, perform, (made) => replyHeaders(exchange, made));
    this.#noteReplayed(principal, reply);
    return reply;
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
    admitted: Principal | undefined,
    { params, query, body, minPosition }: Checked,
    idempotency: KeyInUse | undefined,
    upload: Upload | undefined,
  ): Promise<Reply> {
    if (this.#reads !== undefined || minPosition !== undefined) {
      const waiting = this.#deps.waitForReads({
        tenantId: tenantOf(admitted),
        projections: this.#reads ?? [],
        minPosition,
      });
      if (waiting !== undefined) await waiting;
    }
    const still = admitted && this.#admission.stillAdmitted(exchange, admitted);
    const principal = still instanceof Promise ? await still : still;
    const request = {
      principal,
      params,
      query,
      body,
      requestId: exchange.requestId,
      idempotency,
      ip: clientAddress(exchange.request, this.#deps.trustProxy),
      origin: () => originOf(exchange.request),
      trail: exchange.trail,
      headers: exchange.request.headers,
      upload,
    };
    // `route()` tied the handler's types to these very schemas and forgot them; they cannot be named again here.
    const reply = await this.route.handle(request as never);
    if (reply.position !== undefined) this.#deps.answered(tenantOf(principal), reply.position);
    return reply;
  }

  /** A stored answer may be another process's: what it wrote is read here from now on as well. */
  #noteReplayed(principal: Principal | undefined, { headers }: Reply): void {
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
}

/** Undefined for platform admins and public routes: they belong to no tenant. */
const tenantOf = (principal: Principal | undefined): string | undefined =>
  principal !== undefined && 'tenantId' in principal ? principal.tenantId : undefined;

const originOf = ({ protocol, host }: Exchange['request']): string => {
  const url = URL.parse(`${protocol}://${host}`);
  if (url !== null && url.host !== '' && url.href === `${url.origin}/`) return url.origin;
  throw invalid([{ path: 'Host', code: 'invalid_format', message: 'The header Host is not a host.' }]);
};

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
};
