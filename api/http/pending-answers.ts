import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { callerKey, ownerKey, type Principal } from '../../application/core/commands/principal.ts';
import { clearInterval, monotonic, setInterval, type Timer } from '../../application/core/runtime/timers.ts';
import { DomainError } from '../../domain/core/errors.ts';
import { whenAnswered } from './answer-end.ts';

const MIB = 1024 * 1024;

/** Maximum bytes of answers that their clients have not read (docs/limits.md). */
const LIMITS = { ofConnection: 16 * MIB, ofCaller: 32 * MIB, ofTenant: 64 * MIB, inAll: 256 * MIB } as const;
/** Time (ms) after which a connection is closed if bytes wait for its reader and the operating system takes none. */
const STALLED_MS = 15_000;
const CHECK_MS = 1000;
/** Bytes counted for a streamed body, or for a body that all readers share: the size of the socket's buffers. */
export const STREAM_BYTES = 128 * 1024;

/** Reason for closing a connection. */
export type CutReason = keyof typeof LIMITS | 'stalled' | 'pipelined';

interface Reader {
  readonly caller: string;
  readonly tenant: string;
}

interface Pending {
  readonly reader: Reader;
  readonly connection: Socket;
  readonly bytes: number;
  /** Result of {@link takenBy} at the last progress. */
  taken: number;
  /** Time (ms) of the last progress. */
  at: number;
}

interface Metrics {
  pendingAnswers(bytes: number): void;
  connectionCut(reason: CutReason): void;
}

/**
 * Counts answers that their clients have not read, and closes connections beyond the limits. An answer of up to 64 KiB
 * that the operating system takes at once is not counted.
 */
export class PendingAnswers {
  readonly #metrics: Metrics;
  readonly #pending = new Set<Pending>();
  readonly #bytesOf = new Map<string, number>();
  readonly #ofConnection = new Map<Socket, number>();
  #bytes = 0;
  #timer: Timer | undefined;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** @throws {DomainError} 503 while the caller or the tenant has more than half of its limit unread */
  admit(principal: Principal): void {
    if (this.#bytes === 0) return;
    const { caller, tenant } = readerOf(principal);
    if (this.#count(caller) > LIMITS.ofCaller / 2 || this.#count(tenant) > LIMITS.ofTenant / 2)
      throw tooManyUnread();
  }

  /**
   * Like {@link admit}, but for a caller without a credential. Unread answers of other addresses do not count.
   * @throws {DomainError} 503
   */
  admitStranger(connection: Socket): void {
    if (this.#count(strangerAt(connection).caller) > LIMITS.ofCaller / 2) throw tooManyUnread();
  }

  /** Counts a written body unless the operating system has taken it. @param principal undefined on public routes */
  sent(response: ServerResponse, principal: Principal | undefined, bytes: number): void {
    const connection = response.req.socket;
    if (response.socket !== null && connection.writableLength === 0) return;
    this.watch(response, principal, bytes);
  }

  /** Counts a body until its response is closed. */
  watch(response: ServerResponse, principal: Principal | undefined, bytes: number): void {
    const connection = response.req.socket;
    if (response.closed || connection.destroyed) return;
    const reader = principal === undefined ? strangerAt(connection) : readerOf(principal);
    const pending = { reader, connection, bytes, taken: takenBy(connection), at: monotonic() };
    this.#pending.add(pending);
    this.#add(pending, bytes);
    this.#ofConnection.set(connection, (this.#ofConnection.get(connection) ?? 0) + bytes);
    whenAnswered(response, () => this.#release(pending));
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    this.#enforce(pending);
  }

  #release(pending: Pending): void {
    if (!this.#pending.delete(pending)) return;
    const left = (this.#ofConnection.get(pending.connection) ?? 0) - pending.bytes;
    if (left > 0) this.#ofConnection.set(pending.connection, left);
    else this.#ofConnection.delete(pending.connection);
    this.#add(pending, -pending.bytes);
  }

  #enforce({ reader, connection }: Pending): void {
    if ((this.#ofConnection.get(connection) ?? 0) > LIMITS.ofConnection)
      this.#cut(connection, 'ofConnection');
    else if (this.#count(reader.caller) > LIMITS.ofCaller) this.#cut(connection, 'ofCaller');
    else if (this.#count(reader.tenant) > LIMITS.ofTenant) this.#cut(connection, 'ofTenant');
    else if (this.#bytes > LIMITS.inAll) this.#cutLargest();
  }

  /** Closes one connection of the tenant with the most bytes: the one whose last progress is the oldest. */
  #cutLargest(): void {
    let worst: Pending | undefined;
    for (const pending of this.#pending) {
      const more = this.#count(pending.reader.tenant) - this.#count(worst?.reader.tenant ?? '');
      if (worst === undefined || more > 0 || (more === 0 && pending.at < worst.at)) worst = pending;
    }
    if (worst !== undefined) this.#cut(worst.connection, 'inAll');
  }

  #cut(connection: Socket, reason: CutReason): void {
    if (connection.destroyed) return;
    connection.destroy();
    this.#metrics.connectionCut(reason);
  }

  #check(): void {
    const now = monotonic();
    for (const pending of this.#pending) {
      const taken = takenBy(pending.connection);
      // When no bytes wait, the client is not slow: a streamed answer then waits for its source.
      if (pending.connection.writableLength === 0 || taken !== pending.taken) {
        pending.taken = taken;
        pending.at = now;
      } else if (now - pending.at > STALLED_MS) this.#cut(pending.connection, 'stalled');
    }
    this.#metrics.pendingAnswers(this.#bytes);
    if (this.#pending.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #count(key: string): number {
    return this.#bytesOf.get(key) ?? 0;
  }

  #add({ reader }: Pending, bytes: number): void {
    this.#bytes += bytes;
    for (const key of [reader.caller, reader.tenant]) {
      const sum = this.#count(key) + bytes;
      if (sum === 0) this.#bytesOf.delete(key);
      else this.#bytesOf.set(key, sum);
    }
  }
}

/** Bytes that a connection has passed to the operating system. */
const takenBy = (connection: Socket): number => connection.bytesWritten - connection.writableLength;

const tooManyUnread = (): DomainError => {
  const message = 'Too many answers are still unread. Read them, then try again.';
  return new DomainError('unavailable', message, { retry_after: 5, limit: 'pending_answers' });
};

const strangerAt = ({ remoteAddress = '' }: Socket): Reader => ({
  caller: `address ${remoteAddress}`,
  tenant: 'public',
});

const readerOf = (principal: Principal): Reader => ({
  caller: `caller ${callerKey(principal)}`,
  tenant: ownerKey(principal),
});
