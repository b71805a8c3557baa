import createFetchClient, { type HeadersOptions, type MaybeOptionalInit, mergeHeaders } from 'openapi-fetch';
import type { PathsWithMethod, RequiredKeysOf } from 'openapi-typescript-helpers';
import type { paths } from './api.ts';
import { checked } from './errors.ts';
import { linesOf, nextPage } from './reading.ts';
import { type RetryOptions, retrying } from './retry.ts';
import { ResumingSocket, type Socket, type SocketOptions } from './socket.ts';

/**
 * A token, or a function that returns the current token. The function is called for each try of a request and for each
 * connection.
 */
export type TokenSource = string | (() => string | Promise<string>);

export interface ClientOptions {
  /** Origin of the server: `https://platform.example`, or `location.origin`. */
  readonly url: string;
  /** Not needed to sign in. */
  readonly token?: TokenSource | undefined;
  readonly retry?: RetryOptions | undefined;
  /** Whether reads wait until they show this client's last write, at any node of the server; default true. */
  readonly readsOwnWrites?: boolean | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Extra = { readonly [key: string]: unknown };
type Init<I> = RequiredKeysOf<I> extends never ? [init?: I & Extra] : [init: I & Extra];

/** The JSON of a successful answer; undefined without a body. */
type AnswerOf<O> = O extends { readonly responses: infer R }
  ? {
      [S in keyof R]: R[S] extends { content: { readonly 'application/json': infer B } } ? B : undefined;
    }[keyof R]
  : never;
type Answer<P extends keyof paths, M extends Method> = M extends keyof paths[P]
  ? AnswerOf<paths[P][M]>
  : never;

/** Paths whose answer is a list. */
type Lists = {
  [P in PathsWithMethod<paths, 'get'>]: Answer<P, 'get'> extends readonly unknown[] ? P : never;
}[PathsWithMethod<paths, 'get'>];
type Item<L> = L extends readonly (infer E)[] ? E : never;

/** Sends a request and returns the JSON of its answer. @throws {ApiError} when it is refused */
export type Call<M extends Method> = <
  P extends PathsWithMethod<paths, M>,
  I extends MaybeOptionalInit<paths[P], M>,
>(
  path: P,
  ...init: Init<I>
) => Promise<Answer<P, M>>;

type Reading<T> = <P extends PathsWithMethod<paths, 'get'>, I extends MaybeOptionalInit<paths[P], 'get'>>(
  path: P,
  ...init: Init<I>
) => T;

export interface Client {
  readonly get: Call<'get'>;
  readonly post: Call<'post'>;
  readonly put: Call<'put'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;
  /**
   * The items of a list. A page is read when its first item is requested; `limit` of the query is the size of a page.
   */
  readonly items: <P extends Lists, I extends MaybeOptionalInit<paths[P], 'get'>>(
    path: P,
    ...init: Init<I>
  ) => AsyncGenerator<Item<Answer<P, 'get'>>, void, undefined>;
  /**
   * The number of rows on all pages of a list whose query has `count: 'true'`; undefined if counting takes too
   * long.
   */
  readonly count: Reading<Promise<number | undefined>>;
  /** The bytes of an answer as they arrive: a file, an export. @throws {ApiError} */
  readonly stream: Reading<Promise<ReadableStream<Uint8Array>>>;
  /** The values of an answer with a JSON value on each line (`application/x-ndjson`), as they arrive. */
  readonly lines: Reading<AsyncGenerator<unknown, void, undefined>>;
  /** Envelopes of messages and notifications, across reconnects. */
  readonly socket: (options: SocketOptions) => Socket;
}

/** Sends requests that the types of {@link Client} have checked. */
interface Untyped {
  request(
    method: Method,
    path: string,
    init?: object,
  ): Promise<{ readonly data?: unknown; readonly response: Response }>;
}

/** A client of one server and one caller. */
export const createClient = ({
  url,
  token,
  retry = {},
  readsOwnWrites = true,
  ...own
}: ClientOptions): Client => {
  const tokenNow = async (): Promise<string | undefined> => (typeof token === 'function' ? token() : token);
  const plain = own.fetch ?? ((request: Request) => globalThis.fetch(request));
  const authorized = async (request: Request): Promise<Response> => {
    const present = await tokenNow();
    if (present !== undefined) request.headers.set('authorization', `Bearer ${present}`);
    return plain(request);
  };
  const send = retrying(readsOwnWrites ? positioned(authorized) : authorized, retry);
  const api = createFetchClient<paths>({
    baseUrl: url,
    fetch: async (request) => checked(await send(request)),
  }) as unknown as Untyped;

  const call =
    (method: Method) =>
    async (path: string, init?: object): Promise<unknown> =>
      (await api.request(method, path, init)).data;

  const stream = async (path: string, init?: object): Promise<ReadableStream<Uint8Array>> => {
    const { response } = await api.request('get', path, { ...init, parseAs: 'stream' });
    return response.body ?? new Blob([]).stream();
  };

  const client = {
    get: call('get'),
    post: call('post'),
    put: call('put'),
    patch: call('patch'),
    delete: call('delete'),
    items: async function* (path: string, init?: { headers?: HeadersOptions; signal?: AbortSignal }) {
      const { data, response } = await api.request('get', path, init);
      yield* asList(data);
      const { headers, signal = null } = init ?? {};
      for (let next = nextPage(response, url); next !== undefined; ) {
        const answer = await checked(
          await send(new Request(next, { headers: mergeHeaders(headers), signal })),
        );
        yield* asList(await answer.json());
        next = nextPage(answer, url);
      }
    },
    count: async (path: string, init?: object) => {
      const { response } = await api.request('get', path, init);
      const total = response.headers.get('x-total-count');
      return total === null ? undefined : Number(total);
    },
    stream,
    lines: async function* (path: string, init?: { headers?: HeadersOptions }) {
      const headers = mergeHeaders({ accept: 'application/x-ndjson' }, init?.headers);
      yield* linesOf(await stream(path, { ...init, headers }));
    },
    socket: (options: SocketOptions) =>
      new ResumingSocket({
        ...options,
        url,
        token: tokenNow,
        renews: typeof token === 'function',
        check: async (after, signal) => {
          const headers = after === undefined ? {} : { [MIN_POSITION]: after };
          const request = new Request(new URL('/api/v1/tenant/me', url), { headers, signal });
          await checked(await authorized(request));
        },
      }),
  };
  // At run time the methods take any path and options; only the types restrict them.
  return client as unknown as Client;
};

const MIN_POSITION = 'x-min-position';

/** Sends the position of the last write with each read that sets none, so that the answer shows the write. */
const positioned = (send: (request: Request) => Promise<Response>) => {
  let written: string | undefined;
  return async (request: Request): Promise<Response> => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && written !== undefined && !request.headers.has(MIN_POSITION))
      request.headers.set(MIN_POSITION, written);
    const before = written;
    const response = await send(request);
    const position = isRead ? null : response.headers.get('x-event-position');
    // Keeps the greatest position of concurrent writes, else the last one: a restored log has smaller positions.
    const concurrent = written === before ? undefined : written;
    if (position !== null)
      written = concurrent !== undefined && concurrent > position ? concurrent : position;
    return response;
  };
};

const asList = (page: unknown): readonly unknown[] => {
  if (!Array.isArray(page)) throw new TypeError('The answer is no list.');
  return page;
};
