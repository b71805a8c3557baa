import type { RefusalReason } from '../../domain/webhooks/url-rules.ts';

/**
 * Calls to configured hosts: webhooks, identity providers, upstreams (specification, "Webhooks"; decisions, section 8).
 * The URL is checked before every call, retries and replays included.
 */
export interface OutboundHttp {
  /**
   * Checks a URL before it is saved: `ok` is false if a call to it would be refused now. A host name that does not
   * resolve now is allowed, since each call checks again. Takes a few seconds at most.
   */
  check(url: string): Promise<UrlVerdict>;
  /**
   * Checks the URL, then makes one exchange. Does not follow redirects, and does not retry, except when a connection is
   * reused ({@link OutboundRequest.reuse}).
   * @param signal aborts the call
   * @throws only the signal's reason
   */
  request(call: OutboundRequest, signal?: AbortSignal): Promise<OutboundAnswer>;
}

export interface OutboundRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  /** The adapter sets `host`, lengths and connection headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  /** Limit of the whole exchange: name resolution, connect, send, last byte of the answer. */
  readonly timeoutMs: number;
  /** Limit of the answer's body; further bytes are not read. */
  readonly maxResponseBytes: number;
  /**
   * Calls with the same text share connections: a call may use one to the same origin that an earlier call left open a
   * few seconds ago, if the connection's address passes the check. If the server has closed that connection without an
   * answer, the call is sent again on a new connection.
   */
  readonly reuse?: string | undefined;
}

export type OutboundAnswer = Answered | Refused | Failed;

/** The host answered, with any status. */
export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  /** Lower-case names; a fixed selection of headers (`KEPT_HEADERS`), each cut at 1,000 characters. */
  readonly headers: Readonly<Record<string, string>>;
  /** As received, never decompressed. */
  readonly body: Buffer;
  /** The body was cut at the limit, or the connection broke before the body's end. */
  readonly truncated: boolean;
}

/** Nothing was sent: the URL check refused the call. */
export interface Refused {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  /** For people; contains no addresses. */
  readonly message: string;
}

/** No answer; the request may have been sent. */
export interface Failed {
  readonly kind: 'failed';
  readonly reason: FailureReason;
  /** For people, at most 500 characters; contains no part of the URL or of an answer. */
  readonly message: string;
}

export type FailureReason = 'timeout' | 'connection' | 'tls' | 'dns' | 'protocol';

export type UrlVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: RefusalReason; readonly message: string };

export type { RefusalReason };
