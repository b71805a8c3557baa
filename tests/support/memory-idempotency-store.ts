import type { IdempotencyStore, KeyUse, StoredAnswer } from '../../application/ports/idempotency-store.ts';

interface Row {
  readonly scope: string;
  readonly key: string;
  /** Undefined for an answer that was put without a `begin`. */
  readonly use: KeyUse | undefined;
  readonly answer: StoredAnswer | undefined;
  readonly expiresAt: number;
}

/** Stored answers in memory, for the simulation: fulfils the contract of the port. */
export const memoryIdempotencyStore = (): IdempotencyStore => {
  const rows = new Map<string, Row>();
  const placeOf = (scope: string, key: string): string => JSON.stringify([scope, key]);
  return {
    get: async (scope, key) => rows.get(placeOf(scope, key))?.answer,
    begin: async (scope, key, use, expiresAt) => {
      const known = rows.get(placeOf(scope, key));
      if (known === undefined) {
        rows.set(placeOf(scope, key), { scope, key, use, answer: undefined, expiresAt });
        return { first: true, use };
      }
      const { use: begun = { fingerprint: known.answer?.fingerprint ?? '', nonce: '' } } = known;
      return { first: false, use: begun };
    },
    release: async (scope, key, nonce) => {
      const known = rows.get(placeOf(scope, key));
      if (known?.answer === undefined && known?.use?.nonce === nonce) rows.delete(placeOf(scope, key));
    },
    put: async (scope, key, answer, expiresAt) => {
      const known = rows.get(placeOf(scope, key));
      if (known?.answer !== undefined) return;
      rows.set(placeOf(scope, key), {
        scope,
        key,
        use: known?.use,
        answer: structuredClone(answer),
        expiresAt,
      });
    },
    list: async function* () {
      for (const { use, answer, ...kept } of [...rows.values()]) {
        if (use !== undefined) yield { ...kept, use };
        if (answer !== undefined) yield { ...kept, answer };
      }
    },
    sweep: async (now) => {
      for (const [place, { expiresAt }] of rows) if (expiresAt <= now) rows.delete(place);
    },
    close: async () => undefined,
  };
};
