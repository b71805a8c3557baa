import { type Platform, startPlatform } from '../api/platform.ts';
import type { Position } from '../application/ports/event-store.ts';
import { readConfig } from '../infrastructure/config.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { platformEnvironment } from './http/platform.ts';
import { causeOf, ids } from './logs.ts';

/** Use cases and core of a running product, for figures that call them without HTTP. */
const useCasesOf = ({ areas, core }: Platform) => ({
  ...core,
  ...areas.identity,
  ...areas.tenancy,
  ...areas.messaging,
  ...areas.entities,
  ...areas.bulk,
  ...areas.ledger,
  ...areas.webhooks,
  ...areas.billing,
  ...areas.partners,
  ...areas.assistant,
});

export type UseCases = ReturnType<typeof useCasesOf>;

/** Calls `run` with the product started in this process. @param own overrides of the usual environment */
export const withUseCases = async <T>(
  dataDir: string,
  run: (useCases: UseCases) => Promise<T>,
  own: Readonly<Record<string, string>> = {},
): Promise<T> => {
  const config = readConfig({ ...platformEnvironment(dataDir), ...own });
  const platform = await startPlatform({ config, logger: createLogger('error') });
  try {
    return await run(useCasesOf(platform));
  } finally {
    await platform.stop();
  }
};

export const contextOf = (userId: string) => ({
  cause: causeOf(userId),
  priorAttempt: undefined,
  newId: () => ids.next(),
});

/** Without the ledger no posting rules run; without the assistant no records are embedded. */
export const NONE = { ledger: false, assistant: false };

type NewTenant = Parameters<UseCases['tenancy']['create']>[0];

/** The default plan is not `enterprise`, which includes the assistant whatever the entitlements say. */
export const createTenant = (useCases: UseCases, id: string, more: Partial<NewTenant> = {}) =>
  useCases.tenancy.create(
    { id, name: 'Bench', plan: 'pro', currency: 'EUR', timezone: 'UTC', ...more },
    contextOf('bench'),
  );

/**
 * Runs `make` `count` times, `atOnce` at a time. `after` can wait for a read model after each batch: a single wait at
 * the end would take longer than a read may wait.
 */
export const makeMany = async <T>(
  count: number,
  atOnce: number,
  make: (nth: number) => Promise<T>,
  after: (made: readonly T[]) => Promise<void> = async () => undefined,
): Promise<T[]> => {
  const all: T[] = [];
  while (all.length < count) {
    const some = Array.from({ length: Math.min(atOnce, count - all.length) }, (_, at) =>
      make(all.length + at),
    );
    const made = await Promise.all(some);
    await after(made);
    all.push(...made);
  }
  return all;
};

export const readModelCaughtUp = async (
  { readModels }: UseCases,
  tenantId: string,
  readModel: string,
  position: Position | undefined,
): Promise<void> => {
  if (position !== undefined) readModels.answered(tenantId, position);
  await readModels.waitFor(tenantId, [readModel], undefined);
};
