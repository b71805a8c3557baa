import type { WrappedKey } from '../../application/ports/key-store.ts';
import { answerCalls } from '../threads/calls.ts';
import { openSqliteKeyStore } from './sqlite.ts';

export type KeyStoreCall =
  | { readonly kind: 'put'; readonly keys: readonly WrappedKey[] }
  | { readonly kind: 'destroy'; readonly id: string };

await answerCalls(async ({ path }: { readonly path: string }) => {
  const store = await openSqliteKeyStore({ path });
  return (call: KeyStoreCall): Promise<void> => {
    switch (call.kind) {
      case 'put':
        return store.put(call.keys);
      case 'destroy':
        return store.destroy(call.id);
      default:
        return call satisfies never;
    }
  };
});
