/**
 * Snapshots of folded stream states: a cache that may be deleted at any time. States hold personal texts only in
 * their sealed form.
 */
export interface Snapshot {
  /** The stream type’s `stateVersion`; a snapshot of another version is ignored. */
  readonly stateVersion: number;
  readonly revision: number;
  readonly hash: string;
  readonly position: string;
  /** `occurred_at` of the last event, ms. */
  readonly at: number;
  /** JSON. */
  readonly state: string;
}

export interface SnapshotStore {
  get(stream: string): Promise<Snapshot | undefined>;
  put(stream: string, snapshot: Snapshot): Promise<void>;
  close(): Promise<void>;
}
