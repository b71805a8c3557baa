import type { KeyStore } from '../../application/ports/key-store.ts';

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Data keys in memory, for the simulation: fulfils the contract of the port. */
export const memoryKeyStore = (): KeyStore => {
  const rows = new Map<string, Uint8Array | 'destroyed'>();
  return {
    put: async (keys) => {
      for (const { id, wrapped } of keys) if (!rows.has(id)) rows.set(id, Uint8Array.from(wrapped));
    },
    getMany: async (ids) => ids.map((id) => rows.get(id)),
    destroy: async (id) => void rows.set(id, 'destroyed'),
    replace: async (id, from, to) => {
      const row = rows.get(id);
      if (row === undefined || row === 'destroyed' || !isSame(row, from)) return false;
      rows.set(id, Uint8Array.from(to));
      return true;
    },
    list: async function* () {
      for (const [id, wrapped] of [...rows]) yield { id, wrapped };
    },
    ping: async () => undefined,
    close: async () => undefined,
  };
};
