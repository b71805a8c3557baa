import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { z } from 'zod';
import type { CommandContext } from '../../application/core/commands/command.ts';
import { Identity } from '../../application/identity/identity.ts';
import type { Logger } from '../../application/ports/logger.ts';
import { isRefusal } from '../../domain/core/errors.ts';
import { codePoints, isStorableText } from '../../domain/core/text.ts';
import type { Config } from '../../infrastructure/config.ts';
import { masterKeyOf, type Secrets } from '../../infrastructure/development-secrets.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { type Core, composeCore } from '../compose/core.ts';
import { type AdminCommand, adminConfig, emailOption, optionsOf, printNote, Refusal } from './command.ts';

const schema = z.object({ email: emailOption });

const logger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (_fields, message) => printNote(message),
  error: (_fields, message) => printNote(message),
};

type MasterKey = Pick<Secrets, 'MASTER_KEY'>;
const masterKeyOnly = (config: Config): MasterKey => ({ MASTER_KEY: masterKeyOf(config) });

/** Runs `work` on the stores of the environment, then closes them. Servers may use the same stores meanwhile. */
const withCore = async (
  work: (core: Core<MasterKey>, context: CommandContext) => Promise<void>,
): Promise<void> => {
  const config = adminConfig('MASTER_KEY');
  const core = await composeCore(config, masterKeyOnly, logger, systemClock);
  const id = core.ids.next();
  const actor = { kind: 'system', id: 'command-line' } as const;
  try {
    await work(core, { cause: { actor, correlationId: id, causationId: id } });
  } finally {
    await core.stores.close();
  }
};

const VARIABLE = 'PLATFORM_ADMIN_PASSWORD';

/**
 * The new password: `PLATFORM_ADMIN_PASSWORD` if it is set and `PLATFORM_ADMIN_EMAIL` is unset or `email`, otherwise
 * the first line of standard input. Arguments are not used, because other users of the machine can read them.
 * @throws {Refusal}
 */
const newPassword = async (email: string): Promise<string> => {
  const { [VARIABLE]: given = '', PLATFORM_ADMIN_EMAIL: owner = '' } = process.env;
  const isTheirs = owner === '' || owner.toLowerCase() === email.toLowerCase();
  const fromEnvironment = given !== '' && isTheirs;
  if (fromEnvironment) printNote(`The password is taken from ${VARIABLE}.`);
  const password = fromEnvironment ? given : await firstLine();
  const length = codePoints(password);
  if (length < 10 || length > 200 || !isStorableText(password)) {
    throw new Refusal('The password must have 10 to 200 characters.');
  }
  return password;
};

const firstLine = async (): Promise<string> => {
  const terminal = process.stdin.isTTY === true;
  if (terminal) process.stderr.write('New password: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal });
  try {
    for await (const line of lines) return line;
    throw new Refusal(`Give the password on standard input or in ${VARIABLE}.`);
  } finally {
    lines.close();
    if (terminal) printNote('');
  }
};

export const createPlatformAdmin: AdminCommand = {
  name: 'create-platform-admin',
  usage: '--email <address>',
  summary: 'Create a platform admin; the password comes from PLATFORM_ADMIN_PASSWORD or standard input.',
  run: async (args) => {
    const { email } = optionsOf(args, schema);
    const password = await newPassword(email);
    await withCore(async (core, context) => {
      // Each run makes a new id, so only the reservation of the e-mail makes one of two concurrent runs fail.
      const admin = { id: core.ids.next(), email, password };
      await new Identity(core).createPlatformAdmin(admin, context).catch((error: unknown) => {
        if (!isRefusal(error, 'already_exists')) throw error;
        throw new Refusal(
          'A platform admin with this e-mail exists already; set-platform-admin-password replaces the password.',
        );
      });
    });
    printNote('The platform admin was created.');
  },
};

export const setPlatformAdminPassword: AdminCommand = {
  name: 'set-platform-admin-password',
  usage: '--email <address>',
  summary:
    'Replace a platform admin’s password; the new one comes from PLATFORM_ADMIN_PASSWORD or standard input.',
  run: async (args) => {
    const { email } = optionsOf(args, schema);
    const password = await newPassword(email);
    await withCore((core, context) =>
      new Identity(core).setPlatformAdminPassword(email, password, context).catch((error: unknown) => {
        if (!isRefusal(error, 'not_found')) throw error;
        throw new Refusal('No platform admin has this e-mail.');
      }),
    );
    printNote('The password was replaced. Existing sessions stay valid until they expire.');
  },
};
