import {
  type BillingUpstream,
  type FindAnswer,
  MAX_REFERENCE,
  type SendAnswer,
} from '../../application/ports/billing-upstream.ts';
import type { OutboundAnswer, OutboundHttp } from '../../application/ports/outbound-http.ts';
import { codePoints, isStorableText, truncate } from '../../domain/core/text.ts';
import { parsedJson } from '../parsed-json.ts';

/** The upstream of `BILLING_UPSTREAM_URL` (decisions, section 10, Issue). */

interface HttpUpstreamOptions {
  readonly url: string;
  readonly token?: string | undefined;
  readonly http: Pick<OutboundHttp, 'request'>;
  /** Timeout of one call, also of a look-up. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
/** Bytes of a response that are read. A longer response counts as one without a reference. */
const MAX_RESPONSE_BYTES = 64 * 1024;
const MAX_MESSAGE = 500;
/** 4xx statuses that say nothing about the invoice: timeout, conflict, too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 429]);

export const httpUpstream = ({
  url,
  token,
  http,
  timeoutMs = TIMEOUT_MS,
}: HttpUpstreamOptions): BillingUpstream => {
  const call = (
    key: string,
    more: { readonly url: string; readonly method: 'GET' | 'POST'; readonly body?: string },
    signal: AbortSignal,
  ): Promise<OutboundAnswer> => {
    const headers = {
      accept: 'application/json',
      'idempotency-key': key,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(more.body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    return http.request({ ...more, headers, timeoutMs, maxResponseBytes: MAX_RESPONSE_BYTES }, signal);
  };
  const plain = (message: string): string => withoutToken(message, token);

  return {
    send: async (key, document, signal): Promise<SendAnswer> => {
      const answer = await call(key, { url, method: 'POST', body: document }, signal);
      if (answer.kind !== 'answered') return { kind: 'unknown', message: plain(answer.message) };
      const { status } = answer;
      if (status >= 400 && status < 500 && !PASSING.has(status)) {
        return { kind: 'refused', message: plain(said(answer)) };
      }
      const reference = status >= 200 && status < 300 ? referenceIn(answer) : undefined;
      return reference === undefined
        ? { kind: 'unknown', message: plain(said(answer)) }
        : { kind: 'accepted', reference };
    },

    find: async (key, signal): Promise<FindAnswer> => {
      const asked = new URL(url);
      asked.searchParams.set('key', key);
      const answer = await call(key, { url: asked.href, method: 'GET' }, signal);
      if (answer.kind !== 'answered') return { kind: 'unknown', message: plain(answer.message) };
      if (answer.status === 404) return { kind: 'absent' };
      const reference = answer.status === 200 ? referenceIn(answer) : undefined;
      return reference === undefined
        ? { kind: 'unknown', message: plain(`Look-up: ${said(answer)}`) }
        : { kind: 'found', reference };
    },
  };
};

type Answered = Extract<OutboundAnswer, { kind: 'answered' }>;

const objectIn = ({ body, truncated }: Answered): Readonly<Record<string, unknown>> | undefined => {
  if (truncated) return undefined;
  const value = parsedJson(body.toString('utf8'));
  // The cast only allows reading properties, whose values stay unknown.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
};

/** The reference in an answer; undefined when the answer is truncated, has none, or has one that cannot be stored. */
const referenceIn = (answer: Answered): string | undefined => {
  const reference = objectIn(answer)?.reference;
  if (typeof reference !== 'string' || reference.trim() === '') return undefined;
  return isStorableText(reference) && codePoints(reference) <= MAX_REFERENCE ? reference : undefined;
};

/** The status; for a status other than 2xx also the upstream's own error text, when its body has one. */
const said = (answer: Answered): string => {
  const { status } = answer;
  if (status >= 200 && status < 300) return `HTTP ${status} without a reference.`;
  const { message, error } = objectIn(answer) ?? {};
  const words = [message, error].find((text) => typeof text === 'string' && text.trim() !== '');
  return words === undefined ? `HTTP ${status}` : `HTTP ${status}: ${String(words)}`;
};

/**
 * Masks the token in a text, replaces control characters by spaces, and truncates the text, since an upstream may echo
 * any input.
 */
const withoutToken = (message: string, token: string | undefined): string => {
  const open = token === undefined || token === '' ? message : message.replaceAll(token, '***');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters to replace
  return truncate(open.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' '), MAX_MESSAGE);
};
