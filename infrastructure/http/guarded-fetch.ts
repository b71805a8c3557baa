import type { OutboundHttp, OutboundRequest } from '../../application/ports/outbound-http.ts';

/** The part of `fetch` that libraries need from a replacement. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

interface FetchLimits {
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

const METHODS: readonly OutboundRequest['method'][] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'];

/** Statuses for which a `Response` must have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * A guarded `fetch`. It never follows redirects, whatever `init.redirect` says; an incomplete answer is an error.
 * @returns a function that throws `TypeError` like `fetch`, without the URL in its message, or the signal's reason
 */
export const guardedFetch =
  (http: OutboundHttp, { timeoutMs, maxResponseBytes }: FetchLimits): Fetch =>
  async (url, init) => {
    // Accepts every form of headers and body, and adds the body's content type.
    const { headers, ...request } = await readRequest(init);
    const answer = await http.request(
      {
        url,
        ...request,
        headers: { 'accept-encoding': 'identity', ...headers },
        timeoutMs,
        maxResponseBytes,
      },
      init.signal ?? undefined,
    );
    if (answer.kind !== 'answered') throw new TypeError(answer.message);
    if (answer.truncated) throw new TypeError('The answer is too large or incomplete.');
    if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') {
      throw new TypeError('The answer has an encoding that was not requested.');
    }
    const { status } = answer;
    if (status < 200 || status > 599) throw new TypeError('The answer has a status that does not exist.');
    return new Response(EMPTY.has(status) ? null : new Uint8Array(answer.body), {
      status,
      headers: answer.headers,
    });
  };

const readRequest = async (
  init: RequestInit,
): Promise<Pick<OutboundRequest, 'method' | 'headers' | 'body'>> => {
  const wanted = (init.method ?? 'GET').toUpperCase();
  const method = METHODS.find((known) => known === wanted);
  if (method === undefined) throw new TypeError('The method is not known.');
  // The URL is a placeholder.
  const request = new Request('https://request.invalid', {
    method,
    ...(init.headers === undefined ? {} : { headers: init.headers }),
    ...(init.body === undefined || init.body === null ? {} : { body: init.body }),
  });
  const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
  return { method, headers: Object.fromEntries(request.headers), body };
};
