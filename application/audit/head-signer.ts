import { DomainError } from '../../domain/core/errors.ts';
import { tenantPrefix } from '../core/events/stream-name.ts';
import { pause } from '../core/runtime/timers.ts';
import { holdLease, type LeaseOptions } from '../core/subscriptions/lease.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { HeadSigningKey, HeadSink, HeadStore, LastRevision, SignedHead } from '../ports/audit-heads.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { RootHash, signedHead } from './head.ts';
import type { HeadKeeper } from './head-keeper.ts';

/** Pause (ms) between rounds. A tenant with new events needs a head at least once a minute (decisions, section 11). */
const ROUND_MS = 30_000;
/** Most heads of a tenant that wait for delivery; beyond this number its oldest are dropped and an error is logged. */
const MOST_WAITING = 1000;
const DELIVERED_AT_ONCE = 100;
/** A pass over the waiting heads ends when heads of this number of tenants were refused. */
const MOST_REFUSED = 3;
const NOT_DELIVERED = 'heads could not be delivered to AUDIT_HEADS; retrying';
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

type EachPage = (revisions: readonly LastRevision[]) => void | Promise<void>;

/** Signs heads of tenants: on request, and regularly for tenants with new events. */
export class HeadSigner extends WithDeps<{
  readonly keeper: Pick<HeadKeeper, 'reachEnd'>;
  readonly heads: HeadStore;
  /** Without a key no heads are signed. */
  readonly signer: HeadSigningKey | undefined;
  /** Without a sink heads are not delivered. */
  readonly sink: HeadSink | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether an owner of streams is a tenant. */
  readonly isTenant: (owner: string) => boolean;
}> {
  #delivery = new AbortController();
  /** When (ms) this process took the lease or, later, began its last complete round; undefined without the lease. */
  #signedAt: number | undefined;

  /** Time (ms) since this process took the lease or began its last complete round; undefined without the lease. */
  get age(): number | undefined {
    return this.#signedAt === undefined ? undefined : this.deps.clock.now() - this.#signedAt;
  }

  /**
   * Signs the head of a tenant at the present end of the log.
   * @param each called with the last hashes of the streams that the root covers, in order of stream names
   * @throws {DomainError} `unavailable` without a signing key, `read_model_behind` when the wait takes too long or the
   * log is empty
   */
  async proof(tenantId: string, each?: EachPage): Promise<SignedHead> {
    const { signer, keeper } = this.deps;
    if (signer === undefined) {
      throw new DomainError('unavailable', 'This server has no key for signing heads (AUDIT_SIGNING_KEY).');
    }
    await keeper.reachEnd();
    return this.#sign(tenantId, signer, each);
  }

  async #sign(tenantId: string, signer: HeadSigningKey, each?: EachPage): Promise<SignedHead> {
    const { heads, clock, sink, logger } = this.deps;
    const root = new RootHash();
    const position = await heads.read(tenantPrefix(tenantId), (page) => {
      root.add(page);
      return each?.(page);
    });
    if (position === undefined)
      throw new DomainError('read_model_behind', 'There are no events to sign yet.');
    const head = signedHead(
      { tenant_id: tenantId, position, root: root.digest(), signed_at: new Date(clock.now()).toISOString() },
      signer,
    );
    if (sink !== undefined) {
      const lost = await heads.enqueue(head, MOST_WAITING);
      if (lost > 0)
        logger.error(
          { lost, tenant: tenantId },
          'AUDIT_HEADS was unavailable for too long; heads were dropped',
        );
      this.#delivery.abort();
    }
    await heads.signed(tenantId, position);
    return head;
  }

  /** Signs heads of changed tenants in rounds until aborted, on one node at a time. */
  run(lease: LeaseOptions, signal: AbortSignal): Promise<void> {
    const { signer } = this.deps;
    if (signer === undefined) return Promise.resolve();
    return holdLease('audit-sealer', lease, signal, async (_lease, held) => {
      this.#signedAt = this.deps.clock.now();
      while (!held.aborted) {
        await this.round(held);
        await pause(ROUND_MS, held);
      }
      this.#signedAt = undefined;
    });
  }

  /** Signs a head for every tenant with events since the tenant's last head. */
  async round(signal?: AbortSignal): Promise<void> {
    const { signer, heads, keeper, isTenant, logger } = this.deps;
    if (signer === undefined) return;
    const began = this.deps.clock.now();
    try {
      await keeper.reachEnd();
      for (const owner of await heads.unsigned()) {
        if (signal?.aborted) return;
        if (isTenant(owner)) await this.#sign(owner, signer);
      }
      if (this.#signedAt !== undefined) this.#signedAt = began;
    } catch (error) {
      if (signal?.aborted) return;
      logger.warn({ err: error }, 'heads could not be signed; the next round retries');
    }
  }

  /** Delivers heads to the sink, each tenant's in order, until aborted; logs and retries failures. */
  async deliver(signal: AbortSignal): Promise<void> {
    const { sink } = this.deps;
    if (sink === undefined) return;
    let wait = FIRST_WAIT_MS;
    while (!signal.aborted) {
      this.#delivery = new AbortController();
      const failed = await this.#deliverWaiting(sink, signal);
      if (failed) {
        await pause(wait, signal);
        wait = Math.min(wait * 2, LONGEST_WAIT_MS);
      } else {
        wait = FIRST_WAIT_MS;
        await pause(LONGEST_WAIT_MS, AbortSignal.any([signal, this.#delivery.signal]));
      }
    }
  }

  /** @returns whether heads were refused */
  async #deliverWaiting(sink: HeadSink, signal: AbortSignal): Promise<boolean> {
    const { heads, logger } = this.deps;
    /** Tenants with a refused head; their later heads wait for the next pass. */
    const refused = new Set<string>();
    try {
      for (let after = 0; ; ) {
        const waiting = await heads.waiting(DELIVERED_AT_ONCE, after);
        for (const { seq, head } of waiting) {
          if (signal.aborted) return false;
          after = seq;
          if (refused.has(head.tenant_id)) continue;
          try {
            await sink.receive(head, signal);
          } catch (error) {
            refused.add(head.tenant_id);
            if (refused.size === MOST_REFUSED) throw error;
            if (!signal.aborted) logger.warn({ err: error, tenant: head.tenant_id }, NOT_DELIVERED);
            continue;
          }
          await heads.delivered(seq);
        }
        if (waiting.length < DELIVERED_AT_ONCE) return refused.size > 0;
      }
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, NOT_DELIVERED);
      return true;
    }
  }
}
