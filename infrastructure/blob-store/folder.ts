import { randomUUID } from 'node:crypto';
import { link, mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BlobRef, BlobStore } from '../../application/ports/blob-store.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { ignoreExisting, orMissing, removeOlder, syncFolder } from '../durable-files.ts';
import { blobPaths } from './paths.ts';
import { checkRef, guarded, measuring } from './refs.ts';

/** Folder of unfinished files. No tenant id begins with a dot. */
const INCOMING = '.incoming';

/**
 * Stores blobs as files `<folder>/<tenant>/<xx>/<yy>/<id>`, spread by the last digits of the id, which are
 * random in each kind of UUID. Several processes may use the folder.
 * @param sync makes the names in a folder durable
 */
export const openFolderBlobStore = async ({
  path: folder,
  sync = syncFolder,
}: {
  readonly path: string;
  readonly sync?: (folder: string) => Promise<void>;
}): Promise<BlobStore> => {
  const incoming = join(folder, INCOMING);

  /** Creates a folder and its missing parents, and syncs the folders that hold them. */
  const makeFolder = async (path: string): Promise<void> => {
    const first = await mkdir(path, { recursive: true });
    if (first === undefined) return;
    for (let made = path; made.length >= first.length; made = dirname(made)) await sync(dirname(made));
  };
  await makeFolder(incoming);

  const pathOf = (ref: BlobRef): string => {
    checkRef(ref);
    const { tenantId, id } = ref;
    return join(folder, tenantId, id.slice(-2), id.slice(-4, -2), id);
  };

  const newPart = (): string => join(incoming, randomUUID());

  return {
    put: async (ref, source) => {
      const target = pathOf(ref);
      guarded(source);
      const part = newPart();
      let written = part;
      const { through, total } = measuring();
      try {
        // `flush` makes the bytes durable before the stream reports its end.
        const file = await open(part, 'wx', 0o600);
        await pipeline(source, through, file.createWriteStream({ flush: true }));
        await makeFolder(dirname(target));
        await rename(part, target);
        written = target;
        await sync(dirname(target));
      } catch (error) {
        source.destroy();
        await rm(written, { force: true }).catch(() => undefined);
        throw error === source.errored ? error : unavailable(error);
      }
      return total();
    },

    move: (from, toId) =>
      asked(async () => {
        const source = pathOf(from);
        const target = pathOf({ ...from, id: toId });
        if (source === target) return;
        const now = new Date();
        // Makes the file new before its rename, so that a concurrent `delete` of files older than `before` keeps it.
        await utimes(source, now, now);
        await makeFolder(dirname(target));
        await rename(source, target);
        await sync(dirname(target));
        await sync(dirname(source));
      }),

    open: (ref, range) =>
      asked(async () => {
        const file = await orMissing(open(pathOf(ref), 'r'));
        if (file === undefined) return undefined;
        try {
          const { size } = await file.stat();
          const ends = range === undefined ? {} : { start: range.first, end: range.last };
          return { size, stream: file.createReadStream(ends) };
        } catch (error) {
          await file.close();
          throw error;
        }
      }),

    delete: (ref, before) =>
      asked(async () => {
        const path = pathOf(ref);
        if (before === undefined) {
          await rm(path, { force: true });
          return;
        }
        const isNew = async (file: string): Promise<boolean> => (await stat(file)).mtimeMs >= before;
        if ((await orMissing(isNew(path))) !== false) return;
        // The file is renamed and looked at again, since a newer file may have replaced it in between.
        const part = newPart();
        if ((await orMissing(rename(path, part).then(() => true))) === undefined) return;
        if (await isNew(part)) await link(part, path).catch(ignoreExisting);
        await rm(part, { force: true });
      }),

    list: () => blobsIn(folder),

    tidy: (before) => asked(() => removeOlder(incoming, before)),

    ping: () => asked(async () => void (await stat(incoming))),
    close: async () => undefined,
  };
};

async function* blobsIn(folder: string): AsyncGenerator<{ ref: BlobRef; at: number }> {
  try {
    for await (const path of blobPaths(folder)) {
      const found = await orMissing(stat(join(folder, path)));
      const [tenantId = ''] = path.split('/');
      if (found !== undefined) yield { ref: { tenantId, id: basename(path) }, at: found.mtimeMs };
    }
  } catch (error) {
    throw unavailable(error);
  }
}

/** @throws {StoreUnavailable} for a system error */
const asked = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw unavailable(error);
  }
};

/** Maps system errors, such as a full or broken disk, to {@link StoreUnavailable}. */
const unavailable = (error: unknown): unknown =>
  error instanceof Error && 'syscall' in error
    ? new StoreUnavailable('the blob folder cannot be used', { cause: error })
    : error;
