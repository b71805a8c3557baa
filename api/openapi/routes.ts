import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { version } from '../../infrastructure/build.ts';
import { readConfig } from '../../infrastructure/config.ts';
import { secretsOf } from '../../infrastructure/development-secrets.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { composeAreas, listOf } from '../compose/areas.ts';
import { composeCore } from '../compose/core.ts';
import { allRoutes } from '../http/app.ts';
import { createRateLimits } from '../http/rate-limits.ts';
import type { Route } from '../http/route.ts';

/** The route table of a server, composed over empty embedded stores that are removed again. */
export const routesWithoutServer = async (): Promise<readonly Route[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    const config = readConfig({ DATA_DIR: folder, EMBEDDING_MODEL: 'off', LOG_LEVEL: 'warn' });
    const core = await composeCore(config, secretsOf, createLogger(config.LOG_LEVEL), systemClock);
    const limits = createRateLimits({ requestsPerMinute: 0, loginsPerMinute: 0 }, core.clock);
    const areas = listOf(composeAreas(core, [], limits));
    const routes = areas.flatMap(({ routes = [] }) => routes);
    await core.stores.close();
    return allRoutes({
      routes,
      metrics: core.metrics,
      build: { version },
      readiness: async () => ({ checks: {}, serves: false }),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
