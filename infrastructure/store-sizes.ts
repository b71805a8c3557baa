import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';

/** Embedded files and the names of their stores in the metrics. */
const FILES: readonly (readonly [store: string, file: string])[] = [
  ['log', 'events.db'],
  ['read_models', 'read-models.db'],
  ['keys', 'keys.db'],
  ['answers', 'answers.db'],
  ['corpus', 'corpus.db'],
  ['snapshots', 'snapshots.db'],
  ['heads', 'heads.db'],
];

/** Bytes of the databases in the data folder, with their write-ahead logs. Blobs and other stores are left out. */
export const storeSizes = async ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<Map<string, number>> => {
  const sizes = new Map<string, number>();
  for (const [store, file] of FILES) {
    const path = join(DATA_DIR, file);
    const bytes = await bytesOf(path);
    if (bytes !== undefined) sizes.set(store, bytes + ((await bytesOf(`${path}-wal`)) ?? 0));
  }
  return sizes;
};

const bytesOf = async (path: string): Promise<number | undefined> =>
  (await stat(path).catch(() => undefined))?.size;
