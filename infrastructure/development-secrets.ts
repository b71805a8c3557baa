import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  type Config,
  ConfigError,
  checkDistinct,
  nextOf,
  previousOf,
  REQUIRED_SECRETS,
  type RequiredSecret,
  SIGNING_SECRETS,
  type SigningSecret,
} from './config.ts';
import { storedOrNew, writeWhole } from './durable-files.ts';

const verifying = z.string().optional();

const stored = z.object({
  TENANT_JWT_SECRET: z.string(),
  PLATFORM_JWT_SECRET: z.string(),
  PARTNER_JWT_SECRET: z.string(),
  PARTNER_EXCHANGE_SECRET: z.string(),
  MASTER_KEY: z.string(),
  TENANT_JWT_SECRET_PREVIOUS: verifying,
  PLATFORM_JWT_SECRET_PREVIOUS: verifying,
  PARTNER_JWT_SECRET_PREVIOUS: verifying,
  PARTNER_EXCHANGE_SECRET_PREVIOUS: verifying,
  TENANT_JWT_SECRET_NEXT: verifying,
  PLATFORM_JWT_SECRET_NEXT: verifying,
  PARTNER_JWT_SECRET_NEXT: verifying,
  PARTNER_EXCHANGE_SECRET_NEXT: verifying,
});

/** The signing and wrapping keys: current ones, and those that only verify. */
export type Secrets = Readonly<z.output<typeof stored>>;

/** The current secret, then the secrets that only verify, as `tokenFamily` takes them. */
export const signingSecrets = (
  secrets: Secrets,
  name: SigningSecret,
): readonly [current: string, ...verifying: readonly string[]] => {
  const beside = [secrets[previousOf(name)], secrets[nextOf(name)]];
  return [secrets[name], ...beside.filter((one) => one !== undefined)];
};

const made = (): string => randomBytes(32).toString('base64url');

const required = (value: (name: RequiredSecret) => string) =>
  Object.fromEntries(REQUIRED_SECRETS.map((name) => [name, value(name)]));

const pathIn = (config: Config): string => join(config.DATA_DIR, 'development-secrets.json');

const parsed = (text: string): Secrets => stored.parse(JSON.parse(text));
const textOf = (secrets: Secrets): string => `${JSON.stringify(secrets, null, 2)}\n`;

/** The secrets stored in the data folder; undefined when there are none. */
const kept = (config: Config): Secrets | undefined => {
  const path = pathIn(config);
  return existsSync(path) ? parsed(readFileSync(path, 'utf8')) : undefined;
};

/**
 * Merges the secrets of the environment and the folder; the environment takes precedence. If the environment has a
 * current secret, the folder's previous and next ones of the same name are ignored.
 */
const joined = (config: Config, folder: Secrets): Secrets => {
  const beside = SIGNING_SECRETS.flatMap((name) =>
    [previousOf(name), nextOf(name)].map(
      (one) => [one, config[one] ?? (config[name] === undefined ? folder[one] : undefined)] as const,
    ),
  ).filter(([, value]) => value !== undefined);
  const secrets = stored.parse({
    ...required((name) => config[name] ?? folder[name]),
    ...Object.fromEntries(beside),
  });
  checkDistinct(secrets);
  return secrets;
};

/** The environment's secrets; undefined unless all required ones are set. */
const given = (config: Config): Secrets | undefined => {
  const complete = stored.safeParse(config);
  return complete.success ? complete.data : undefined;
};

/**
 * Returns the environment's secrets if all required ones are set. Otherwise adds secrets of the data folder, where the
 * first start stores a new set, readable by the owner only. Production requires all of them in the environment.
 * @throws {ConfigError} when two secrets are equal
 */
export const secretsOf = (config: Config): Secrets =>
  given(config) ??
  joined(config, parsed(storedOrNew(pathIn(config), () => textOf(stored.parse(required(made))))));

/** One secret from the environment or the data folder; undefined when neither has it. Creates nothing. */
export const knownSecret = (config: Config, name: RequiredSecret): string | undefined =>
  config[name] ?? kept(config)?.[name];

/** `MASTER_KEY` only; creates secrets only when the environment lacks it. */
export const masterKeyOf = (config: Config): string => config.MASTER_KEY ?? secretsOf(config).MASTER_KEY;

export type Rotation = 'rotate' | 'prepare';

/**
 * Result of a rotation step: a new current secret, a new secret that only verifies, or the prepared one made current.
 */
export type Rotated = 'made' | 'prepared' | 'exchanged';

/**
 * One step of a rotation. `rotate`: the prepared secret, or a new one if none is prepared, signs from now on, and the
 * current one becomes the previous one. `prepare`: a new secret verifies from now on.
 * @param found the current secret and those that only verify
 * @param force drops a previous secret and replaces a prepared one
 * @throws {ConfigError} without `force`, when a secret would be lost
 */
export const rotated = (
  name: SigningSecret,
  found: {
    readonly current: string;
    readonly previous: string | undefined;
    readonly next: string | undefined;
  },
  step: Rotation,
  force: boolean,
): { current: string; previous: string | undefined; next: string | undefined; done: Rotated } => {
  const { current, previous, next } = found;
  if (previous !== undefined && !force) {
    throw new ConfigError(
      `${previousOf(name)} still verifies, and servers that were not restarted may still sign with it. End that overlap first, or use --force to reject everything that it signed.`,
    );
  }
  if (step === 'rotate') {
    return { current: next ?? made(), previous: current, next: undefined, done: next ? 'exchanged' : 'made' };
  }
  if (next !== undefined && !force) {
    throw new ConfigError(
      `${nextOf(name)} is prepared already: restart every server, then rotate without --prepare, or use --force to replace it.`,
    );
  }
  return { current, previous: undefined, next: made(), done: 'prepared' };
};

/**
 * Runs {@link rotated} on the secrets stored in the data folder.
 * @throws {ConfigError} as {@link rotated}, when the folder holds no secrets, or another rotation is under way
 */
export const rotateStored = (
  config: Config,
  name: SigningSecret,
  step: Rotation = 'rotate',
  force = false,
): Rotated => {
  let done: Rotated = 'made';
  changeStored(config, (secrets) => {
    const found = {
      current: secrets[name],
      previous: secrets[previousOf(name)],
      next: secrets[nextOf(name)],
    };
    const changed = rotated(name, found, step, force);
    done = changed.done;
    const { current, previous, next } = changed;
    return { ...secrets, [name]: current, [previousOf(name)]: previous, [nextOf(name)]: next };
  });
  return done;
};

/**
 * Drops all but the current secret: tokens signed by the others are refused from the next start.
 * @throws {ConfigError} when the folder holds no secrets, or a rotation is under way
 */
export const dropStored = (config: Config, name: SigningSecret): void => {
  changeStored(config, (secrets) => ({
    ...secrets,
    [previousOf(name)]: undefined,
    [nextOf(name)]: undefined,
  }));
};

const changeStored = (config: Config, change: (secrets: Secrets) => Secrets): void => {
  const path = pathIn(config);
  if (!existsSync(path)) {
    throw new ConfigError(`${config.DATA_DIR} holds no development secrets: start the server once.`);
  }
  // Without the lock, one of two concurrent rotations could overwrite a new secret with which servers already sign.
  const lock = `${path}.lock`;
  try {
    closeSync(openSync(lock, 'wx', 0o600));
  } catch (error) {
    if (!existsSync(lock)) throw error;
    throw new ConfigError(`Another rotation is under way; if none is, remove ${lock} and try again.`);
  }
  try {
    writeWhole(path, textOf(change(parsed(readFileSync(path, 'utf8')))), renameSync);
  } finally {
    rmSync(lock, { force: true });
  }
};
