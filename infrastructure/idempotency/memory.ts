import type { IdempotencyStore, StoredAnswer } from '../../application/ports/idempotency-store.ts';

/** Stored answers in memory, for tests. */
export const openMemoryIdempotencyStore = (): IdempotencyStore => {
  const entries = new Map<string, { expiresAt: number; answer: StoredAnswer | undefined }>();
  const id = (scope: string, key: string): string => `${scope}\n${key}`;
  return {
    get: async (scope, key) => entries.get(id(scope, key))?.answer,
    begin: async (scope, key, expiresAt) => {
      if (entries.has(id(scope, key))) return 'again';
      entries.set(id(scope, key), { expiresAt, answer: undefined });
      return 'first';
    },
    put: async (scope, key, answer, expiresAt) => {
      if (entries.get(id(scope, key))?.answer === undefined)
        entries.set(id(scope, key), { expiresAt, answer });
    },
    sweep: async (now) => {
      for (const [key, entry] of entries) if (entry.expiresAt <= now) entries.delete(key);
    },
    close: async () => undefined,
  };
};
