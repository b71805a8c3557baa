import type { RefusalReason } from '../../domain/webhooks/url-rules.ts';

/**
 * Calls to machines that somebody outside of the product has named: webhooks, identity providers, upstreams
 * (specification, "Webhooks"; decisions, section 8). Every such call goes through this port, and each one is guarded anew:
 * the first attempt, each retry, a test, a replay.
 */
export interface OutboundHttp {
  /**
   * Whether calls to the URL would be refused as things are now; for saving one. A name that has no answer at present
   * is let through, since it is judged again at every call. Takes a few seconds at most.
   */
  check(url: string): Promise<UrlVerdict>;
  /**
   * One exchange, judged anew. Redirects are answers like any other and never followed. Never retried, but for what
   * {@link OutboundRequest.reuse} says.
   * @param signal gives the call up
   * @throws the signal's reason, and nothing else
   */
  request(call: OutboundRequest, signal?: AbortSignal): Promise<OutboundAnswer>;
}

export interface OutboundRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  /** Without `host`, lengths and what concerns the connection: those are set by the adapter. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  /** Of the whole exchange: looking up the name, connecting, sending, reading the last byte. */
  readonly timeoutMs: number;
  /** Of the body; what comes after it is not read. */
  readonly maxResponseBytes: number;
  /**
   * Without it, the call has a connection of its own. With it, one that an earlier call under the same text to the same
   * place has left open a few seconds ago may be used, if it leads to an address that is judged good now. Should the
   * server have closed that one without a word, the call is sent a second time, on a new one.
   */
  readonly reuse?: string | undefined;
}

export type OutboundAnswer = Answered | Refused | Failed;

/** The other side has answered, whatever its status. */
export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  /** Names in lower case; only those that a caller can have a use for, each cut at 1,000 characters. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came: never decompressed. */
  readonly body: Buffer;
  /** The body went on after what is here, or its connection broke in the middle of it. */
  readonly truncated: boolean;
}

/** Nothing was sent, since the guard does not let calls go there. */
export interface Refused {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  /** For people; says nothing of addresses that a name has. */
  readonly message: string;
}

/** There is no answer. Something may have been sent. */
export interface Failed {
  readonly kind: 'failed';
  readonly reason: FailureReason;
  /** For people, at most 500 characters; nothing of the URL or of an answer is in it. */
  readonly message: string;
}

export type FailureReason = 'timeout' | 'connection' | 'tls' | 'dns' | 'protocol';

export type UrlVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: RefusalReason; readonly message: string };

export type { RefusalReason };
