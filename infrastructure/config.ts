import { isIP } from 'node:net';
import { z } from 'zod';

/**
 * Configuration (decisions, section 12): read once from the environment, validated, and passed on as a value.
 * No other module reads the environment.
 */

/** Ends the start. The message is one sentence that names the variable and never holds its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const whole = (min: number, max: number, fallback: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^[0-9]{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .default(fallback);
};

const number = (fallback: number) =>
  z
    .string()
    .regex(/^[0-9]{1,10}(\.[0-9]{1,6})?$/, 'must be a number that is not negative')
    .transform(Number)
    .default(fallback);

const flag = z
  .enum(['0', '1', 'true', 'false'], 'must be 0 or 1')
  .transform((value) => value === '1' || value === 'true');

const url = (protocols: readonly string[], message: string) =>
  z.string().refine((value) => protocols.includes(URL.parse(value)?.protocol ?? ''), message);

const httpUrl = url(['http:', 'https:'], 'must be an http or https URL');

const isWithoutPerson = (text: string): boolean => {
  const found = URL.parse(text);
  return !found?.username && !found?.password;
};

const secret = z
  .string()
  .refine((value) => Buffer.byteLength(value) >= 32, 'must have at least 32 bytes')
  .optional();

const isNetwork = (text: string): boolean => {
  const [address = '', bits = '', ...rest] = text.split('/');
  const widest = isIP(address) === 4 ? 32 : 128;
  if (isIP(address) === 0 || address.includes('%') || rest.length > 0) return false;
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) <= widest;
};

const list = (text: string): string[] => text.split(',').map((part) => part.trim());

const networks = z
  .string()
  .transform(list)
  .refine((found) => found.every(isNetwork), 'must be a list of networks such as 10.0.0.0/8')
  .default([]);

/** As Express's `trust proxy`: a flag, a number of hops, or addresses and networks. */
const trustProxy = z
  .string()
  .transform((value): boolean | number | string => {
    if (value === 'true' || value === 'false') return value === 'true';
    return /^[0-9]{1,3}$/.test(value) ? Number(value) : value;
  })
  .refine(
    (value) =>
      typeof value !== 'string' ||
      list(value).every(
        (part) =>
          ['loopback', 'linklocal', 'uniquelocal'].includes(part) || isIP(part) !== 0 || isNetwork(part),
      ),
    'must be true, false, a number of proxies, or a list of addresses and networks',
  );

const environment = z.object({
  NODE_ENV: z
    .enum(['development', 'production', 'test'], 'must be development, production or test')
    .default('development'),
  PORT: whole(0, 65_535, 3_000),
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: z.string().default('./data'),
  PUBLIC_URL: httpUrl
    .transform((value) => new URL(value))
    .refine(
      (found) => found.href === `${found.origin}/`,
      'must be scheme, host and port alone, such as https://platform.example',
    )
    .transform((found) => found.origin)
    .optional(),
  EVENTSTORE_URL: url(
    ['esdb:', 'esdb+discover:'],
    'must be an EventStoreDB connection string that begins with esdb://',
  ).optional(),
  MONGODB_URL: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\//, 'must be a MongoDB connection string that begins with mongodb://')
    .optional(),
  ROLE: z.enum(['api', 'worker', 'all'], 'must be api, worker or all').default('all'),
  DEMO: flag.optional(),
  KEYSTORE_URL: z.string().optional(),
  AUDIT_SIGNING_KEY: z.string().optional(),
  AUDIT_HEADS: z.string().optional(),
  AUDIT_HEADS_ALLOWED_NETWORKS: networks,
  TRUST_PROXY: trustProxy.optional(),
  LOG_LEVEL: z
    .enum(
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'must be fatal, error, warn, info, debug, trace or silent',
    )
    .default('info'),
  PLATFORM_ADMIN_EMAIL: z.email('must be an e-mail address').optional(),
  PLATFORM_ADMIN_PASSWORD: z
    .string()
    .refine((value) => [...value].length >= 10 && [...value].length <= 200, 'must have 10 to 200 characters')
    .optional(),
  TENANT_JWT_SECRET: secret,
  PLATFORM_JWT_SECRET: secret,
  PARTNER_JWT_SECRET: secret,
  PARTNER_EXCHANGE_SECRET: secret,
  TENANT_JWT_SECRET_PREVIOUS: secret,
  PLATFORM_JWT_SECRET_PREVIOUS: secret,
  PARTNER_JWT_SECRET_PREVIOUS: secret,
  PARTNER_EXCHANGE_SECRET_PREVIOUS: secret,
  TENANT_JWT_SECRET_NEXT: secret,
  PLATFORM_JWT_SECRET_NEXT: secret,
  PARTNER_JWT_SECRET_NEXT: secret,
  PARTNER_EXCHANGE_SECRET_NEXT: secret,
  MASTER_KEY: secret,
  RATE_LIMIT_PER_MINUTE: whole(0, 1_000_000_000, 600),
  LOGIN_LIMIT_PER_MINUTE: whole(0, 1_000_000_000, 10),
  WEBHOOK_ALLOWED_NETWORKS: networks,
  WEBHOOK_ALLOW_HTTP: flag.default(false),
  SSO_ALLOWED_NETWORKS: networks,
  BULK_GIVE_UP_SECONDS: whole(1, 86_400, 900),
  WEBHOOK_RETRY_SECONDS: z
    .string()
    .regex(
      /^ *[0-9]+(\.[0-9]+)?( *, *[0-9]+(\.[0-9]+)?){3} *$/,
      'must be four numbers of seconds with commas between',
    )
    .transform((text) => list(text).map(Number))
    .default([60, 300, 1_800, 7_200]),
  WEBHOOK_TIMEOUT_MS: whole(1, 600_000, 10_000),
  WEBHOOK_SECRET_GRACE_HOURS: number(24),
  ASSISTANT_BASE_URL: httpUrl.optional(),
  ASSISTANT_API_KEY: z.string().optional(),
  ASSISTANT_MODEL: z.string().optional(),
  ASSISTANT_TIMEOUT_MS: whole(1, 600_000, 30_000),
  EMBEDDING_MODEL: z.enum(['bundled', 'off'], 'must be bundled or off').default('bundled'),
  BILLING_UPSTREAM_URL: httpUrl
    // Refuses a URL that could never be called, since every invoice would wait for it.
    .refine((value) => isWithoutPerson(value), 'must not contain a user name or password')
    .optional(),
  BILLING_UPSTREAM_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces')
    .optional(),
});

type Environment = z.output<typeof environment>;

/** The validated environment, with `DEMO` resolved. */
export type Config = Readonly<Omit<Environment, 'DEMO'> & { DEMO: boolean }>;

/**
 * Signing secrets. During a rotation each may have two more that only verify: `_NEXT` before the servers sign
 * with it, `_PREVIOUS` after they did.
 */
export const SIGNING_SECRETS = [
  'TENANT_JWT_SECRET',
  'PLATFORM_JWT_SECRET',
  'PARTNER_JWT_SECRET',
  'PARTNER_EXCHANGE_SECRET',
] as const;
export type SigningSecret = (typeof SIGNING_SECRETS)[number];

export const previousOf = <S extends SigningSecret>(name: S): `${S}_PREVIOUS` => `${name}_PREVIOUS`;
export const nextOf = <S extends SigningSecret>(name: S): `${S}_NEXT` => `${name}_NEXT`;

/** Secrets that a server must be given in production. */
const REQUIRED = [...SIGNING_SECRETS, 'MASTER_KEY'] as const;
export type RequiredSecret = (typeof REQUIRED)[number];

/**
 * Refuses one secret for two token families, whose tokens would be interchangeable.
 * @throws {ConfigError}
 */
export const checkDistinct = (secrets: Readonly<Record<string, string | undefined>>): void => {
  const seen = new Map<string, string>();
  for (const [name, value] of Object.entries(secrets)) {
    if (value === undefined) continue;
    const other = seen.get(value);
    if (other !== undefined) throw new ConfigError(`${name} must differ from ${other}.`);
    seen.set(value, name);
  }
};

/** Rules over several variables. */
const checkTogether = (found: Environment, required: readonly RequiredSecret[]): void => {
  for (const name of required) {
    if (found[name] === undefined && found.NODE_ENV === 'production') {
      throw new ConfigError(`${name} must be set in production.`);
    }
  }
  const names = [...REQUIRED, ...SIGNING_SECRETS.flatMap((name) => [previousOf(name), nextOf(name)])];
  checkDistinct(Object.fromEntries(names.map((name) => [name, found[name]])));
  if ((found.PLATFORM_ADMIN_EMAIL === undefined) !== (found.PLATFORM_ADMIN_PASSWORD === undefined)) {
    throw new ConfigError('PLATFORM_ADMIN_EMAIL and PLATFORM_ADMIN_PASSWORD must be set together.');
  }
};

/**
 * @param variables usually `process.env`; an empty value counts as unset
 * @param required secrets that must be set in production; default: a server's
 * @throws {ConfigError}
 */
export const readConfig = (
  variables: Readonly<Record<string, string | undefined>>,
  required: readonly RequiredSecret[] = REQUIRED,
): Config => {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const result = environment.safeParse(given);
  if (!result.success) {
    const [issue] = result.error.issues;
    throw new ConfigError(`${String(issue?.path[0])} ${issue?.message ?? 'is not valid'}.`);
  }
  checkTogether(result.data, required);
  return { ...result.data, DEMO: result.data.DEMO ?? result.data.NODE_ENV !== 'production' };
};
