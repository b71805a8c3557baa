import { createHash, createHmac, hkdfSync, randomUUID } from 'node:crypto';
import type { IdempotencyUse } from '../../application/core/commands/request-context.ts';
import { canonicalJson } from '../../application/core/events/canonical-json.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { Position } from '../../application/ports/event-store.ts';
import type { IdempotencyStore, StoredAnswer } from '../../application/ports/idempotency-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import { DomainError, invalid } from '../../domain/core/errors.ts';
import { errorAnswer } from './errors.ts';
import type { Reply } from './route.ts';

/** How bodies of stored answers are kept: sealed with the data keys of the personal texts they hold. */
export interface AnswerCodec {
  /** @param personal ids of those keys */
  store(body: unknown, personal: readonly string[]): string | Promise<string>;
  /** Undefined when one of the keys is gone: the answer is then made anew from what was appended. */
  restore(text: string): unknown;
}

/** Keeps bodies as they are: for tests, and for answers without personal texts. */
export const plainAnswerCodec: AnswerCodec = {
  store: (body) => JSON.stringify(body),
  restore: (text): unknown => JSON.parse(text),
};

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** @throws {DomainError} 400 */
export const parseIdempotencyKey = (header: string | string[]): string => {
  if (typeof header === 'string' && KEY.test(header)) return header;
  const message = 'Idempotency-Key must be one value of 1 to 255 visible ASCII characters.';
  throw invalid([{ path: 'Idempotency-Key', code: 'invalid_format', message }]);
};

/** Of method, path and body of a request; bodies that are equal as JSON are the same. */
export type Fingerprint = (method: string, path: string, body: unknown) => string;

/**
 * Fingerprints are kept for a day, of bodies that may hold e-mails and passwords: HMAC-SHA-256 (hex) under a key that is
 * derived from `MASTER_KEY`, so that what is kept cannot be guessed without it. One made under another key, or without
 * one as earlier builds did, matches no request: that request is refused as `idempotency_key_reused`, and never done twice.
 */
export const fingerprints = (masterKey: string): Fingerprint => {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'idempotency-fingerprint', 32));
  return (method, path, body) =>
    createHmac('sha256', key)
      .update(`${method}\n${path}\n${body === undefined ? '' : canonicalJson(body)}`)
      .digest('hex');
};

/**
 * Whose keys those of strangers are: of all who call one public operation with the same variables in its path. No
 * caller's scope has an operation's name behind its first slash. Variables come from anybody, so they are hashed.
 */
export const strangersScope = (operationId: string, params: unknown): string =>
  `public/${operationId}/${createHash('sha256').update(canonicalJson(params)).digest('hex')}`;

export interface KeyedRequest {
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
}

const reused = (): DomainError =>
  new DomainError('idempotency_key_reused', 'This Idempotency-Key was used for another request.');

/** An answer made anew because a text in the stored one is gone. */
const asReplayed = (reply: Reply): Reply => ({
  ...reply,
  headers: { ...reply.headers, 'Idempotency-Replayed': 'true' },
});

const withoutSecrets = (reply: Reply): unknown => {
  const { body, secrets } = reply;
  if (secrets === undefined || typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !secrets.includes(name)));
};

/** Answers a repeated request with what the first was answered (decisions, section 1). */
export class Idempotency {
  readonly #store: IdempotencyStore;
  readonly #codec: AnswerCodec;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #logPosition: () => Position | undefined;
  /** Requests of this process that have not been answered; a promise never rejects. */
  readonly #running = new Map<string, Promise<void>>();

  /** @param logPosition how far the log is known to this node */
  constructor(
    store: IdempotencyStore,
    codec: AnswerCodec,
    clock: Clock,
    logger: Logger,
    logPosition: () => Position | undefined,
  ) {
    this.#logPosition = logPosition;
    this.#store = store;
    this.#codec = codec;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Whether a request with this key has been answered. */
  async hasAnswered(scope: string, key: string): Promise<boolean> {
    return (await this.#store.get(scope, key)) !== undefined;
  }

  /**
   * @param perform the request itself
   * @param headersOf the headers of its reply that are kept
   * @throws {DomainError} 422 `idempotency_key_reused`
   */
  async run(
    request: KeyedRequest,
    perform: (key: IdempotencyUse) => Promise<Reply>,
    headersOf: (reply: Reply) => Record<string, string>,
  ): Promise<Reply> {
    const id = `${request.scope}\n${request.key}`;
    for (let first = this.#running.get(id); first !== undefined; first = this.#running.get(id)) await first;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.set(id, promise);
    try {
      const stored = await this.#store.get(request.scope, request.key);
      const replayed = stored === undefined ? undefined : await this.#replay(request, stored);
      if (replayed !== undefined) return replayed;
      const now = this.#clock.now();
      const expiresAt = now + DAY_MS;
      // Whoever else works on this key began later, and appends behind what the log holds now.
      const position = this.#logPosition();
      const own = { fingerprint: request.fingerprint, nonce: randomUUID() };
      const { first, use } = await this.#store.begin(request.scope, request.key, own, expiresAt);
      if (use.fingerprint !== request.fingerprint) throw reused();
      const priorAttempt =
        first && position !== undefined ? { after: position } : { since: now - DAY_MS - HOUR_MS };
      const keyed = { scope: request.scope, key: request.key, nonce: use.nonce, priorAttempt };
      const made = await this.#orRelease(keyed, perform);
      const reply = stored === undefined ? made : asReplayed(made);
      if (reply.status >= 200 && reply.status < 300)
        await this.#keep(request, reply, headersOf(reply), expiresAt);
      return reply;
    } finally {
      this.#running.delete(id);
      resolve();
    }
  }

  /** A refusal had no effect: the key is free again, also for a corrected request. */
  async #orRelease(key: IdempotencyUse, perform: (key: IdempotencyUse) => Promise<Reply>): Promise<Reply> {
    try {
      const reply = await perform(key);
      // A refusal as a page is a reply as well.
      if (reply.status >= 400 && reply.status < 500) await this.#release(key);
      return reply;
    } catch (error) {
      if (error instanceof DomainError && errorAnswer(error).status < 500) await this.#release(key);
      throw error;
    }
  }

  async #release({ scope, key, nonce }: IdempotencyUse): Promise<void> {
    await this.#store.release(scope, key, nonce).catch((failure: unknown) => {
      this.#logger.warn({ err: failure }, 'an idempotency key could not be released');
    });
  }

  /** Undefined for an answer that holds an erased text. */
  async #replay(request: KeyedRequest, stored: StoredAnswer): Promise<Reply | undefined> {
    if (stored.fingerprint !== request.fingerprint) throw reused();
    const headers = { ...stored.headers, 'Idempotency-Replayed': 'true' };
    if (stored.body === null) return { status: stored.status, headers };
    const body = await this.#codec.restore(stored.body);
    return body === undefined ? undefined : { status: stored.status, headers, body };
  }

  /**
   * The effect is there already, so a store that fails now must not turn the answer into an error: the retry
   * reaches the handler, which finds what was appended.
   */
  async #keep(
    request: KeyedRequest,
    reply: Reply,
    headers: Record<string, string>,
    expiresAt: number,
  ): Promise<void> {
    try {
      const body =
        reply.body === undefined
          ? null
          : await this.#codec.store(withoutSecrets(reply), reply.personal ?? []);
      const answer = { fingerprint: request.fingerprint, status: reply.status, headers, body };
      await this.#store.put(request.scope, request.key, answer, expiresAt);
    } catch (error) {
      this.#logger.warn({ err: error }, 'an answer could not be kept for its idempotency key');
    }
  }
}
