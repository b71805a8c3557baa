import type { IncomingMessage } from 'node:http';
import type { Trail } from '../../application/codec.ts';
import { type Impersonated, type ImpersonatedLine, impersonatedOf } from '../../application/impersonation.ts';
import type { Principal } from '../../application/principal.ts';
import { DomainError } from '../../domain/errors.ts';
import { errorAnswer } from './errors.ts';
import type { Reply, Route } from './route.ts';
import { isStreamed, letGo } from './stream.ts';

/** Leaves a line in the tenant's log; resolves when it is on disk. */
export type LeaveLine = (line: ImpersonatedLine) => Promise<void>;

interface Facts {
  readonly route: Pick<Route, 'method' | 'path' | 'operationId'>;
  readonly principal: Impersonated;
  readonly requestId: string;
  /** As it came: `HEAD` is another than `GET`. */
  readonly method: string;
  /** The path's ids, as far as the route takes them. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The trail of one request under impersonation (decisions, section 3): what changes something leaves events of its
 * own; reads, refusals and writes that change nothing leave a line, on disk before the answer goes out. Without it
 * the answer is 503: nobody looks unseen. Only a request that comes too often (429) leaves none.
 */
export class RequestTrail implements Trail {
  appended = false;
  readonly #facts: Facts;
  readonly #leave: LeaveLine;
  #told = false;

  constructor(facts: Facts, leave: LeaveLine) {
    this.#facts = facts;
    this.#leave = leave;
  }

  /** @throws {DomainError} `unavailable` */
  async replied({ status, body }: Pick<Reply, 'status' | 'body'>): Promise<void> {
    if (this.appended && this.#facts.route.method !== 'get') return;
    try {
      await this.#line(status);
    } catch (error) {
      if (isStreamed(body)) letGo(body);
      throw error;
    }
  }

  /** The error to answer: the one that was thrown, unless it would go unseen. */
  async refused(error: unknown): Promise<unknown> {
    const { status } = errorAnswer(error);
    if (this.#told || status === 429) return error;
    try {
      await this.#line(status);
    } catch (failure) {
      return failure;
    }
    return error;
  }

  async #line(status: number): Promise<void> {
    this.#told = true;
    const { route, ...facts } = this.#facts;
    try {
      await this.#leave({ ...facts, route: route.path, operationId: route.operationId, status });
    } catch (cause) {
      throw unlogged(cause);
    }
  }
}

/** What somebody is told whose request could not be written down. */
export const unlogged = (cause: unknown): DomainError =>
  Object.assign(new DomainError('unavailable', 'The request could not be logged. Try again.'), { cause });

/**
 * The trail of a request that has just been admitted; undefined when nobody is impersonated.
 * @param params of its path; may throw a refusal
 */
export const trailOf = (
  request: IncomingMessage,
  requestId: string,
  route: Facts['route'],
  principal: Principal,
  params: () => unknown,
  leave: LeaveLine,
): RequestTrail | undefined => {
  const impersonated = impersonatedOf(principal);
  if (impersonated === undefined) return undefined;
  const method = request.method ?? 'GET';
  const facts = { route, principal: impersonated, requestId, method, params: pathIds(params) };
  return new RequestTrail(facts, leave);
};

/** Does what is answered with `status`, and leaves its trail before it is answered. */
export const witnessed = async <T>(
  trail: RequestTrail | undefined,
  status: number,
  act: () => T,
): Promise<T> => {
  if (trail === undefined) return act();
  try {
    const done = act();
    await trail.replied({ status });
    return done;
  } catch (error) {
    throw await trail.refused(error);
  }
};

/** The ids of a path; none where the route would not take them (a 404). */
const pathIds = (params: () => unknown): Record<string, string> => {
  try {
    const found = Object.entries(params() ?? {});
    return Object.fromEntries(
      found.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch (error) {
    if (error instanceof DomainError) return {};
    throw error;
  }
};
