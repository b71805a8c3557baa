import { randomUUID } from 'node:crypto';
import { link, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BillingUpstream } from '../../application/ports/billing-upstream.ts';
import { ignoreExisting, removeOlder, syncFolder } from '../durable-files.ts';
import { codeOf } from '../error-code.ts';

/**
 * Replaces a billing system when none is configured. Each invoice is a file `<key>.json` in a folder of the data
 * folder, durable before it is acknowledged. Several processes may share the folder; a key always maps to the same
 * file.
 */
export const recorder = ({ path: folder }: { path: string }): BillingUpstream => {
  const incoming = join(folder, '.incoming');
  let ready: Promise<void> | undefined;

  /** Creates the folder when the first invoice is sent. After a failure, the next invoice tries again. */
  const prepared = (): Promise<void> => {
    ready ??= prepare(folder, incoming).catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
    return ready;
  };

  const fileOf = (key: string): string => {
    if (!KEY.test(key)) throw new Error('this is no key of an invoice');
    return join(folder, `${key}.json`);
  };

  return {
    send: async (key, document) => {
      const target = fileOf(key);
      try {
        await prepared();
        await place(incoming, target, document);
        await syncFolder(folder);
        return { kind: 'accepted', reference: referenceOf(key) };
      } catch {
        return { kind: 'unknown', message: 'The invoice could not be written to the data folder.' };
      }
    },
    find: async (key) => {
      const target = fileOf(key);
      try {
        await stat(target);
        await syncFolder(folder);
        return { kind: 'found', reference: referenceOf(key) };
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return { kind: 'absent' };
        return { kind: 'unknown', message: 'The data folder cannot be read.' };
      }
    },
  };
};

/** Keys that are safe as file names. */
const KEY = /^[a-z0-9-]{1,100}$/;
const HOUR_MS = 3_600_000;

/** Creates the folder and removes old temporary files of killed processes. */
const prepare = async (folder: string, incoming: string): Promise<void> => {
  await mkdir(incoming, { recursive: true });
  await syncFolder(dirname(folder));
  await syncFolder(folder);
  await removeOlder(incoming, Date.now() - HOUR_MS);
};

/** The same key has the same reference in every data folder. */
const referenceOf = (key: string): string => `recorded-${key}`;

/** Links the finished file to its name: readers see it whole or not at all, and the first writer wins. */
const place = async (incoming: string, target: string, document: string): Promise<void> => {
  const part = join(incoming, randomUUID());
  try {
    await writeFile(part, document, { flag: 'wx', mode: 0o600, flush: true });
    await link(part, target).catch(ignoreExisting);
  } finally {
    await rm(part, { force: true });
  }
};
