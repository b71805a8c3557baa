import { type Environment, environment } from './config/variables.ts';

/**
 * Configuration (decisions, section 12): read once from the environment, validated, and passed on as a value. Only the
 * programs and admin commands in `api` use `process.env`.
 */

/**
 * Stops the start of a server or an admin command. {@link readConfig} gives one sentence for each variable that is
 * wrong, without its value. No message holds a secret.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The validated environment, with `DEMO` resolved. */
export type Config = Readonly<Omit<Environment, 'DEMO'> & { DEMO: boolean }>;

/**
 * Signing secrets. During a rotation each may have two more variables, whose secrets only verify: `_NEXT` for the
 * secret that will sign, `_PREVIOUS` for the secret that no longer signs.
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
export const REQUIRED_SECRETS = [...SIGNING_SECRETS, 'MASTER_KEY'] as const;
export type RequiredSecret = (typeof REQUIRED_SECRETS)[number];

type Variables = Readonly<Record<string, string | undefined>>;

const equalSecrets = (secrets: Variables): string[] => {
  const seen = new Map<string, string>();
  return Object.entries(secrets).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const other = seen.get(value);
    if (other !== undefined) return [`${name} must differ from ${other}.`];
    seen.set(value, name);
    return [];
  });
};

/**
 * Refuses equal secrets: tokens of two families with the same secret would be interchangeable.
 * @throws {ConfigError}
 */
export const checkDistinct = (secrets: Variables): void => {
  const [equal] = equalSecrets(secrets);
  if (equal !== undefined) throw new ConfigError(equal);
};

const SECRETS = [...REQUIRED_SECRETS, ...SIGNING_SECRETS.flatMap((name) => [previousOf(name), nextOf(name)])];

/** Rules over several variables. @param wrong variables that are wrong by themselves */
const wrongTogether = (
  given: Variables,
  required: readonly RequiredSecret[],
  wrong: ReadonlyMap<string, string>,
): string[] => [
  ...required
    .filter((name) => given[name] === undefined && given.NODE_ENV === 'production')
    .map((name) => `${name} must be set in production.`),
  ...equalSecrets(Object.fromEntries(SECRETS.map((name) => [name, given[name]]))),
  ...((given.PLATFORM_ADMIN_EMAIL === undefined) === (given.PLATFORM_ADMIN_PASSWORD === undefined) ||
  wrong.has('PLATFORM_ADMIN_EMAIL') ||
  wrong.has('PLATFORM_ADMIN_PASSWORD')
    ? []
    : ['PLATFORM_ADMIN_EMAIL and PLATFORM_ADMIN_PASSWORD must be set together.']),
  ...(given.ROLE === 'worker' && Number(given.WORKERS ?? 1) > 1
    ? ['WORKERS must be 1 with ROLE=worker: only processes that serve requests share a port.']
    : []),
];

/**
 * @param variables usually `process.env`; an empty value counts as unset
 * @param required secrets that must be set in production; default: the secrets of a server
 * @throws {ConfigError} with every variable that is missing or wrong
 */
export const readConfig = (
  variables: Variables,
  required: readonly RequiredSecret[] = REQUIRED_SECRETS,
): Config => {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const result = environment.safeParse(given);
  const wrong = new Map<string, string>();
  for (const { path, message } of result.error?.issues ?? []) {
    const name = String(path[0]);
    if (!wrong.has(name)) wrong.set(name, `${name} ${message}.`);
  }
  const together = wrongTogether(given, required, wrong);
  if (!result.success || together.length > 0) {
    throw new ConfigError([...wrong.values(), ...together].join('\n'));
  }
  return { ...result.data, DEMO: result.data.DEMO ?? result.data.NODE_ENV !== 'production' };
};
