import type {
  BackfillRun,
  CorpusStore,
  SourceKey,
  StoredSource,
} from '../../application/ports/corpus-store.ts';

type Kept = StoredSource & { readonly isTombstone: boolean };

const keyOf = (tenantId: string, { kind, id }: SourceKey): string => `${tenantId}/${kind}/${id}`;

/** A corpus store in memory, for unit tests and the simulation: fulfils the contract of the port. */
export const memoryCorpusStore = (): CorpusStore => {
  const sources = new Map<string, Kept & { readonly tenantId: string }>();
  const runs = new Map<string, BackfillRun>();
  let seq = 0;
  const replace = (tenantId: string, source: Omit<Kept, 'seq'>): boolean => {
    const key = keyOf(tenantId, source);
    const present = sources.get(key);
    if (present !== undefined && present.revision > source.revision) return false;
    seq += 1;
    sources.set(key, { ...source, tenantId, seq });
    return true;
  };
  const ofTenant = (tenantId: string) =>
    [...sources.values()].filter((source) => source.tenantId === tenantId);
  return {
    settlesWithin: 0,
    summaries: async (tenantId, keys) =>
      keys.map((key) => {
        const found = sources.get(keyOf(tenantId, key));
        if (found === undefined) return undefined;
        const { kind, id, revision, isTombstone, model, chunks } = found;
        return { kind, id, revision, isTombstone, model, hashes: chunks.map(({ hash }) => hash) };
      }),
    put: async (tenantId, all) => all.map((source) => replace(tenantId, { ...source, isTombstone: false })),
    advance: async (tenantId, key, from, to) => {
      const found = sources.get(keyOf(tenantId, key));
      if (found === undefined || found.isTombstone || found.revision !== from) return false;
      sources.set(keyOf(tenantId, key), { ...found, revision: to });
      return true;
    },
    isEmpty: async (tenantId) => ofTenant(tenantId).length === 0,
    putTombstone: async (tenantId, { kind, id }, revision, ifPresent) => {
      if (ifPresent && !sources.has(keyOf(tenantId, { kind, id }))) return;
      const nothing = { parent: null, title: '', model: null, chunks: [], isTombstone: true };
      replace(tenantId, { kind, id, revision, ...nothing });
    },
    attachmentsOf: async (tenantId, recordId) =>
      ofTenant(tenantId)
        .filter(({ parent, isTombstone }) => parent === recordId && !isTombstone)
        .map(({ id }) => id),
    changes: async (tenantId, after) =>
      ofTenant(tenantId)
        .filter((source) => source.seq > after)
        .toSorted((a, b) => a.seq - b.seq)
        .map(({ kind, id, seq: at, isTombstone }) => ({ kind, id, seq: at, isTombstone })),
    load: async (tenantId, keys) =>
      keys.map((key) => {
        const found = sources.get(keyOf(tenantId, key));
        if (found === undefined || found.isTombstone) return undefined;
        const { isTombstone: _isTombstone, tenantId: _tenantId, ...source } = found;
        return source;
      }),
    withoutVectors: async (limit) =>
      [...sources.entries()]
        .filter(([, { model, chunks }]) => model === null && chunks.length > 0)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, limit)
        .map(([, { tenantId, kind, id }]) => ({ tenantId, kind, id })),
    backfillRun: async (tenantId) => runs.get(tenantId),
    saveBackfillRun: async (tenantId, run) => {
      runs.set(tenantId, run);
    },
    close: async () => undefined,
  };
};
