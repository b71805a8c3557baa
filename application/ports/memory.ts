const MIB = 1024 * 1024;

/**
 * What one thread keeps in memory to be fast, so far as it is more than a few megabytes, all in one place
 * (docs/decisions/0023-one-memory-budget.md). These are bounds: nothing here grows with the data. Sizes are in bytes by
 * a rough count; what does not fit is read again, most often from the system's own cache of files.
 */
export const MEMORY = {
  /** Folded states of streams. */
  states: { maxCount: 20_000, maxBytes: 16 * MIB },
  /** Documents of all projections together. */
  documents: { maxCount: 20_000, maxBytes: 16 * MIB },
  /** The newest events, as the store told of them: followers that lag no further are served from here. */
  tail: { maxCount: 512, maxBytes: 32 * MIB },
  /** Pages of the log that followers which are further behind share. */
  pages: { maxCount: 2048, maxBytes: 32 * MIB },
  /** Streams whose last revision an append need not ask for, in each of two generations; and those that were only read. */
  heads: { maxCount: 20_000, maxNoted: 1024 },
  /** Definitions of workflows, ready to be used. */
  workflows: { maxBytes: 32 * MIB },
  /** Pages of the read models' file, of one connection to it. */
  readModelPages: { maxBytes: 8 * MIB },
} as const;
