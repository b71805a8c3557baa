import type { Connection } from './connection.ts';
import { isPinned } from './pinned-socket.ts';

/**
 * Maximum of idle connections per key and in total. Above the first limit, `put` closes the key's oldest connection;
 * above the second, the oldest connection of the key with the oldest last `put`. The age limit bounds how long a
 * certificate is trusted after its check.
 */
const LIMITS = { perKey: 4, total: 512, maxAgeMs: 60_000 };

/**
 * Idle connections. {@link take} returns a connection only for the key under which it was put, and only if it leads to
 * an address that was checked for the new call.
 */
export class ConnectionPool {
  readonly #limits: typeof LIMITS;
  /** Idle connections by key, in order of use; keys in order of the last `put`. */
  readonly #idle = new Map<string, Connection[]>();
  #count = 0;

  constructor(limits: typeof LIMITS = LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#count;
  }

  /**
   * Takes the most recently used connection. If that one is too old, has ended or leads to another address, closes it
   * and tries the next one.
   */
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
