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
import { isStreamed, letGo } from './stream.ts';

/** Leaves a line in the tenant's log; resolves when it is on disk. */
export type AppendLine = (line: ImpersonatedLine) => Promise<void>;

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
export class RequestLog implements ImpersonationLog {
  appended = false;
  readonly #facts: Facts;
  readonly #leave: AppendLine;
  #told = false;

  constructor(facts: Facts, leave: AppendLine) {
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
export const impersonationLogOf = (
  request: IncomingMessage,
  requestId: string,
  route: Facts['route'],
  principal: Principal,
  params: () => unknown,
  leave: AppendLine,
): RequestLog | undefined => {
  const impersonated = impersonatedOf(principal);
  if (impersonated === undefined) return undefined;
  const method = request.method ?? 'GET';
  const facts = { route, principal: impersonated, requestId, method, params: pathIds(params) };
  return new RequestLog(facts, leave);
};

/** Does what is answered with `status`, and leaves its trail before it is answered. */
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
