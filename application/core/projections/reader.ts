import type { DocumentReader } from '../../../domain/core/projection.ts';
import type { Position } from '../../ports/event-store.ts';

/** Reads one read model from its active generation. */
export interface Reader extends DocumentReader {
  /** Tag of the active generation. */
  generation(): Promise<string>;
  /** The checkpoint of the active generation; undefined for a parked tenant. */
  checkpoint(tenantId?: string): Promise<Position | undefined>;
}

/** A projection that this process folds, in any of its threads. */
export interface FoldingProjection {
  readonly name: string;
  folds(tag: string): boolean;
  localCheckpoint(tag: string): Position | undefined;
  isParked(tag: string, tenantId: string): boolean;
  /** Resolves at the next progress of a generation, or after `ms`; until then, batches are folded at once. */
  nextProgress(ms: number): Promise<void>;
}

/** A search that took long, without its values. */
export interface SlowSearch {
  readonly projection: string;
  readonly collection: string;
  readonly tenant: string;
  readonly ms: number;
  readonly plan: string | undefined;
}
