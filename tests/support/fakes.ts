import type { Clock } from '../../application/ports/clock.ts';
import type { KeyStore } from '../../application/ports/key-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Metrics } from '../../application/ports/metrics.ts';
import type { Snapshot, SnapshotStore } from '../../application/ports/snapshot-store.ts';
import { BEGINNING } from './given.ts';

export interface TestClock extends Clock {
  set(ms: number): void;
  advance(ms: number): void;
}

export const testClock = (start = BEGINNING): TestClock => {
  let now = start;
  return {
    now: () => now,
    set: (ms) => {
      now = ms;
    },
    advance: (ms) => {
      now += ms;
    },
  };
};

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

export const testLogger = (): Logger & { readonly lines: LogLine[] } => {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
};

export const silentMetrics: Metrics = {
  eventsAppended: () => undefined,
  eventsProjected: () => undefined,
  projectionLag: () => undefined,
  parkedTenants: () => undefined,
  socketsOpen: () => undefined,
  socketClosed: () => undefined,
  envelopesSent: () => undefined,
  eventLoopBlocked: () => undefined,
  deliveryAttempted: () => undefined,
  questionAsked: () => undefined,
  rowsProcessed: () => undefined,
  atScrape: () => () => undefined,
  subscriberLag: () => undefined,
  tenantsBehind: () => undefined,
  pendingDeliveries: () => undefined,
  deadLetters: () => undefined,
  pausedSubscriptions: () => undefined,
  openPostingFailures: () => undefined,
  queuedRows: () => undefined,
  storeBytes: () => undefined,
  headAge: () => undefined,
};

/** Keys in memory; tests may read them and replace single methods. */
export interface TestKeyStore extends KeyStore {
  readonly wrapped: Map<string, Uint8Array | 'destroyed'>;
}

export const memoryKeyStore = (): TestKeyStore => {
  const wrapped = new Map<string, Uint8Array | 'destroyed'>();
  return {
    wrapped,
    put: async (keys) => {
      for (const key of keys) if (!wrapped.has(key.id)) wrapped.set(key.id, key.wrapped);
    },
    getMany: async (ids) => ids.map((id) => wrapped.get(id)),
    destroy: async (id) => {
      wrapped.set(id, 'destroyed');
    },
    replace: async (id, from, to) => {
      const present = wrapped.get(id);
      if (!(present instanceof Uint8Array) || Buffer.compare(present, from) !== 0) return false;
      wrapped.set(id, to);
      return true;
    },
    list: async function* () {
      for (const [id, row] of wrapped) yield { id, wrapped: row };
    },
    ping: async () => undefined,
    close: async () => undefined,
  };
};

export interface TestSnapshotStore extends SnapshotStore {
  readonly snapshots: Map<string, Snapshot>;
}

export const memorySnapshotStore = (): TestSnapshotStore => {
  const snapshots = new Map<string, Snapshot>();
  return {
    snapshots,
    get: async (stream) => snapshots.get(stream),
    put: async (stream, snapshot) => {
      snapshots.set(stream, snapshot);
    },
    close: async () => undefined,
  };
};
