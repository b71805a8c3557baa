import type { Snapshot, SnapshotStore } from '../../application/ports/snapshot-store.ts';

/** Snapshots in memory, for the simulation, which also looks at them. */
export interface MemorySnapshotStore extends SnapshotStore {
  all(): ReadonlyMap<string, Snapshot>;
}

export const memorySnapshotStore = (): MemorySnapshotStore => {
  const snapshots = new Map<string, Snapshot>();
  return {
    get: async (stream) => snapshots.get(stream),
    put: async (stream, snapshot) => void snapshots.set(stream, { ...snapshot }),
    close: async () => undefined,
    all: () => snapshots,
  };
};
