import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TenantIndexes } from '../../application/assistant/tenant-indexes.ts';
import { useRandom } from '../../application/core/runtime/random.ts';
import { useTimers } from '../../application/core/runtime/timers.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { OutboundHttp } from '../../application/ports/outbound-http.ts';
import type { Passwords } from '../../application/ports/passwords.ts';
import { openSqliteHeadStore } from '../../infrastructure/audit/sqlite-heads.ts';
import { readConfig } from '../../infrastructure/config.ts';
import { openSqliteCorpusStore } from '../../infrastructure/corpus/sqlite.ts';
import { openSqliteIdempotencyStore } from '../../infrastructure/idempotency/sqlite.ts';
import { openSqliteKeyStore } from '../../infrastructure/key-store/sqlite.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import type { Stores } from '../../infrastructure/stores.ts';
import { memoryBlobStore } from '../support/memory-blob-store.ts';
import { memoryCorpusStore } from '../support/memory-corpus-store.ts';
import { openMemoryEventStore } from '../support/memory-event-store.ts';
import { memoryHeadStore } from '../support/memory-head-store.ts';
import { memoryIdempotencyStore } from '../support/memory-idempotency-store.ts';
import { memoryKeyStore } from '../support/memory-key-store.ts';
import { openMemoryReadStore } from '../support/memory-read-store/store.ts';
import { type MemorySnapshotStore, memorySnapshotStore } from '../support/memory-snapshot-store.ts';
import { Dice } from './dice.ts';
import { Faults } from './faults.ts';
import { Fences } from './fences.ts';
import { HalfBatches } from './half-batches.ts';
import { SimulatedNode } from './node.ts';
import { storesOf } from './stores.ts';
import { VirtualTime } from './virtual-time.ts';
import { wordEmbedder } from './word-embedder.ts';

/** 2026-03-02T08:00:00Z, a Monday. */
export const STARTED_AT = Date.UTC(2026, 2, 2, 8);
export const secretOf = (name: string): string => `${name}-of-the-simulation-with-32-bytes-or-more`;

/** A data folder that does not exist: nodes write no files into it. */
const NOWHERE = join(tmpdir(), 'no-folder-of-the-simulation');

/** Compares texts: the product's cost of hashing is not simulated. */
const plainPasswords: Passwords = {
  hash: async (password) => `plain:${password}`,
  verify: async (hash, password) => hash === `plain:${password}`,
};

interface SharedOptions {
  readonly clock: () => number;
  /** Whether read models, keys, answers and the corpus are in the adapters of the embedded stores. */
  readonly isSqlite: boolean;
  /** File of the heads, which are in memory otherwise. */
  readonly heads: string | undefined;
}

const openShared = async ({ clock, isSqlite, heads }: SharedOptions): Promise<Shared> => {
  const path = ':memory:';
  return {
    events: openMemoryEventStore(),
    reads: isSqlite ? await openSqliteReadStore({ path, clock }) : openMemoryReadStore(clock),
    keys: isSqlite ? await openSqliteKeyStore({ path }) : memoryKeyStore(),
    answers: isSqlite ? await openSqliteIdempotencyStore({ path }) : memoryIdempotencyStore(),
    corpus: isSqlite ? await openSqliteCorpusStore({ path }) : memoryCorpusStore(),
    snapshots: memorySnapshotStore(),
    blobs: memoryBlobStore(clock),
    heads: heads === undefined ? memoryHeadStore() : await openSqliteHeadStore({ path: heads }),
    close: async () => undefined,
  };
};

/** The stores that all nodes share. Their snapshots can be listed, which only the simulation does. */
export interface Shared extends Stores {
  readonly snapshots: MemorySnapshotStore;
}

/** Nodes of the real composition over shared stores, on virtual time. */
export class World {
  readonly time = new VirtualTime();
  readonly trace: string[] = [];
  /** Wall clock (ms) at the start of the run. */
  readonly startedAt: number;
  readonly dice: Dice;
  readonly faults: Faults;
  readonly fences = new Fences(() => this.time.now);
  readonly halves = new HalfBatches(() => this.time.now);
  readonly #restore: (() => void)[] = [];
  readonly nodes: SimulatedNode[] = [];
  #stores: Shared | undefined;

  constructor(seed: number, share: number, bare = 0, startedAt = STARTED_AT) {
    this.dice = new Dice(seed, 1);
    this.startedAt = startedAt;
    this.faults = new Faults(share, bare);
    this.#restore.push(useTimers(this.time.timers()), useRandom(new Dice(seed, 2).asRandom()));
  }

  get stores(): Shared {
    if (this.#stores === undefined) throw new Error('the world is not open');
    return this.#stores;
  }

  readonly note = (text: string): void => {
    this.trace.push(`${(this.time.now / 1_000).toFixed(3).padStart(9)} ${text}`);
  };

  /** Stores are in memory unless said otherwise. */
  async open({
    isSqlite = false,
    heads,
  }: Partial<Pick<SharedOptions, 'isSqlite' | 'heads'>> = {}): Promise<void> {
    this.faults.breaksBatches = !isSqlite;
    this.#stores = await openShared({ clock: () => this.startedAt + this.time.now, isSqlite, heads });
  }

  add(
    name: string,
    role: 'api' | 'worker' | 'all',
    outbound: OutboundHttp,
    env: Readonly<Record<string, string>> = {},
  ): SimulatedNode {
    const route = {
      time: this.time,
      dice: new Dice(this.dice.between(0, 2 ** 31), 3),
      faults: this.faults,
      fences: this.fences,
      halves: this.halves,
      trace: (text: string) => this.note(text),
    };
    const node = new SimulatedNode({
      name,
      time: this.time,
      startedAt: this.startedAt,
      logger: this.#logger(name),
      config: readConfig({
        ROLE: role,
        DATA_DIR: NOWHERE,
        NODE_ENV: 'test',
        DEMO: '0',
        WEBHOOK_RETRY_SECONDS: '0.5,1,2,4',
        RATE_LIMIT_PER_MINUTE: '0',
        LOGIN_LIMIT_PER_MINUTE: '0',
        TENANT_JWT_SECRET: secretOf('tenant'),
        PLATFORM_JWT_SECRET: secretOf('platform'),
        PARTNER_JWT_SECRET: secretOf('partner'),
        PARTNER_EXCHANGE_SECRET: secretOf('exchange'),
        MASTER_KEY: secretOf('master'),
        AUDIT_SIGNING_KEY: Buffer.alloc(32, 7).toString('base64'),
        ...env,
      }),
      adapters: (owner) => ({
        openStores: async () => storesOf(this.stores, route, owner),
        guardedHttp: () => outbound,
        passwords: () => plainPasswords,
        embedding: (_config, _logger, corpus) => ({
          embedder: wordEmbedder,
          search: new TenantIndexes({
            ...{ store: corpus, model: wordEmbedder.model, dimensions: wordEmbedder.dimensions },
            maxBytes: 2 ** 24,
          }),
        }),
        utilization: () => () => 0,
        foldsInThread: false,
        storeSizes: async () => new Map(),
        watchEventLoop: () => () => undefined,
      }),
    });
    this.nodes.push(node);
    return node;
  }

  #logger(name: string): Logger {
    const line = (level: string) => (facts: object, message: string) => {
      const error: unknown = Reflect.get(facts, 'err');
      this.note(`${name} ${level}: ${message}${error instanceof Error ? ` (${error.message})` : ''}`);
    };
    const quiet = (): void => undefined;
    return { debug: quiet, info: quiet, warn: line('warn'), error: line('error') };
  }

  async close(): Promise<void> {
    for (const node of this.nodes) {
      node.kill();
      node.dispose();
    }
    await this.time.drain();
    for (const restore of this.#restore) restore();
    const { events, reads, keys, answers, snapshots, corpus, heads, blobs } = this.stores;
    for (const store of [events, reads, keys, answers, snapshots, corpus, heads, blobs]) await store.close();
  }
}
