import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isBlobId, isTenantId } from '../blob-store/refs.ts';
import { codeOf } from '../error-code.ts';

export interface Copied {
  readonly size: number;
  readonly sha256: string;
}

/** Copies all pages in one step: with several steps each commit of another process would restart the copy. */
const ALL_PAGES = 2 ** 31 - 1;

/** Copies a database as of one moment while others write to it. Durable when this resolves. */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  const source = new DatabaseSync(from, { timeout: 5000 });
  try {
    await backup(source, to, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  await sync(to);
};

/** Writes a file that is durable when this resolves. */
export const sync = async (path: string): Promise<void> => {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const measuring = (): { readonly through: Transform; readonly copied: () => Copied } => {
  const hash = createHash('sha256');
  let size = 0;
  const through = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  return { through, copied: () => ({ size, sha256: hash.digest('hex') }) };
};

export const digestOf = async (path: string): Promise<Copied> => {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(path)) {
    // A read stream without an encoding yields buffers.
    const bytes = chunk as Buffer;
    hash.update(bytes);
    size += bytes.length;
  }
  return { size, sha256: hash.digest('hex') };
};

/** Copies a file with its modification time and returns its size and hash. */
export const copyFile = async (from: string, to: string): Promise<Copied> => {
  await mkdir(dirname(to), { recursive: true });
  const { atime, mtime } = await stat(from);
  const { through, copied } = measuring();
  await pipeline(createReadStream(from), through, createWriteStream(to, { flush: true, mode: 0o600 }));
  await utimes(to, atime, mtime);
  return copied();
};

/** Yields the paths within a blob folder, `<tenant>/<xx>/<yy>/<id>`, in order; holds one folder's entries in memory. */
export async function* blobPaths(folder: string): AsyncGenerator<string> {
  for (const tenant of (await names(folder)).filter(isTenantId)) {
    for (const first of (await names(join(folder, tenant))).filter(isSpread)) {
      for (const second of (await names(join(folder, tenant, first))).filter(isSpread)) {
        const ids = (await names(join(folder, tenant, first, second))).filter(isBlobId);
        for (const id of ids) yield `${tenant}/${first}/${second}/${id}`;
      }
    }
  }
}

/** Checks that a path has the form of {@link blobPaths}; no other path is joined to a folder. */
export const isBlobPath = (path: string): boolean => {
  const [tenant = '', first = '', second = '', id = '', ...more] = path.split('/');
  return more.length === 0 && isTenantId(tenant) && isSpread(first) && isSpread(second) && isBlobId(id);
};

const isSpread = (name: string): boolean => /^[0-9a-f]{2}$/.test(name);

const names = async (folder: string): Promise<string[]> => {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};

/** Whether the file was deleted in the meantime. */
export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/** Copies the blobs that `to` lacks. */
export const copyBlobs = async (from: string, to: string): Promise<void> => {
  for await (const path of blobPaths(from)) {
    try {
      const [there, have] = [await stat(join(from, path)), await statOf(join(to, path))];
      // Not every file system stores times finer than a millisecond.
      const isSame = have?.size === there.size && Math.abs(have.mtimeMs - there.mtimeMs) < 2;
      if (!isSame) await copyFile(join(from, path), join(to, path));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
};

const statOf = async (path: string) => {
  try {
    return await stat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};
