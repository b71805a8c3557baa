import { CommandHandler } from '../../application/core/commands/command-handler.ts';
import { StreamStates } from '../../application/core/commands/stream-states.ts';
import { Streams } from '../../application/core/commands/streams.ts';
import { EventCodec } from '../../application/core/events/event-codec.ts';
import { KeyRing } from '../../application/core/privacy/key-ring.ts';
import { LogFollower } from '../../application/core/subscriptions/log-follower.ts';
import { Directory } from '../../application/identity/directory.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { EventStore } from '../../application/ports/event-store.ts';
import type { KeyStore } from '../../application/ports/key-store.ts';
import type { SnapshotStore } from '../../application/ports/snapshot-store.ts';
import { catalogue } from '../../domain/catalogue.ts';
import type { EventDefinition } from '../../domain/core/event.ts';
import { systemClock, uuidV7Ids } from '../../infrastructure/identity/ids.ts';
import { memoryKeyStore, memorySnapshotStore, silentMetrics, testClock, testLogger } from './fakes.ts';
import { openMemoryEventStore } from './memory-event-store.ts';

export const MASTER_KEY = 'a master key for tests, long enough for nobody';

/** The stores that nodes share. */
export interface SharedStores {
  readonly events: EventStore;
  readonly keyStore: KeyStore;
  readonly snapshots: SnapshotStore;
}

export const memoryStores = (): {
  events: EventStore;
  keyStore: ReturnType<typeof memoryKeyStore>;
  snapshots: ReturnType<typeof memorySnapshotStore>;
} => ({
  events: openMemoryEventStore(),
  keyStore: memoryKeyStore(),
  snapshots: memorySnapshotStore(),
});

/** One node of the product, for commands only: its own caches over stores that it may share. */
export const startNode = (
  options: Partial<SharedStores> & {
    readonly clock?: Clock;
    readonly definitions?: readonly EventDefinition[];
  } = {},
) => {
  const events = options.events ?? openMemoryEventStore();
  const keyStore = options.keyStore ?? memoryKeyStore();
  const snapshots = options.snapshots ?? memorySnapshotStore();
  const clock = options.clock ?? testClock();
  const ids = uuidV7Ids(systemClock);
  const logger = testLogger();
  const keys = new KeyRing(keyStore, MASTER_KEY);
  const codec = new EventCodec(options.definitions ?? catalogue, keys);
  const states = new StreamStates(events, codec, snapshots, logger);
  const commands = new CommandHandler({ events, codec, states, keys, clock, ids, metrics: silentMetrics });
  const streams = new Streams(commands, states);
  const follower = new LogFollower({ events, logger });
  const directory = new Directory({ streams, keys });
  return {
    events,
    follower,
    keyStore,
    snapshots,
    clock,
    ids,
    logger,
    keys,
    codec,
    states,
    commands,
    streams,
    directory,
  };
};

export type TestNode = ReturnType<typeof startNode>;
