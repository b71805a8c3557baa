import type { KeyStore, WrappedKey } from '../../application/ports/key-store.ts';
import { ThreadCalls } from '../threads/calls.ts';
import { openSqliteKeyStore } from './sqlite.ts';
import type { KeyStoreCall } from './sqlite.worker.ts';

/** The SQLite key store with its writes in a thread of its own; reads stay here, on a connection of their own. */
export async function openThreadedSqliteKeyStore({ path }: { readonly path: string }): Promise<KeyStore> {
  const reads = await openSqliteKeyStore({ path });
  const url = new URL('./sqlite.worker.ts', import.meta.url);
  const writes = new ThreadCalls<KeyStoreCall, void>(url, { path }, 'key store');
  let gathered: { keys: WrappedKey[]; done: Promise<void> } | undefined;

  /** Puts of one turn of the event loop go over in one message. */
  const gather = (keys: readonly WrappedKey[]): Promise<void> => {
    if (gathered === undefined) {
      const batch: WrappedKey[] = [];
      const done = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        gathered = undefined;
        return writes.call({ kind: 'put', keys: batch });
      });
      gathered = { keys: batch, done };
    }
    gathered.keys.push(...keys);
    return gathered.done;
  };

  return {
    put: gather,
    getMany: (ids) => reads.getMany(ids),
    destroy: (id) => writes.call({ kind: 'destroy', id }),
    ping: () => reads.ping(),
    close: async () => {
      await writes.close();
      await reads.close();
    },
  };
}
