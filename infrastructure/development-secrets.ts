import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from './config.ts';

/** The signing and wrapping keys, all present. */
export interface Secrets {
  readonly TENANT_JWT_SECRET: string;
  readonly PLATFORM_JWT_SECRET: string;
  readonly PARTNER_JWT_SECRET: string;
  readonly PARTNER_EXCHANGE_SECRET: string;
  readonly MASTER_KEY: string;
}

const stored = z.object({
  TENANT_JWT_SECRET: z.string(),
  PLATFORM_JWT_SECRET: z.string(),
  PARTNER_JWT_SECRET: z.string(),
  PARTNER_EXCHANGE_SECRET: z.string(),
  MASTER_KEY: z.string(),
});

const made = (): string => randomBytes(32).toString('base64url');

/**
 * What the environment does not give is made at the first start and kept in the data folder, readable by its owner
 * only. Production never comes here without all of them: the configuration stops it.
 */
export const secretsOf = (config: Config): Secrets => {
  const path = join(config.DATA_DIR, 'development-secrets.json');
  const given = {
    TENANT_JWT_SECRET: config.TENANT_JWT_SECRET,
    PLATFORM_JWT_SECRET: config.PLATFORM_JWT_SECRET,
    PARTNER_JWT_SECRET: config.PARTNER_JWT_SECRET,
    PARTNER_EXCHANGE_SECRET: config.PARTNER_EXCHANGE_SECRET,
    MASTER_KEY: config.MASTER_KEY,
  };
  const complete = stored.safeParse(given);
  if (complete.success) return complete.data;
  if (!existsSync(path)) {
    const fresh = {
      TENANT_JWT_SECRET: made(),
      PLATFORM_JWT_SECRET: made(),
      PARTNER_JWT_SECRET: made(),
      PARTNER_EXCHANGE_SECRET: made(),
      MASTER_KEY: made(),
    };
    try {
      // `wx`: of several processes that start at once, one makes them and the others read them.
      writeFileSync(path, `${JSON.stringify(fresh, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if (!existsSync(path)) throw error;
    }
  }
  const kept = stored.parse(JSON.parse(readFileSync(path, 'utf8')));
  return {
    TENANT_JWT_SECRET: given.TENANT_JWT_SECRET ?? kept.TENANT_JWT_SECRET,
    PLATFORM_JWT_SECRET: given.PLATFORM_JWT_SECRET ?? kept.PLATFORM_JWT_SECRET,
    PARTNER_JWT_SECRET: given.PARTNER_JWT_SECRET ?? kept.PARTNER_JWT_SECRET,
    PARTNER_EXCHANGE_SECRET: given.PARTNER_EXCHANGE_SECRET ?? kept.PARTNER_EXCHANGE_SECRET,
    MASTER_KEY: given.MASTER_KEY ?? kept.MASTER_KEY,
  };
};
