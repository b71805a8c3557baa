import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { type Child, startChild } from './http/child.ts';
import { platformEnvironment } from './http/platform.ts';

/** Addresses of EventStoreDB and MongoDB. */
export type Stores = Readonly<Record<'EVENTSTORE_URL' | 'MONGODB_URL', string>>;

/** Variables of one process of the product; `DATA_DIR` is its own. */
export type ProcessVariables = Readonly<Record<string, string>> & { readonly DATA_DIR: string };

/** Calls `run` with an empty database on the same MongoDB server, and drops the database afterwards. */
export const inDatabase = async <T>(stores: Stores, run: (own: Stores) => Promise<T>): Promise<T> => {
  const own = { ...stores, MONGODB_URL: freshDatabase(stores.MONGODB_URL) };
  try {
    return await run(own);
  } finally {
    const client = new MongoClient(own.MONGODB_URL);
    await client.db().dropDatabase();
    await client.close();
  }
};

const freshDatabase = (url: string): string => {
  const [, server = '', options = ''] = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(url) ?? [];
  return `${server}/bench_${randomUUID().slice(0, 8)}${options}`;
};

const POLL_MS = 50;

/** Calls `run` with the first process once all processes are ready, which includes folding events of earlier runs. */
export const withProcesses = async <T>(
  processes: readonly ProcessVariables[],
  run: (first: Child) => Promise<T>,
): Promise<T> => {
  const children: Child[] = [];
  try {
    for (const variables of processes) {
      const environment = { ...platformEnvironment(variables.DATA_DIR), ...variables };
      children.push(await startChild('../api/main.ts', '/health/live', environment));
    }
    for (const { port } of children) {
      while ((await fetch(`http://127.0.0.1:${port}/health/ready`)).status !== 200) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }
    const [first] = children;
    if (first === undefined) throw new Error('no process');
    return await run(first);
  } finally {
    for (const child of children) await child.stop();
  }
};
