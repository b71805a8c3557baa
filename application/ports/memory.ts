const MIB = 1024 * 1024;

/**
 * Limits of the larger caches of one thread (docs/decisions/0023-one-memory-budget.md), in approximate bytes. Evicted
 * entries are read again.
 */
export const MEMORY = {
  /** Folded states of streams. */
  states: { maxCount: 20_000, maxBytes: 16 * MIB },
  /** Documents of all projections together. */
  documents: { maxCount: 20_000, maxBytes: 16 * MIB },
  /** The newest events as the store delivered them; serves followers near the end of the log. */
  tail: { maxCount: 512, maxBytes: 32 * MIB },
  /** Pages of the log that followers further behind share. */
  pages: { maxCount: 2048, maxBytes: 32 * MIB },
  /** Events that wait for their tenant's quantum: characters in all (two bytes each at most), and limits per tenant. */
  queues: { maxChars: 16 * MIB, ofTenant: { events: 1024, chars: MIB } },
  /** Last revisions of streams that were written, and of streams that were only read; each cache has two halves. */
  lastRevisions: { maxPerHalf: 20_000, maxNotedPerHalf: 1024 },
  /** Reports of the ledger, serialised as they are sent. */
  reports: { maxCount: 1000, maxBytes: 16 * MIB },
  /** Parsed workflow definitions. */
  workflows: { maxCount: 20_000, maxBytes: 32 * MIB },
  /** SQLite page cache of one connection to the read models' file. */
  readModelPages: { maxBytes: 8 * MIB },
} as const;
