import { existsSync, readFileSync, realpathSync, renameSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { z } from 'zod';
import { writeWhole } from '../durable-files.ts';
import { codeOf } from '../error-code.ts';
import { parsedJson } from '../parsed-json.ts';

/** The manifest of a backup. It is written last: a folder without one is an incomplete backup. */
const MANIFEST = 'backup.json';
/** File with one line `<sha256> <size> <path>` for each blob, in path order. */
export const BLOB_LIST = 'blobs.txt';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const file = z.object({
  /** Files that a manifest may name. Blobs are listed in {@link BLOB_LIST} instead. */
  name: z.enum(['events.db', 'answers.db', 'keys.db', BLOB_LIST]),
  size: z.number().int(),
  sha256,
});

const manifest = z.object({
  format: z.literal(1),
  kind: z.enum(['data', 'keys']),
  /** Id of the run: data and keys copied together share it. */
  id: z.string(),
  made_at: z.string(),
  /** Id of the log's first event, which identifies the log. Null while the log is empty. */
  log: z.string().nullable(),
  /**
   * In a backup of data, the position of the last event in the copy. In a backup of keys, the position up to which
   * all keys of events are included. Empty for an empty log.
   */
  position: z.string(),
  files: z.array(file),
});

export type Manifest = z.output<typeof manifest>;
export type ManifestFile = z.output<typeof file>;

type Names = readonly ManifestFile['name'][];
/** Files that each kind of backup must hold and may hold. */
const PARTS: Readonly<Record<Manifest['kind'], { must: Names; may: Names }>> = {
  data: { must: ['events.db', BLOB_LIST], may: ['answers.db'] },
  keys: { must: ['keys.db'], may: [] },
};

/**
 * Checks that the manifest names each required file, no file twice, and no unknown file. After a restore without a
 * required file, the server would create an empty store in its place.
 */
const isWhole = ({ kind, files }: Manifest): boolean => {
  const { must, may } = PARTS[kind];
  const names = files.map(({ name }) => name);
  const isOnce = new Set(names).size === names.length;
  return (
    isOnce &&
    names.every((name) => [...must, ...may].includes(name)) &&
    must.every((name) => names.includes(name))
  );
};

/** A backup that cannot be made or used. The message tells the operator why. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export const writeManifest = (folder: string, value: Manifest): void => {
  writeWhole(join(folder, MANIFEST), `${JSON.stringify(value, null, 2)}\n`, renameSync);
};

/** @throws {BackupError} */
export const readManifest = (folder: string, kind: Manifest['kind']): Manifest => {
  let text: string;
  try {
    text = readFileSync(join(folder, MANIFEST), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT')
      throw new BackupError(`${folder} holds no complete backup: ${MANIFEST} is missing.`);
    throw new BackupError(`${join(folder, MANIFEST)} cannot be read (${codeOf(error)}).`);
  }
  const parsed = manifest.safeParse(parsedJson(text));
  if (!parsed.success) throw new BackupError(`${join(folder, MANIFEST)} was not written by a backup.`);
  if (parsed.data.kind !== kind)
    throw new BackupError(`${folder} is a backup of ${parsed.data.kind}, not of ${kind}.`);
  if (!isWhole(parsed.data)) {
    throw new BackupError(`${join(folder, MANIFEST)} does not name the files of a backup of ${kind}.`);
  }
  return parsed.data;
};

/** Whether `inner` is the folder `outer` or lies inside it, also through symbolic links. The folders need not exist. */
export const isWithin = (inner: string, outer: string): boolean =>
  `${realPath(inner)}${sep}`.startsWith(join(realPath(outer), sep));

/** The path without symbolic links. The file need not exist. */
export const realPath = (path: string): string => {
  const whole = resolve(path);
  if (existsSync(whole)) return realpathSync(whole);
  return dirname(whole) === whole ? whole : join(realPath(dirname(whole)), basename(whole));
};
