import type { Freshness } from '../application/core/projections/freshness.ts';
import type { ReadModels } from '../application/core/projections/read-models.ts';
import type { WorkerWatch } from '../application/core/projections/worker-watch.ts';
import type { Position } from '../application/ports/event-store.ts';
import type { Stores } from '../infrastructure/stores.ts';
import type { Check, Readiness } from './http/health.ts';

export interface ReadinessDeps {
  readonly stores: Stores;
  readonly readModels: ReadModels;
  readonly freshness: Freshness;
  /** Undefined in processes that fold read models themselves. */
  readonly workerWatch: WorkerWatch | undefined;
  readonly endAtStart: Position | undefined;
  readonly hasStarted: () => boolean;
}

const checked = async (check: () => Promise<unknown>): Promise<Check> => {
  try {
    await check();
    return 'ok';
  } catch {
    return 'failed';
  }
};

/** The conditions of `GET /health/ready`. */
export const readinessOf = (deps: ReadinessDeps): Readiness => {
  const { stores, readModels, freshness, workerWatch, endAtStart, hasStarted } = deps;
  /** Whether the read models have folded everything that was in the log at the start. */
  let caughtUp = false;
  const checkedReadModels = async (): Promise<Check> => {
    try {
      caughtUp ||= await readModels.reached(endAtStart);
      return caughtUp && !(await freshness.isCatchingUp()) ? 'ok' : 'catching_up';
    } catch {
      return 'failed';
    }
  };
  return async () => {
    const [event_store, read_store, key_store, blob_store, read_models] = await Promise.all([
      checked(() => stores.events.end()),
      checked(() => stores.reads.ping()),
      checked(() => stores.keys.ping()),
      checked(() => stores.blobs.ping()),
      checkedReadModels(),
    ]);
    const checks: Record<string, Check> = {
      event_store,
      read_store,
      key_store,
      blob_store,
      read_models,
      first_run: hasStarted() ? 'ok' : 'starting',
      ...(workerWatch === undefined ? {} : { workers: workerWatch.areWorkersMissing ? 'missing' : 'ok' }),
    };
    // Writes and many reads need no worker, so the process serves without a worker.
    return { checks, serves: caughtUp && hasStarted() && !Object.values(checks).includes('failed') };
  };
};
