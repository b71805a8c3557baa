import { randomBytes } from 'node:crypto';
import { type RequestContext, uuidFromName } from '../application/core/commands/request-context.ts';
import { isRefusal } from '../domain/core/errors.ts';
import type { Config } from '../infrastructure/config.ts';
import type { Core } from './compose/core.ts';
import type { Platform } from './platform.ts';

const password = (): string => randomBytes(12).toString('base64url');

/** Makes the request contexts of a start-up step: each try after the first searches for events of earlier tries. */
const startContext = ({ ids, clock }: Pick<Core, 'ids' | 'clock'>, what: string) => {
  const id = ids.next();
  const since = clock.now();
  return (tries: number): RequestContext => ({
    cause: { actor: { kind: 'system', id: what }, correlationId: id, causationId: id },
    priorAttempt: tries === 0 ? undefined : { since },
    newId: () => ids.next(),
  });
};

/** Registers the platform admin of the environment unless it exists (decisions, section 3). */
export const ensurePlatformAdmin = async ({ areas, core, wait }: Platform, config: Config): Promise<void> => {
  const { PLATFORM_ADMIN_EMAIL: email, PLATFORM_ADMIN_PASSWORD: secret } = config;
  if (email === undefined || secret === undefined) return;
  const id = uuidFromName(`platform-admin\n${email.toLowerCase()}`);
  const context = startContext(core, 'configuration');
  const admin = { id, email, password: secret };
  await wait((tries) => areas.identity.identity.createPlatformAdmin(admin, context(tries))).catch(
    (error: unknown) => {
      // An earlier start has registered the admin.
      if (!isRefusal(error, 'already_exists')) throw error;
    },
  );
};

/**
 * Creates a demo tenant with two people, and a platform admin unless the environment names one.
 * @returns the sign-ins, to be displayed once
 */
export const createDemo = async ({ areas, core, wait }: Platform, config: Config) => {
  const context = startContext(core, 'first-run');
  const platformAdmin =
    config.PLATFORM_ADMIN_EMAIL === undefined
      ? { email: 'root@platform.example', password: password() }
      : undefined;
  if (platformAdmin !== undefined) {
    const admin = { id: core.ids.next(), ...platformAdmin };
    await wait((tries) => areas.identity.identity.createPlatformAdmin(admin, context(tries)));
  }
  const tenant = 'demo';
  const ada = { email: 'ada@demo.example', password: password(), role: 'admin' as const };
  const ben = { email: 'ben@demo.example', password: password(), role: 'operator' as const };
  const demo = {
    id: tenant,
    name: 'Demo',
    plan: 'enterprise',
    entitlements: { ledger: true, assistant: true },
    currency: 'EUR',
    timezone: 'UTC',
  } as const;
  await wait((tries) => areas.tenancy.tenancy.create(demo, context(tries)));
  for (const [user, displayName] of [[ada, 'Ada Demo'] as const, [ben, 'Ben Demo'] as const]) {
    const person = { id: core.ids.next(), displayName, ...user };
    const made = await wait((tries) => areas.identity.identity.createUser(tenant, person, context(tries)));
    // A sign-in right after the accounts are printed then waits until the read model has the user.
    if (made.position !== undefined) core.readModels.answered(tenant, made.position);
  }
  return { platformAdmin, tenant, users: [ada, ben] };
};

export const describeDemo = (demo: Awaited<ReturnType<typeof createDemo>>): string => {
  const admin = demo.platformAdmin;
  const line = (label: string, user: { email: string; password: string }): string =>
    `  ${label.padEnd(16)}${user.email.padEnd(24)}${user.password}`;
  return [
    '',
    'First start: demo accounts, shown only once (development only).',
    '',
    ...(admin === undefined ? [] : [line('platform admin', admin)]),
    ...demo.users.map((user) => line(`${demo.tenant} ${user.role}`, user)),
    '',
  ].join('\n');
};
