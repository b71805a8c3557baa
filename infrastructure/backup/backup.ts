import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { blobPaths } from '../blob-store/paths.ts';
import { syncFolder } from '../durable-files.ts';
import { formatPosition } from '../event-store/positions.ts';
import { EventRows, TEXT_COLUMNS } from '../event-store/sqlite/event-rows.ts';
import { textOf } from '../sqlite/connection.ts';
import { copyBlobs, copyDatabase, digestOf, sync } from './copies.ts';
import {
  BackupError,
  BLOB_LIST,
  isWithin,
  type Manifest,
  type ManifestFile,
  writeManifest,
} from './manifest.ts';

interface BackupPlan {
  readonly dataDir: string;
  /** The file of the key store. */
  readonly keys: string;
  readonly to: string;
  readonly keysTo: string;
}

/**
 * Copies the embedded stores while others write to them, in an order that makes the copies consistent:
 * 1. blobs: a blob that the log's copy names may be deleted before step 3
 * 2. the log
 * 3. blobs again: a blob whose event is in the log's copy may have been stored after step 1
 * 4. stored answers, except answers to writes that the log's copy lacks
 * 5. keys, in their own folder: each key is stored before anything is sealed with it
 * @throws {BackupError}
 */
export const backUp = async (plan: BackupPlan, madeAt: string): Promise<Manifest> => {
  const { dataDir, keys, to, keysTo } = plan;
  if (!existsSync(join(dataDir, 'events.db'))) throw new BackupError(`${dataDir} holds no event log.`);
  if (!existsSync(keys)) throw new BackupError(`${keys} is missing: a backup needs the data keys.`);
  if (isWithin(to, keysTo) || isWithin(keysTo, to)) {
    throw new BackupError('Keys and data must be kept apart: neither folder may be inside the other.');
  }
  if (isWithin(to, dataDir) || isWithin(keysTo, dataDir)) {
    throw new BackupError('The backup must be outside the data folder, which must not keep erased data.');
  }
  for (const folder of [to, keysTo]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (readdirSync(folder).length > 0) throw new BackupError(`${folder} is not empty.`);
  }
  const blobs = [join(dataDir, 'blobs'), join(to, 'blobs')] as const;
  await copyBlobs(...blobs);
  await copyDatabase(join(dataDir, 'events.db'), join(to, 'events.db'));
  const { log, position } = endOf(join(to, 'events.db'));
  await copyBlobs(...blobs);
  const files: ManifestFile['name'][] = ['events.db'];
  if (existsSync(join(dataDir, 'answers.db'))) {
    await copyDatabase(join(dataDir, 'answers.db'), join(to, 'answers.db'));
    forgetLaterAnswers(join(to, 'answers.db'), position);
    await sync(join(to, 'answers.db'));
    files.push('answers.db');
  }
  await copyDatabase(keys, join(keysTo, 'keys.db'));
  await listBlobs(join(to, 'blobs'), join(to, BLOB_LIST));
  const common = { format: 1, id: randomUUID(), made_at: madeAt, log, position } as const;
  writeManifest(keysTo, { ...common, kind: 'keys', files: [await described(keysTo, 'keys.db')] });
  files.push(BLOB_LIST);
  const all = await Promise.all(files.map((name) => described(to, name)));
  const manifest: Manifest = { ...common, kind: 'data', files: all };
  writeManifest(to, manifest);
  return manifest;
};

const described = async (folder: string, name: ManifestFile['name']): Promise<ManifestFile> => ({
  name,
  ...(await digestOf(join(folder, name))),
});

/** The end of a log's copy, and the identity of that log. */
const endOf = (path: string): { readonly log: string | null; readonly position: string } => {
  using db = alone(path);
  const last = db.prepare('SELECT max(position) AS position FROM events').get()?.position;
  const first = db
    .prepare(
      `SELECT s.name, ${TEXT_COLUMNS} FROM events e JOIN streams s ON s.id = e.stream_id ORDER BY position LIMIT 1`,
    )
    .get();
  return {
    log:
      first === undefined
        ? null
        : new EventRows(db).texts(textOf(first, 'name'), first.id, first.data, first.metadata).id,
    position: typeof last === 'number' ? formatPosition(last) : '',
  };
};

/**
 * Drops answers to writes after the end of the log's copy: they would claim an effect that the copy lacks.
 * The note that the request began stays, so a retry finds no effect and executes the request.
 */
const forgetLaterAnswers = (path: string, position: string): void => {
  using db = alone(path);
  db.prepare(
    `UPDATE keys SET answer = NULL
     WHERE answer IS NOT NULL AND json_extract(answer, '$.headers."X-Event-Position"') > ?`,
  ).run(position);
};

/** Opens a copy that no other connection uses, and merges its write-ahead log into the file. */
const alone = (path: string): DatabaseSync => {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = DELETE');
  return db;
};

const listBlobs = async (folder: string, path: string): Promise<void> => {
  await using list = await open(path, 'wx', 0o600);
  for await (const blob of blobPaths(folder)) {
    const { size, sha256 } = await digestOf(join(folder, blob));
    await list.write(`${sha256} ${size} ${blob}\n`);
  }
  await list.sync();
  await syncFolder(join(path, '..'));
};
