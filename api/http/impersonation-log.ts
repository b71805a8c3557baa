import type { IncomingMessage } from 'node:http';
import type { Principal } from '../../application/core/commands/principal.ts';
import type { ImpersonationLog } from '../../application/core/events/event-codec.ts';
import {
  type Impersonated,
  type ImpersonatedLine,
  impersonatedOf,
} from '../../application/identity/impersonation.ts';
import { DomainError } from '../../domain/core/errors.ts';
import { errorAnswer } from './errors.ts';
import type { Reply, Route } from './route.ts';
import { endSource, isStreamed } from './stream.ts';

/** Appends a line to the tenant's impersonation log; resolves once the line is on disk. */
export type AppendLine = (line: ImpersonatedLine) => Promise<void>;

interface Facts {
  readonly route: Pick<Route, 'method' | 'path' | 'operationId'>;
  readonly principal: Impersonated;
  readonly requestId: string;
  /** As received: `HEAD` differs from `GET`. */
  readonly method: string;
  /** Ids in the path, if the route accepts them. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The log of one request under impersonation (decisions, section 3). Changes append their own events; reads, refusals
 * and writes without an effect append a line. The line is on disk before the answer is sent, otherwise the answer is
 * 503. A rate-limited request (429) appends nothing.
 */
export class RequestLog implements ImpersonationLog {
  appended = false;
  readonly #facts: Facts;
  readonly #append: AppendLine;
  #isLogged = false;

  constructor(facts: Facts, append: AppendLine) {
    this.#facts = facts;
    this.#append = append;
  }

  /** @throws {DomainError} `unavailable` */
  async replied({ status, body }: Pick<Reply, 'status' | 'body'>): Promise<void> {
    if (this.appended && this.#facts.route.method !== 'get') return;
    try {
      await this.#line(status);
    } catch (error) {
      if (isStreamed(body)) endSource(body);
      throw error;
    }
  }

  /** The error to answer: the given error, or 503 when the request could not be logged. */
  async refused(error: unknown): Promise<unknown> {
    const { status } = errorAnswer(error);
    if (this.#isLogged || status === 429) return error;
    try {
      await this.#line(status);
    } catch (failure) {
      return failure;
    }
    return error;
  }

  async #line(status: number): Promise<void> {
    this.#isLogged = true;
    const { route, ...facts } = this.#facts;
    try {
      await this.#append({ ...facts, route: route.path, operationId: route.operationId, status });
    } catch (cause) {
      throw unlogged(cause);
    }
  }
}

/** The error of a request that could not be logged. */
export const unlogged = (cause: unknown): DomainError =>
  Object.assign(new DomainError('unavailable', 'The request could not be logged. Try again.'), { cause });

/**
 * The log of an admitted request; undefined without impersonation.
 * @param params reads the variables of the request's path; may throw a refusal
 */
export const impersonationLogOf = (
  request: IncomingMessage,
  requestId: string,
  route: Facts['route'],
  principal: Principal,
  params: () => unknown,
  append: AppendLine,
): RequestLog | undefined => {
  const impersonated = impersonatedOf(principal);
  if (impersonated === undefined) return undefined;
  const method = request.method ?? 'GET';
  const facts = { route, principal: impersonated, requestId, method, params: pathIds(params) };
  return new RequestLog(facts, append);
};

/** Runs an action that is answered with `status`, and logs it before the answer. */
export const logged = async <T>(
  impersonationLog: RequestLog | undefined,
  status: number,
  act: () => T,
): Promise<T> => {
  if (impersonationLog === undefined) return act();
  try {
    const done = act();
    await impersonationLog.replied({ status });
    return done;
  } catch (error) {
    throw await impersonationLog.refused(error);
  }
};

/** Ids of a path; empty when the route refuses them (a 404). */
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
