import { createHash, createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { IdempotencyUse } from '../../application/core/commands/request-context.ts';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import { randomUUID } from '../../application/core/runtime/random.ts';
import { WithDeps } from '../../application/core/with-deps.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { Position } from '../../application/ports/event-store.ts';
import type { IdempotencyStore, StoredAnswer } from '../../application/ports/idempotency-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import { canonicalJson, canonicalParts } from '../../domain/core/canonical-json.ts';
import { DomainError, invalid } from '../../domain/core/errors.ts';
import { errorAnswer } from './errors.ts';
import type { Reply } from './route.ts';

/** Converts bodies of answers to text for the store. Seals a body that has personal texts, with their data keys. */
export interface AnswerCodec {
  /** @param personal ids of the data keys of the personal texts in the body */
  store(body: unknown, personal: readonly string[]): string | Promise<string>;
  /**
   * Undefined when a key is destroyed or the form is unknown: the answer is then rebuilt from the appended events.
   * @throws for a damaged text
   */
  restore(text: string): unknown;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** UTF-16 units of a body that are hashed between two pauses. */
const HASHED = 64 * 1024;
/** 1 to 255 visible ASCII characters, with spaces only between them. */
const KEY = /^(?=.{1,255}$)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** @param headers each `Idempotency-Key` of the request @throws {DomainError} 400 */
export const parseIdempotencyKey = (headers: readonly string[]): string => {
  const [header, ...more] = headers;
  if (header !== undefined && more.length === 0 && KEY.test(header)) return header;
  const message =
    'Idempotency-Key must be one value of 1 to 255 visible ASCII characters; spaces are allowed only inside.';
  throw invalid([{ path: 'Idempotency-Key', code: 'invalid_format', message }]);
};

/**
 * Identifies a request by method, path and body; bodies that are equal as JSON give the same fingerprint.
 * @param owner of the time slices in which a large body is hashed
 */
export type Fingerprint = (method: string, path: string, body: unknown, owner: string) => Promise<string>;

/**
 * HMAC-SHA-256 (hex) with a key derived from `MASTER_KEY`: without this key, a guessed e-mail or password cannot be
 * compared with a stored fingerprint. After a change of `MASTER_KEY`, a repetition is refused as
 * `idempotency_key_reused`, never executed twice.
 */
export const fingerprints = (masterKey: string): Fingerprint => {
  // Node computes an HMAC faster with a key object than with a plain key.
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', 'idempotency-fingerprint', 32)));
  return async (method, path, body, owner) => {
    const slice = timeSlices.of(owner, 'fingerprint');
    const hmac = createHmac('sha256', key);
    let text = `${method}\n${path}\n`;
    for (const part of body === undefined ? [] : canonicalParts(body)) {
      text += part;
      if (text.length < HASHED) continue;
      hmac.update(text);
      text = '';
      await slice.pause();
    }
    return hmac.update(text).digest('hex');
  };
};

/**
 * Scope of keys of public requests, shared by all callers of an operation with the same path variables. Differs from
 * every `callerKey`, which has no operation id after its first slash. Hashes the untrusted variables.
 */
export const strangersScope = (operationId: string, params: unknown): string =>
  `public/${operationId}/${createHash('sha256').update(canonicalJson(params)).digest('hex')}`;

export interface KeyedRequest {
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
}

const reused = (): DomainError =>
  new DomainError(
    'idempotency_key_reused',
    'This Idempotency-Key was used for another request. Use a new key.',
  );

/** Marks an answer that was rebuilt because the stored answer could not be restored. */
const asReplayed = (reply: Reply): Reply => ({
  ...reply,
  headers: { ...reply.headers, 'Idempotency-Replayed': 'true' },
});

const withoutSecrets = (reply: Reply): unknown => {
  const { body, secrets } = reply;
  if (secrets === undefined || typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !secrets.includes(name)));
};

/** Answers a repeated request like the first one (decisions, section 1). */
export class Idempotency extends WithDeps<{
  readonly idempotency: IdempotencyStore;
  readonly answerCodec: AnswerCodec;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The newest position that this process knows. */
  readonly logPosition: () => Position | undefined;
}> {
  /** Unanswered requests of this process; the promises never reject. */
  readonly #running = new Map<string, Promise<void>>();

  /** Whether a request with this key was answered. */
  async hasAnswered(scope: string, key: string): Promise<boolean> {
    return (await this.deps.idempotency.get(scope, key)) !== undefined;
  }

  /**
   * @param perform runs the request
   * @param headersOf the headers of the reply that are stored
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
      const stored = await this.deps.idempotency.get(request.scope, request.key);
      const replayed = stored === undefined ? undefined : await this.#replay(request, stored);
      if (replayed !== undefined) return replayed;
      const now = this.deps.clock.now();
      const expiresAt = now + DAY_MS;
      // If this attempt is the first with this key, every other attempt appends after this position.
      const position = this.deps.logPosition();
      const own = { fingerprint: request.fingerprint, nonce: randomUUID() };
      const { first, use } = await this.deps.idempotency.begin(request.scope, request.key, own, expiresAt);
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

  /** Releases the key after a refusal, which had no effect: a corrected request may use the same key. */
  async #orRelease(key: IdempotencyUse, perform: (key: IdempotencyUse) => Promise<Reply>): Promise<Reply> {
    try {
      const reply = await perform(key);
      // A refusal as an HTML page is also a reply.
      if (reply.status >= 400 && reply.status < 500) await this.#release(key);
      return reply;
    } catch (error) {
      if (error instanceof DomainError && errorAnswer(error).status < 500) await this.#release(key);
      throw error;
    }
  }

  async #release({ scope, key, nonce }: IdempotencyUse): Promise<void> {
    await this.deps.idempotency.release(scope, key, nonce).catch((failure: unknown) => {
      this.deps.logger.warn({ err: failure }, 'an idempotency key could not be released');
    });
  }

  /** Undefined when a text of the answer was erased, or the stored answer has an unknown form. */
  async #replay(request: KeyedRequest, stored: StoredAnswer): Promise<Reply | undefined> {
    if (stored.fingerprint !== request.fingerprint) throw reused();
    const headers = { ...stored.headers, 'Idempotency-Replayed': 'true' };
    if (stored.body === null) return { status: stored.status, headers };
    const body = await this.deps.answerCodec.restore(stored.body);
    return body === undefined ? undefined : { status: stored.status, headers, body };
  }

  /** Stores the answer. A failure is only logged, because the write has happened: a retry finds the appended events. */
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
          : await this.deps.answerCodec.store(withoutSecrets(reply), reply.personal ?? []);
      const answer = { fingerprint: request.fingerprint, status: reply.status, headers, body };
      await this.deps.idempotency.put(request.scope, request.key, answer, expiresAt);
    } catch (error) {
      this.deps.logger.warn({ err: error }, 'an answer could not be stored for its idempotency key');
    }
  }
}
