/** A snapshot of a folded stream state: a cache that may be deleted at any time. Personal texts are sealed. */
export interface Snapshot {
  /** `stateVersion` of the stream type; a snapshot of another version is ignored. */
  readonly stateVersion: number;
  readonly revision: number;
  readonly hash: string;
  readonly position: string;
  /** `occurred_at` of the last event (ms). */
  readonly at: number;
  /** JSON. */
  readonly state: string;
}

export interface SnapshotStore {
  get(stream: string): Promise<Snapshot | undefined>;
  put(stream: string, snapshot: Snapshot): Promise<void>;
  close(): Promise<void>;
}
