import { dirname, join, resolve } from 'node:path';
import type { HeadStore } from '../application/ports/audit-heads.ts';
import type { BlobStore } from '../application/ports/blob-store.ts';
import type { CorpusStore } from '../application/ports/corpus-store.ts';
import type { EventStore } from '../application/ports/event-store.ts';
import type { IdempotencyStore } from '../application/ports/idempotency-store.ts';
import type { KeyStore } from '../application/ports/key-store.ts';
import type { Logger } from '../application/ports/logger.ts';
import type { ReadStore } from '../application/ports/read-store.ts';
import type { SearchSlices } from '../application/ports/searches.ts';
import type { SnapshotStore } from '../application/ports/snapshot-store.ts';
import { openSqliteHeadStore } from './audit/sqlite-heads.ts';
import { openFolderBlobStore } from './blob-store/folder.ts';
import type { Config } from './config.ts';
import { openSqliteCorpusStore } from './corpus/sqlite.ts';
import type { LogImport } from './event-store/log-import.ts';
import { openSqliteImport } from './event-store/sqlite/import.ts';
import { openSqliteEventStore } from './event-store/sqlite/store.ts';
import { openSqliteIdempotencyStore } from './idempotency/sqlite.ts';
import { openSqliteKeyStore } from './key-store/sqlite.ts';
import { MaintenanceThread } from './maintenance/maintenance-thread.ts';
import { makeFolder } from './private-files.ts';
import { openSqliteReadStore } from './read-store/sqlite/store.ts';
import { openSqliteSnapshotStore } from './snapshot-store/sqlite.ts';

export interface Stores {
  readonly events: EventStore;
  readonly reads: ReadStore;
  readonly keys: KeyStore;
  readonly snapshots: SnapshotStore;
  readonly answers: IdempotencyStore;
  readonly blobs: BlobStore;
  readonly corpus: CorpusStore;
  readonly heads: HeadStore;
  close(): Promise<void>;
}

/**
 * Opens the configured stores: SQLite in the data folder, EventStoreDB and MongoDB when their addresses are set.
 * Loads their drivers only when they are used.
 */
export const openStores = async (
  config: Config,
  logger: Logger,
  /** Opens a store; may retry while the store is unavailable. Default: one try. */
  opened: <S>(open: () => Promise<S>) => Promise<S> = (open) => open(),
  /** Divides the thread among searches. */
  timeSlices?: SearchSlices,
): Promise<Stores> => {
  makeFolder(resolve(config.DATA_DIR));
  const file = (name: string): string => join(config.DATA_DIR, name);
  const maintenance = new MaintenanceThread();
  const events = await opened(() => openEvents(config, logger, maintenance));
  const reads = await opened(() => openReads(config, timeSlices));
  const keys = await opened(() => openKeys(config));
  const answers = await opened(() => openAnswers(config));
  const blobs = await opened(() => openBlobs(config));
  const corpus = await opened(() => openCorpus(config));
  // Snapshots are a cache of this machine, even if the other stores are remote.
  const snapshots = await openSqliteSnapshotStore({ path: file('snapshots.db') });
  const log = config.EVENTSTORE_URL === undefined ? file('events.db') : undefined;
  const heads = await openSqliteHeadStore({ path: file('heads.db'), log, maintenance });
  return {
    events,
    reads,
    keys,
    snapshots,
    answers,
    blobs,
    corpus,
    heads,
    close: async () => {
      // Closes the thread before the stores that own the files: the last connection to a file removes its write-ahead
      // log.
      await maintenance.close();
      for (const store of [heads, events, reads, keys, answers, blobs, corpus, snapshots])
        await store.close();
    },
  };
};

export const openEvents = async (
  config: Config,
  logger: Logger,
  maintenance?: MaintenanceThread,
): Promise<EventStore> => {
  if (config.EVENTSTORE_URL === undefined)
    return openSqliteEventStore({ path: join(config.DATA_DIR, 'events.db'), logger, maintenance });
  const { openEventStoreDb } = await import('./event-store/eventstoredb/store.ts');
  return openEventStoreDb({ url: config.EVENTSTORE_URL, logger });
};

/** Opens an import into the event log that the configuration names. */
export const openLogImport = async (config: Config): Promise<LogImport> => {
  if (config.EVENTSTORE_URL === undefined) {
    makeFolder(resolve(config.DATA_DIR));
    return openSqliteImport(join(config.DATA_DIR, 'events.db'));
  }
  const { openEventStoreDbImport } = await import('./event-store/eventstoredb/import.ts');
  return openEventStoreDbImport(config.EVENTSTORE_URL);
};

export const openReads = async (config: Config, timeSlices?: SearchSlices): Promise<ReadStore> => {
  if (config.MONGODB_URL === undefined)
    return openSqliteReadStore({ path: join(config.DATA_DIR, 'read-models.db'), timeSlices });
  const { openMongoReadStore } = await import('./read-store/mongodb/store.ts');
  return openMongoReadStore({ url: config.MONGODB_URL });
};

export const openCorpus = async (config: Config): Promise<CorpusStore> => {
  if (config.MONGODB_URL === undefined)
    return openSqliteCorpusStore({ path: join(config.DATA_DIR, 'corpus.db') });
  const { openMongoCorpusStore } = await import('./corpus/mongodb.ts');
  return openMongoCorpusStore({ url: config.MONGODB_URL });
};

/** The place of the data keys: a folder, or the address of a MongoDB. */
const keyPlaceOf = ({ KEYSTORE_URL, MONGODB_URL, DATA_DIR }: Config): string =>
  KEYSTORE_URL ?? MONGODB_URL ?? DATA_DIR;

/** Path of the embedded key store's file; undefined when the keys are in MongoDB. */
export const keyFileOf = (config: Config): string | undefined => {
  const place = keyPlaceOf(config);
  return place.startsWith('mongodb') ? undefined : join(place, 'keys.db');
};

export const openKeys = async (config: Config): Promise<KeyStore> => {
  const path = keyFileOf(config);
  if (path !== undefined) {
    makeFolder(resolve(dirname(path)));
    return openSqliteKeyStore({ path });
  }
  const { openMongoKeyStore } = await import('./key-store/mongodb.ts');
  return openMongoKeyStore({ url: keyPlaceOf(config) });
};

export const openAnswers = async (config: Config): Promise<IdempotencyStore> => {
  if (config.MONGODB_URL === undefined)
    return openSqliteIdempotencyStore({ path: join(config.DATA_DIR, 'answers.db') });
  const { openMongoIdempotencyStore } = await import('./idempotency/mongodb.ts');
  return openMongoIdempotencyStore({ url: config.MONGODB_URL });
};

export const openBlobs = async (config: Config): Promise<BlobStore> => {
  if (config.MONGODB_URL === undefined) return openFolderBlobStore({ path: join(config.DATA_DIR, 'blobs') });
  const { openGridFsBlobStore } = await import('./blob-store/gridfs.ts');
  return openGridFsBlobStore({ url: config.MONGODB_URL });
};
