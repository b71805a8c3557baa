import { type CredentialFamily, callerKey, type Principal } from '../../application/principal.ts';
import { clientAddress } from './address.ts';
import { accessFamily, bearerToken, checkAccess } from './authorization.ts';
import type { HttpDeps } from './deps.ts';
import { rateLimited } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Route } from './route.ts';
import { trailOf } from './trail.ts';

/** A request that took longer than this from its headers to its handler is asked for its rights again. */
const TRUSTED_MS = 50;

export const refuse = (wait: number | undefined): void => {
  if (wait !== undefined) throw rateLimited(wait);
};

/** Who may come in by one route: credential, rate limit, then kind, role, scope and entitlement. */
export class Admission {
  readonly #route: Route;
  readonly #deps: HttpDeps;
  /** Undefined on public routes. */
  readonly #family: CredentialFamily | undefined;

  /** @throws for a route whose access entry contradicts itself */
  constructor(route: Route, deps: HttpDeps) {
    const { access } = route;
    this.#route = route;
    this.#deps = deps;
    this.#family = access.kind === 'public' ? undefined : accessFamily(access, route.operationId);
  }

  /**
   * Gives a promise only where `authenticate` does. Undefined on public routes.
   * @param params of the path, for the trail of an impersonation
   * @throws {DomainError} 401, 402, 403, 429
   */
  admit(exchange: Exchange, params: () => unknown): Principal | undefined | Promise<Principal> {
    if (this.#family === undefined) return this.#stranger(exchange);
    const welcome = (principal: Principal): Principal => {
      const { request, requestId } = exchange;
      exchange.trail = trailOf(request, requestId, this.#route, principal, params, this.#deps.leaveLine);
      // Counted before it may be refused: what is refused costs as well, and under impersonation leaves a line.
      refuse(this.#deps.limits.request(callerKey(principal)));
      return this.#checked(principal);
    };
    exchange.admittedAt = performance.now();
    const found = this.#deps.authenticate(bearerToken(exchange.request), this.#family);
    return found instanceof Promise ? found.then(welcome) : welcome(found);
  }

  /**
   * For right before the handler: a body may come as slowly as its sender likes, and what a credential was good for
   * at the beginning may have been withdrawn by now.
   * @returns the principal as it is now
   * @throws {DomainError} 401, 402, 403
   */
  stillAdmitted(exchange: Exchange, principal: Principal): Principal | Promise<Principal> {
    if (this.#family === undefined || performance.now() - exchange.admittedAt < TRUSTED_MS) return principal;
    const found = this.#deps.authenticate(bearerToken(exchange.request), this.#family);
    return found instanceof Promise ? found.then((again) => this.#checked(again)) : this.#checked(found);
  }

  #checked(principal: Principal): Principal {
    const { access } = this.#route;
    if (access.kind === 'principals') checkAccess(access, principal);
    return principal;
  }

  #stranger(exchange: Exchange): undefined {
    const { limits } = this.#deps;
    const { limit, operationId } = this.#route;
    if (limit === 'login') refuse(limits.loginFrom(this.#address(exchange)));
    if (limit === 'public') refuse(limits.publicFrom(this.#address(exchange), operationId));
  }

  #address({ request }: Exchange): string {
    return clientAddress(request, this.#deps.trustProxy);
  }
}
