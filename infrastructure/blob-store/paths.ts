import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orMissing } from '../durable-files.ts';
import { isBlobId, isTenantSegment } from './refs.ts';

/** Yields the paths `<tenant>/<xx>/<yy>/<id>` in a blob folder, in order; holds one folder per level in memory. */
export async function* blobPaths(folder: string): AsyncGenerator<string> {
  for (const tenant of (await namesIn(folder)).filter(isTenantSegment)) {
    for (const first of (await namesIn(join(folder, tenant))).filter(isSpread)) {
      for (const second of (await namesIn(join(folder, tenant, first))).filter(isSpread)) {
        const ids = (await namesIn(join(folder, tenant, first, second))).filter(isBlobId);
        for (const id of ids) yield `${tenant}/${first}/${second}/${id}`;
      }
    }
  }
}

/** Checks that a path has the form of {@link blobPaths}; no other path is joined to a folder. */
export const isBlobPath = (path: string): boolean => {
  const [tenant = '', first = '', second = '', id = '', ...more] = path.split('/');
  return more.length === 0 && isTenantSegment(tenant) && isSpread(first) && isSpread(second) && isBlobId(id);
};

const isSpread = (name: string): boolean => /^[0-9a-f]{2}$/.test(name);

/** Returns the sorted names in a folder; an empty list if the folder does not exist. */
const namesIn = async (folder: string): Promise<string[]> =>
  ((await orMissing(readdir(folder))) ?? []).sort();
