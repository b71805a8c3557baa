import { PLATFORM } from '../../domain/core/platform.ts';
import { FileUploaded, fileStream } from '../../domain/files/file.ts';
import { tenantStream } from '../../domain/tenancy/tenant.ts';
import { streamName } from '../core/events/stream-name.ts';
import { pause } from '../core/runtime/timers.ts';
import type { BlobRef, BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';

/** Minimum age (ms) of a blob to remove: a younger blob may belong to a running upload. */
const ORPHAN_AGE_MS = 3_600_000;
const EVERY_MS = 3_600_000;
/** Yields after this many blobs. */
const PAUSE_EVERY = 100;

interface SweepDeps {
  readonly blobs: BlobStore;
  readonly events: EventStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Removes blobs without a file, and remains of interrupted writes, that are older than an hour. The log decides: a file
 * that was uploaded and not deleted keeps its bytes. Keeps blobs of tenants that are not in the log: a server may have
 * started with the wrong log, or before the log was restored.
 * @param since time (ms): blobs stored earlier were checked by an earlier sweep
 * @returns `since` for the next sweep
 */
export const sweepBlobs = async (
  { blobs, events, clock, logger }: SweepDeps,
  since: number,
  signal?: AbortSignal,
): Promise<number> => {
  const before = clock.now() - ORPHAN_AGE_MS;
  const isWanted = async ({ tenantId, id }: BlobRef): Promise<boolean> => {
    const stream = streamName(tenantId, fileStream.category, id);
    const [last] = await events.readStream(stream, { direction: 'backward', limit: 1 });
    return last?.type === FileUploaded.type;
  };
  const isTenant = async (tenantId: string): Promise<boolean> =>
    (await events.readStream(streamName(PLATFORM, tenantStream.category, tenantId), { limit: 1 })).length > 0;
  let [seen, removed, kept] = [0, 0, 0];
  for await (const { ref, at } of blobs.list()) {
    if (signal?.aborted) return since;
    seen += 1;
    if (seen % PAUSE_EVERY === 0) await pause(1);
    if (at >= before || at < since || (await isWanted(ref))) continue;
    if (await isTenant(ref.tenantId)) {
      await blobs.delete(ref, before);
      removed += 1;
    } else kept += 1;
  }
  await blobs.tidy(before);
  if (kept > 0) logger.warn({ kept }, 'blobs of tenants that are not in the log were kept');
  if (removed > 0) logger.info({ removed }, 'blobs without a file were removed');
  return before;
};

/** Sweeps immediately, then every hour, until aborted. After a failure, the next sweep checks the same blobs again. */
export const runBlobSweeps = async (deps: SweepDeps, signal: AbortSignal): Promise<void> => {
  let since = 0;
  while (!signal.aborted) {
    try {
      since = await sweepBlobs(deps, since, signal);
    } catch (error) {
      deps.logger.warn({ err: error }, 'blobs without a file could not be removed');
    }
    await pause(EVERY_MS, signal);
  }
};
