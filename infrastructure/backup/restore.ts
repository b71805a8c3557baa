import { randomUUID } from 'node:crypto';
import { createReadStream, existsSync, readdirSync } from 'node:fs';
import { mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { StoredBlob } from '../../application/ports/blob-store.ts';
import { isBlobPath } from '../blob-store/paths.ts';
import { orMissing, syncFolder } from '../durable-files.ts';
import { copyFile } from './copies.ts';
import { BackupError, BLOB_LIST, isWithin, type Manifest, readManifest, realPath } from './manifest.ts';

interface RestorePlan {
  readonly from: string;
  readonly keysFrom: string;
  /** The data folder to create. It must be empty if it exists. */
  readonly into: string;
  /** Folder for the keys; default: the data folder. */
  readonly keysInto: string | undefined;
  /** Accepts keys that are older than the log. Texts sealed with keys that the copy lacks are then unreadable. */
  readonly olderKeys: boolean;
}

/**
 * Creates a data folder from a backup. Files are copied into a temporary folder and checked against the manifest.
 * That folder is renamed last, so a half-restored data folder is never used.
 * @throws {BackupError}
 */
export const restore = async (plan: RestorePlan): Promise<Manifest> => {
  const { from, keysFrom, olderKeys } = plan;
  const [into, keysInto] = [realPath(plan.into), realPath(plan.keysInto ?? plan.into)];
  const data = readManifest(from, 'data');
  const keys = readManifest(keysFrom, 'keys');
  if (keys.log !== data.log) throw new BackupError('These keys belong to another log.');
  if (keys.position < data.position && !olderKeys) {
    throw new BackupError(
      `These keys are older than the log: some texts between ${keys.position || 'its beginning'} and ${data.position} could not be read. Use newer keys, or --older-keys to accept this.`,
    );
  }
  if (existsSync(into) && readdirSync(into).length > 0) throw new BackupError(`${plan.into} is not empty.`);
  if (keysInto !== into && isWithin(keysInto, into)) {
    throw new BackupError('The folder of the keys must not be inside the new data folder.');
  }
  if (existsSync(join(keysInto, 'keys.db'))) throw new BackupError(`${keysInto} holds keys already.`);
  await mkdir(dirname(into), { recursive: true });
  const beside = `${into}.restoring-${randomUUID()}`;
  await mkdir(beside, { mode: 0o700 });
  const keyFolder = keysInto === into ? beside : keysInto;
  let hasKeys = false;
  try {
    for (const file of data.files) await place(from, beside, file.name, file);
    await placeBlobs(from, beside);
    await rm(join(beside, BLOB_LIST), { force: true });
    await placeKeys(keysFrom, keyFolder, keys);
    hasKeys = true;
    await syncFolder(beside);
    // Fails if another process has written to the folder since the check above.
    if (existsSync(into)) await rmdir(into);
    await rename(beside, into);
  } catch (error) {
    // The next run would refuse a folder with keys.
    if (hasKeys) await rm(join(keyFolder, 'keys.db'));
    await rm(beside, { recursive: true, force: true });
    throw error;
  }
  await syncFolder(dirname(into));
  return data;
};

const placeKeys = async (from: string, into: string, { files }: Manifest): Promise<void> => {
  await mkdir(into, { recursive: true, mode: 0o700 });
  for (const file of files) {
    const part = `${file.name}.restoring-${randomUUID()}`;
    try {
      await place(from, into, file.name, file, part);
      await rename(join(into, part), join(into, file.name));
    } finally {
      await rm(join(into, part), { force: true });
    }
  }
  await syncFolder(into);
};

const place = async (
  from: string,
  into: string,
  name: string,
  wanted: StoredBlob,
  as = name,
): Promise<void> => {
  const found = await orMissing(copyFile(join(from, name), join(into, as)));
  if (found === undefined) throw new BackupError(`${join(from, name)} is missing.`);
  if (found.size !== wanted.size || found.sha256 !== wanted.sha256) {
    throw new BackupError(`${join(from, name)} was changed after the backup: its checksum differs.`);
  }
};

const LINE = /^([0-9a-f]{64}) ([0-9]{1,15}) (.+)$/;

/** Copies each blob and checks it against the list of blobs, which itself was checked against the manifest. */
const placeBlobs = async (from: string, into: string): Promise<void> => {
  await mkdir(join(into, 'blobs'));
  const lines = createInterface({ input: createReadStream(join(into, BLOB_LIST)) });
  for await (const line of lines) {
    const [, sha256 = '', size, path = ''] = LINE.exec(line) ?? [];
    if (!isBlobPath(path)) throw new BackupError(`${BLOB_LIST} was not written by a backup.`);
    await place(join(from, 'blobs'), join(into, 'blobs'), path, { sha256, size: Number(size) });
  }
};
