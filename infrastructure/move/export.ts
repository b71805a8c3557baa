import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '../../application/ports/blob-store.ts';
import type { EventStore, Position, StoredEvent } from '../../application/ports/event-store.ts';
import type { IdempotencyStore } from '../../application/ports/idempotency-store.ts';
import type { KeyStore } from '../../application/ports/key-store.ts';
import { isWithin } from '../backup/manifest.ts';
import { openFolderBlobStore } from '../blob-store/folder.ts';
import { writeLines } from './lines.ts';
import { type DataManifest, MoveError, writeManifest } from './manifest.ts';

/** The stores that a move copies. The other stores are rebuilt from the log or copied by hand (docs/stores.md). */
interface MovedStores {
  readonly events: EventStore;
  readonly answers: IdempotencyStore;
  readonly blobs: BlobStore;
  /** Undefined leaves the keys in place. */
  readonly keys: KeyStore | undefined;
}

interface ExportFolders {
  readonly dataDir: string;
  readonly to: string;
  /** Undefined leaves the keys in place. */
  readonly keysTo: string | undefined;
}

/** Events per page; each event has up to 512 KiB. */
const PAGE = 200;

/**
 * Writes stores to empty folders, in limited memory. No server may use the stores meanwhile.
 * @throws {MoveError}
 */
export const exportStores = async (
  { events, answers, blobs, keys }: MovedStores,
  { dataDir, to, keysTo }: ExportFolders,
  madeAt: string,
): Promise<DataManifest> => {
  if (keysTo !== undefined && (isWithin(to, keysTo) || isWithin(keysTo, to))) {
    throw new MoveError('Keys and data must be kept apart: neither folder may be inside the other.');
  }
  const folders = keysTo === undefined ? [to] : [to, keysTo];
  if (folders.some((folder) => isWithin(folder, dataDir))) {
    throw new MoveError('The export must be outside the data folder, which must not keep erased data.');
  }
  for (const folder of folders) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (readdirSync(folder).length > 0) throw new MoveError(`${folder} is not empty.`);
  }
  const end = await events.end();
  const common = { format: 1, id: randomUUID(), made_at: madeAt } as const;
  const logFile = await writeLines(join(to, 'events.ndjson'), allEvents(events));
  const answersFile = await writeLines(join(to, 'answers.ndjson'), allUses(answers));
  const blobsFile = await writeLines(join(to, 'blobs.ndjson'), copiedBlobs(blobs, join(to, 'blobs')));
  if (keys !== undefined && keysTo !== undefined) {
    const files = { 'keys.ndjson': await writeLines(join(keysTo, 'keys.ndjson'), allKeys(keys)) };
    writeManifest(keysTo, { ...common, kind: 'keys', files });
  }
  if ((await events.end()) !== end) {
    throw new MoveError(
      'The log has grown during the export: stop every server, then export again into empty folders.',
    );
  }
  const manifest: DataManifest = {
    ...common,
    kind: 'data',
    log: { events: logFile.lines, end: end ?? null },
    files: { 'events.ndjson': logFile, 'answers.ndjson': answersFile, 'blobs.ndjson': blobsFile },
  };
  writeManifest(to, manifest);
  return manifest;
};

async function* allEvents(events: EventStore): AsyncGenerator<StoredEvent> {
  for (let from: Position | undefined; ; ) {
    const page = await events.scanAll({ from, limit: PAGE }, Number.POSITIVE_INFINITY);
    for (const { position, stream, revision, id, type, data, metadata } of page.events) {
      yield { position, stream, revision, id, type, data, metadata };
    }
    if (page.next === undefined) return;
    from = page.next;
  }
}

async function* allUses(answers: IdempotencyStore) {
  for await (const { expiresAt: expires_at, ...kept } of answers.list()) yield { ...kept, expires_at };
}

async function* allKeys(keys: KeyStore) {
  for await (const { id, wrapped } of keys.list()) {
    yield { id, wrapped: wrapped === 'destroyed' ? null : Buffer.from(wrapped).toString('base64') };
  }
}

async function* copiedBlobs(blobs: BlobStore, folder: string) {
  const copies = await openFolderBlobStore({ path: folder });
  for await (const { ref } of blobs.list()) {
    const blob = await blobs.open(ref);
    // The listed blob was deleted meanwhile.
    if (blob === undefined) continue;
    const { size, sha256 } = await copies.put(ref, blob.stream);
    yield { tenant_id: ref.tenantId, id: ref.id, size, sha256 };
  }
  await copies.close();
}
