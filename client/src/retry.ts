/**
 * How often a request is tried again, and after which waits (ms). A wait is random, between zero and a limit that
 * doubles.
 */
export interface RetryOptions {
  /** Further tries after the first one; default 4. */
  readonly times?: number;
  /** Limit of the first wait; default 500. */
  readonly first?: number;
  /** Greatest limit, also of a `Retry-After`; default 30,000. */
  readonly longest?: number;
}

/** The wait (ms) after `failures` failures in a row. */
export const waitAfter = (failures: number, { first = 500, longest = 30_000 }: RetryOptions): number =>
  Math.random() * Math.min(longest, first * 2 ** Math.min(failures - 1, 30));

const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });

const KEYED = new Set(['POST', 'PUT', 'PATCH']);
/** The effect is unknown, so only requests that are safe to repeat are repeated. */
const UNKNOWN = new Set([502, 503, 504]);

/**
 * A `fetch` that tries again after a lost connection, 429, 502, 503 and 504. A POST, PUT or PATCH carries one
 * `Idempotency-Key` for all its tries, so that it has its effect once; a DELETE is repeated after 429 only.
 */
export const retrying =
  (send: (request: Request) => Promise<Response>, options: RetryOptions) =>
  async (request: Request): Promise<Response> => {
    const { times = 4, longest = 30_000 } = options;
    if (KEYED.has(request.method) && !request.headers.has('idempotency-key')) {
      request.headers.set('idempotency-key', crypto.randomUUID());
    }
    for (let failures = 1; ; failures += 1) {
      const isLast = failures > times;
      const outcome = await send(isLast ? request : request.clone()).catch((error: unknown) => ({ error }));
      request.signal.throwIfAborted();
      if ('error' in outcome) {
        if (isLast || request.method === 'DELETE') throw outcome.error;
        await sleep(waitAfter(failures, options), request.signal);
      } else {
        const { status, headers } = outcome;
        // After 429 there was no effect.
        const isRepeatable = status === 429 || (UNKNOWN.has(status) && request.method !== 'DELETE');
        if (isLast || !isRepeatable) return outcome;
        await outcome.body?.cancel();
        const asked = Number(headers.get('retry-after') ?? 0) * 1000;
        const wait = waitAfter(failures, options);
        await sleep(Math.min(longest, Number.isFinite(asked) ? asked + wait : wait), request.signal);
      }
    }
  };
