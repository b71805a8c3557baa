import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import type { StoredBlob } from '../../application/ports/blob-store.ts';
import { blobPaths } from '../blob-store/paths.ts';
import { measured, measuring } from '../blob-store/refs.ts';
import { orMissing } from '../durable-files.ts';

/** Copies all pages in one step: with several steps each commit of another process would restart the copy. */
const ALL_PAGES = 2 ** 31 - 1;

/** Copies a database as it is at one moment, while others write to it. The copy is durable when this resolves. */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  using source = new DatabaseSync(from, { timeout: 5000 });
  await backup(source, to, { rate: ALL_PAGES });
  await sync(to);
};

/** Syncs a file: its bytes are durable when this resolves. */
export const sync = async (path: string): Promise<void> => {
  await using handle = await open(path, 'r');
  await handle.sync();
};

export const digestOf = (path: string): Promise<StoredBlob> => measured(createReadStream(path));

/** Copies a file with its modification time and returns its size and hash. */
export const copyFile = async (from: string, to: string): Promise<StoredBlob> => {
  await mkdir(dirname(to), { recursive: true });
  const { atime, mtime } = await stat(from);
  const { through, total } = measuring();
  await pipeline(createReadStream(from), through, createWriteStream(to, { flush: true, mode: 0o600 }));
  await utimes(to, atime, mtime);
  return total();
};

/** Copies the blobs that `to` lacks or has with another size or time, except blobs that are deleted meanwhile. */
export const copyBlobs = async (from: string, to: string): Promise<void> => {
  for await (const path of blobPaths(from)) await orMissing(copyChanged(join(from, path), join(to, path)));
};

const copyChanged = async (from: string, to: string): Promise<void> => {
  const [there, have] = [await stat(from), await orMissing(stat(to))];
  // Not every file system stores times finer than a millisecond.
  const isSame = have?.size === there.size && Math.abs(have.mtimeMs - there.mtimeMs) < 2;
  if (!isSame) await copyFile(from, to);
};
