import { join } from 'node:path';
import type { z } from 'zod';
import type { BlobRef, BlobStore, StoredBlob } from '../../application/ports/blob-store.ts';
import type { Position, StoredEvent } from '../../application/ports/event-store.ts';
import type { IdempotencyStore } from '../../application/ports/idempotency-store.ts';
import type { KeyStore, WrappedKey } from '../../application/ports/key-store.ts';
import { openFolderBlobStore } from '../blob-store/folder.ts';
import { measured } from '../blob-store/refs.ts';
import type { LogImport } from '../event-store/log-import.ts';
import { checkLines, readLines } from './lines.ts';
import {
  answerLine,
  blobLine,
  type DataManifest,
  eventLine,
  keyLine,
  MoveError,
  readDataManifest,
  readKeyManifest,
} from './manifest.ts';

interface ImportPlan {
  readonly from: string;
  /** Undefined leaves the keys in place. */
  readonly keysFrom: string | undefined;
  readonly log: LogImport;
  /** Called before the first write of a new import. @throws {MoveError} when a store is not empty */
  readonly expectEmpty: () => Promise<void>;
  /** Opened after {@link expectEmpty}. */
  readonly open: () => Promise<ImportTargets>;
  readonly report: (sentence: string) => void;
}

interface ImportTargets {
  readonly keys: KeyStore | undefined;
  readonly blobs: BlobStore;
  readonly answers: IdempotencyStore;
  close(): Promise<void>;
}

/**
 * Fills empty stores from an export, in limited memory, after checking its files. Calling it again completes an
 * interrupted import; until then the event store cannot be used.
 * @throws {MoveError}
 */
export const importStores = async (plan: ImportPlan): Promise<DataManifest> => {
  const { from, keysFrom, log, report } = plan;
  const manifest = readDataManifest(from);
  await checkFiles(from, manifest, keysFrom);
  report('The export is complete and unchanged.');
  const imported = { id: manifest.id, events: manifest.log.events, end: manifest.log.end ?? undefined };
  const { isComplete, last } = await log.begin(imported, plan.expectEmpty);
  if (isComplete) {
    report('This export was imported before: nothing was written.');
    return manifest;
  }
  const targets = await plan.open();
  try {
    // Keys and files first, since events refer to them.
    if (targets.keys !== undefined && keysFrom !== undefined) {
      report(`Keys: ${await importKeys(join(keysFrom, 'keys.ndjson'), targets.keys)}.`);
    }
    report(`Files: ${await importBlobs(from, targets.blobs)}.`);
    report(`Stored answers: ${await importAnswers(join(from, 'answers.ndjson'), targets.answers)}.`);
  } finally {
    await targets.close();
  }
  const added = await importEvents(join(from, 'events.ndjson'), log, last);
  await log.finish(imported);
  report(`Events: ${imported.events}, of which this run wrote ${added}.`);
  return manifest;
};

const checkFiles = async (from: string, { id, files }: DataManifest, keysFrom: string | undefined) => {
  if (keysFrom !== undefined) {
    const keys = readKeyManifest(keysFrom);
    if (keys.id !== id) throw new MoveError('These keys belong to another export.');
    await checkLines(join(keysFrom, 'keys.ndjson'), keyLine, keys.files['keys.ndjson']);
  }
  await checkLines(join(from, 'events.ndjson'), eventLine, files['events.ndjson']);
  await checkLines(join(from, 'answers.ndjson'), answerLine, files['answers.ndjson']);
  await checkLines(join(from, 'blobs.ndjson'), blobLine, files['blobs.ndjson']);
};

/** Batches of at most `most` items, whose sizes sum to at most `MOST_UNITS`; a larger item is a batch alone. */
async function* inBatches<T>(items: AsyncIterable<T>, most: number, sizeOf: (item: T) => number = () => 1) {
  let batch: T[] = [];
  let size = 0;
  for await (const item of items) {
    const more = sizeOf(item);
    if (batch.length > 0 && (batch.length >= most || size + more > MOST_UNITS)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(item);
    size += more;
  }
  if (batch.length > 0) yield batch;
}

const MOST_UNITS = 4 * 1024 * 1024;
const AT_ONCE = 200;

/** Keeps existing keys, and destroys keys that are destroyed in the export. */
const importKeys = async (path: string, keys: KeyStore): Promise<number> => {
  let count = 0;
  for await (const batch of inBatches(readLines(path, keyLine), AT_ONCE)) {
    await keys.put(batch.flatMap(keyIn));
    await Promise.all(batch.filter(({ wrapped }) => wrapped === null).map(({ id }) => keys.destroy(id)));
    count += batch.length;
  }
  return count;
};

const keyIn = ({ id, wrapped }: z.output<typeof keyLine>): WrappedKey[] =>
  wrapped === null ? [] : [{ id, wrapped: Buffer.from(wrapped, 'base64') }];

const importAnswers = async (path: string, answers: IdempotencyStore): Promise<number> => {
  let count = 0;
  const sizeOf = (line: z.output<typeof answerLine>): number =>
    'answer' in line ? (line.answer.body?.length ?? 0) : 0;
  for await (const batch of inBatches(readLines(path, answerLine), AT_ONCE, sizeOf)) {
    // Stores the use of a key before its answer.
    await Promise.all(
      batch.map(({ scope, key, expires_at, ...kept }) =>
        'use' in kept ? answers.begin(scope, key, kept.use, expires_at) : undefined,
      ),
    );
    await Promise.all(
      batch.map(({ scope, key, expires_at, ...kept }) =>
        'answer' in kept ? answers.put(scope, key, kept.answer, expires_at) : undefined,
      ),
    );
    count += batch.length;
  }
  return count;
};

const importBlobs = async (from: string, blobs: BlobStore): Promise<number> => {
  const copies = await openFolderBlobStore({ path: join(from, 'blobs') });
  let count = 0;
  for await (const { tenant_id: tenantId, id, size, sha256 } of readLines(
    join(from, 'blobs.ndjson'),
    blobLine,
  )) {
    const ref = { tenantId, id };
    if (!(await isStored(blobs, ref, { size, sha256 }))) {
      const copy = await copies.open(ref);
      if (copy === undefined) throw new MoveError(`The file ${id} of ${tenantId} is not in the export.`);
      const stored = await blobs.put(ref, copy.stream);
      if (stored.sha256 !== sha256) {
        await blobs.delete(ref);
        throw new MoveError(`The file ${id} of ${tenantId} is damaged in the export.`);
      }
    }
    count += 1;
  }
  await copies.close();
  return count;
};

/** Whether a blob is stored with the exported bytes. Deletes a blob with other bytes, left by an interrupted run. */
const isStored = async (blobs: BlobStore, ref: BlobRef, { size, sha256 }: StoredBlob): Promise<boolean> => {
  const present = await blobs.open(ref);
  if (present === undefined) return false;
  const found = await measured(present.stream);
  if (found.size === size && found.sha256 === sha256) return true;
  await blobs.delete(ref);
  return false;
};

const EVENTS_AT_ONCE = 500;

const importEvents = async (path: string, log: LogImport, last: Position | undefined): Promise<number> => {
  let count = 0;
  const sizeOf = ({ data, metadata }: StoredEvent): number => data.length + metadata.length;
  for await (const batch of inBatches(missing(path, last), EVENTS_AT_ONCE, sizeOf)) {
    await log.append(batch);
    count += batch.length;
  }
  return count;
};

async function* missing(path: string, last: Position | undefined): AsyncGenerator<StoredEvent> {
  for await (const event of readLines(path, eventLine)) {
    if (last === undefined || event.position > last) yield event;
  }
}
