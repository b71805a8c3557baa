import { apiTokenStream, USE_INTERVAL_MS, useApiToken } from '../../domain/identity/api-token.ts';
import type { Streams } from '../core/commands/streams.ts';
import { evictOldest } from '../core/memory/evict-oldest.ts';
import { clearTimeout, setTimeout } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';

const MAX_REMEMBERED = 10_000;
const CLOSE_WAIT_MS = 1000;

/**
 * Records in the background when API tokens were used: at the first use, then at most once a minute per token (each
 * node tries at most once a minute). A request does not wait for the write, and does not fail if the write fails.
 */
export class TokenUses extends WithDeps<{
  readonly streams: Streams;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}> {
  /** By token id: when (ms) this node last tried to record a use; oldest first. */
  readonly #noted = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();
  #closed = false;

  note(tenantId: string, tokenId: string): void {
    const now = this.deps.clock.now();
    const last = this.#noted.get(tokenId);
    // The difference is absolute, so that a clock that was set back does not delay the next try. A recorded use keeps
    // its time, since times within a stream never decrease.
    if (this.#closed || (last !== undefined && Math.abs(now - last) < USE_INTERVAL_MS)) return;
    this.#noted.delete(tokenId);
    this.#noted.set(tokenId, now);
    evictOldest(this.#noted, MAX_REMEMBERED);
    const writing = this.#write(tenantId, tokenId).finally(() => this.#pending.delete(writing));
    this.#pending.add(writing);
  }

  /** Records no further uses; waits up to 1 s for running writes. */
  async close(): Promise<void> {
    this.#closed = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_WAIT_MS);
    await Promise.race([Promise.all(this.#pending), promise]);
    clearTimeout(timer);
  }

  async #write(tenantId: string, tokenId: string): Promise<void> {
    try {
      const id = this.deps.ids.next();
      await this.deps.streams
        .of(apiTokenStream, tenantId, tokenId)
        .execute(
          { cause: { actor: { kind: 'api_token', id: tokenId }, correlationId: id, causationId: id } },
          useApiToken,
        );
    } catch (error) {
      this.deps.logger.warn(
        { err: error, token_id: tokenId },
        'the use of an API token could not be recorded',
      );
    }
  }
}
