import type { Connection } from './connection.ts';
import { isPinned } from './pinned-socket.ts';

/**
 * Idle connections under one key, and in all; of more, those that were used longest ago are closed. An old one is not
 * used any more, so that nobody is trusted for long by a certificate of before.
 */
const LIMITS = { perKey: 4, total: 512, maxAgeMs: 60_000 };

/**
 * Connections that nobody uses at the moment. One is only given out for addresses that were judged for the call that it
 * is to carry, and only under the key that it was put away under.
 */
export class KeptConnections {
  readonly #limits: typeof LIMITS;
  /** By key, and those of a key in the order in which they were put away; keys in the order of the last change. */
  readonly #idle = new Map<string, Connection[]>();
  #count = 0;

  constructor(limits: typeof LIMITS = LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#count;
  }

  /** The one used last; those that are old or lead elsewhere than to the addresses are closed. */
  take(key: string, addresses: readonly string[]): Connection | undefined {
    for (let found = this.#pop(key); found !== undefined; found = this.#pop(key)) {
      found.onceEnded(() => undefined);
      const isYoung = found.ageMs < this.#limits.maxAgeMs;
      if (isYoung && found.isOpen && isPinned(found.remoteAddress, addresses)) return found;
      found.close();
    }
    return undefined;
  }

  put(key: string, connection: Connection): void {
    if (!connection.isOpen) {
      connection.close();
      return;
    }
    const idle = this.#idle.get(key) ?? [];
    this.#idle.delete(key);
    this.#idle.set(key, idle);
    idle.push(connection);
    this.#count += 1;
    connection.onceEnded(() => this.#remove(key, connection));
    if (idle.length > this.#limits.perKey) idle[0]?.close();
    if (this.#count > this.#limits.total) this.#idle.values().next().value?.[0]?.close();
  }

  #pop(key: string): Connection | undefined {
    const idle = this.#idle.get(key);
    const last = idle?.at(-1);
    if (last !== undefined) this.#remove(key, last);
    return last;
  }

  #remove(key: string, connection: Connection): void {
    const idle = this.#idle.get(key);
    const at = idle?.indexOf(connection) ?? -1;
    if (idle === undefined || at < 0) return;
    idle.splice(at, 1);
    this.#count -= 1;
    if (idle.length === 0) this.#idle.delete(key);
  }
}
