import { Agent, interceptors, request as send } from 'undici';
import type { z } from 'zod';
import { noteSecrets } from './log-check.ts';
import { type AnswerCheck, createAnswerCheck } from './openapi-validator.ts';
import type { Server } from './server.ts';

/**
 * The HTTP client of the end-to-end tests. Checks every answer against the served OpenAPI document and the rules for
 * all answers (decisions, section 2).
 */

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as text. An error is without `request_id`, so that tests can compare answers byte for byte. */
  readonly text: string;
  /** The parsed body; undefined when the body is empty or not JSON. */
  readonly json: unknown;
  /** The `error` of an error answer. */
  readonly error: string | undefined;
  header(name: string): string | undefined;
  /** Parses the body by `schema` after checking the status. */
  as<S extends z.ZodType>(schema: S, status?: number): z.output<S>;
}

export interface Options {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as the body, instead of JSON. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  /** `manual` returns a redirect; otherwise redirects are followed. */
  readonly redirect?: 'manual';
}

/** Options of a request with an idempotency key. */
export const keyed = (key: string): Options => ({ headers: { 'idempotency-key': key } });

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null;

const checkPromises = (where: string, answer: Answer): void => {
  const { status, headers, json } = answer;
  const demand = (met: boolean, what: string): void => {
    if (!met) throw new Error(`${where}: ${what}: ${answer.text.slice(0, 300)}`);
  };
  demand(/^[A-Za-z0-9._-]{1,128}$/.test(headers.get('x-request-id') ?? ''), 'no X-Request-Id');
  if (status < 400) return;
  demand(status !== 500, 'the server failed');
  demand(headers.get('content-type')?.startsWith('application/json') === true, 'an error that is no JSON');
  demand(isJson(json) && typeof json.error === 'string', 'an error without a code');
  demand(
    isJson(json) && typeof json.message === 'string' && json.message !== '',
    'an error without a message',
  );
  const isBare = isJson(json) && json.error === 'assistant_not_entitled';
  demand(
    isJson(json) && json.request_id === (isBare ? undefined : headers.get('x-request-id')),
    'an error without the id of its request',
  );
  demand(
    !/\bat [\w.<]+ \(|node_modules|SELECT |INSERT /.test(answer.text),
    'an error that tells of the inside',
  );
  if (status === 401) demand(headers.get('www-authenticate') === 'Bearer', 'a 401 without WWW-Authenticate');
  if (status === 405) demand((headers.get('allow') ?? '') !== '', 'a 405 without Allow');
  // "Do not retry, report to the operator" (specification, Errors).
  const isForOperator = isJson(json) && json.error === 'embedding_model_unavailable';
  if (isForOperator) demand(headers.get('retry-after') === null, 'a Retry-After where there is none to be');
  else if (status === 429 || status === 503) {
    demand(Number(headers.get('retry-after')) >= 1, 'no Retry-After');
  }
};

interface Received {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const answerOf = ({ url, status, headers, text }: Received): Answer => {
  const isJsonText = headers.get('content-type')?.startsWith('application/json') === true;
  const json: unknown = text !== '' && isJsonText ? JSON.parse(text) : undefined;
  return {
    status,
    headers,
    text: status < 400 ? text : text.replace(/,"request_id":"[^"]*"/, ''),
    json,
    error: isJson(json) && typeof json.error === 'string' ? json.error : undefined,
    header: (name) => headers.get(name) ?? undefined,
    as: (schema, wanted = 200) => {
      if (status !== wanted) {
        throw new Error(`${url}: ${status} instead of ${wanted}: ${text.slice(0, 500)}`);
      }
      return schema.parse(json);
    },
  };
};

const MOST_REDIRECTS = 5;
const direct = new Agent();
const following = direct.compose(interceptors.redirect({ maxRedirections: MOST_REDIRECTS }));

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  readonly follows: boolean;
}

/**
 * Works like `fetch`, but takes a quarter of the processor time.
 * @throws {TypeError} like `fetch`, when the answer does not arrive or is cut off
 */
const receive = async (url: string, { follows, ...sent }: Sent): Promise<Received> => {
  try {
    const response = await send(url, { ...sent, dispatcher: follows ? following : direct });
    const headers = new Headers();
    for (const [name, value] of Object.entries(response.headers)) {
      for (const each of [value ?? []].flat()) headers.append(name, each);
    }
    return { url, status: response.statusCode, headers, text: await response.body.text() };
  } catch (error) {
    throw new TypeError(`${sent.method} ${url} failed`, { cause: error });
  }
};

export class Client {
  readonly #base: () => string;
  readonly #check: AnswerCheck;
  readonly token: string | undefined;

  constructor(base: () => string, check: AnswerCheck, token?: string) {
    this.#base = base;
    this.#check = check;
    this.token = token;
  }

  /** The same server, with another credential. */
  with(token: string | undefined): Client {
    return new Client(this.#base, this.#check, token);
  }

  /** The same credential at another server that has the same document. */
  at(server: Server): Client {
    return new Client(() => server.base, this.#check, this.token);
  }

  async request(method: string, path: string, body?: unknown, options: Options = {}): Promise<Answer> {
    const payload = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const received = await receive(this.#base() + path, {
      method,
      headers: {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      body: payload ?? null,
      follows: options.redirect === undefined,
    });
    const answer = answerOf(received);
    noteSecrets(body);
    noteSecrets(answer.json);
    checkPromises(`${method} ${path} → ${answer.status}`, answer);
    this.#check(method, path, answer.status, answer.json);
    return answer;
  }

  get(path: string, options?: Options): Promise<Answer> {
    return this.request('GET', path, undefined, options);
  }

  post(path: string, body?: unknown, options?: Options): Promise<Answer> {
    return this.request('POST', path, body, options);
  }

  patch(path: string, body?: unknown, options?: Options): Promise<Answer> {
    return this.request('PATCH', path, body, options);
  }

  delete(path: string, options?: Options): Promise<Answer> {
    return this.request('DELETE', path, undefined, options);
  }
}

export const documentOf = async (server: Server): Promise<unknown> => {
  const response = await fetch(`${server.base}/openapi.json`);
  return response.json();
};

let shared: AnswerCheck | undefined;

/**
 * The check of all clients of this process. Servers of every configuration have the same document, and creating it
 * takes a quarter of the time of a start.
 */
const sharedCheck = async (server: Server): Promise<AnswerCheck> => {
  if (shared !== undefined) return shared;
  const document = await documentOf(server);
  shared ??= createAnswerCheck(document);
  return shared;
};

/** A client without a credential; checks answers against the served document. */
export const clientOf = async (server: () => Server): Promise<Client> =>
  new Client(() => server().base, await sharedCheck(server()));
