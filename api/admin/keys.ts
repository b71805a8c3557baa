import { z } from 'zod';
import { type Config, nextOf, previousOf, type SigningSecret } from '../../infrastructure/config.ts';
import {
  dropStored,
  type Rotated,
  type Rotation,
  rotated,
  rotateStored,
} from '../../infrastructure/development-secrets.ts';
import { type AdminCommand, adminConfig, optionsOf, printNote, printResult, Refusal } from './command.ts';

/** The secret that signs each family's credentials, and the longest lifetime of such a credential. */
const FAMILIES = {
  tenant: { secret: 'TENANT_JWT_SECRET', lives: '24 hours' },
  platform: { secret: 'PLATFORM_JWT_SECRET', lives: '8 hours' },
  partner: { secret: 'PARTNER_JWT_SECRET', lives: 'one hour' },
  exchange: { secret: 'PARTNER_EXCHANGE_SECRET', lives: 'five minutes' },
} as const satisfies Record<string, { secret: SigningSecret; lives: string }>;

const NAMES = ['tenant', 'platform', 'partner', 'exchange'] as const satisfies (keyof typeof FAMILIES)[];
const family = `--family ${NAMES.join('|')}`;
const familySchema = z.object({ family: z.enum(NAMES) });
const stepSchema = familySchema.extend({ prepare: z.boolean(), force: z.boolean() });

type Family = (typeof FAMILIES)[keyof typeof FAMILIES];

/** Prints the next action after a rotation step, for keys in the environment and in the data folder. */
const sayNextStep = ({ secret, lives }: Family, done: Rotated): void => {
  if (done === 'prepared') {
    printNote('Restart every server: all servers then accept the new key, but none signs with it yet.');
    printNote('Then run rotate-key without --prepare.');
    return;
  }
  printNote('Restart every server: it then signs with the new key and verifies with both.');
  if (done === 'made' && secret !== 'PARTNER_EXCHANGE_SECRET') {
    printNote(
      'Until every server is restarted, the others reject what a restarted server signs; --prepare avoids that.',
    );
  }
  printNote(`The overlap can end ${lives} after the last restart: run drop-previous-key then.`);
  if (secret === 'PARTNER_EXCHANGE_SECRET') printNote('Give the new secret to the hosting portal as well.');
};

const rotateInFolder = (config: Config, { secret }: Family, step: Rotation, force: boolean): Rotated => {
  for (const one of [previousOf(secret), nextOf(secret)]) {
    if (config[one] !== undefined) {
      throw new Refusal(`Remove ${one} from the environment first: it would override the stored one.`);
    }
  }
  const done = rotateStored(config, secret, step, force);
  printNote(
    {
      made: `${secret} was replaced in ${config.DATA_DIR}; the previous one is stored as ${previousOf(secret)}.`,
      prepared: `${nextOf(secret)} was created in ${config.DATA_DIR}; ${secret} is unchanged.`,
      exchanged: `${nextOf(secret)} is now ${secret} in ${config.DATA_DIR}; the previous one is stored as ${previousOf(secret)}.`,
    }[done],
  );
  return done;
};

/** Prints the variables to change in the environment. An empty value counts as unset. */
const printForEnvironment = (config: Config, { secret }: Family, step: Rotation, force: boolean): Rotated => {
  const found = {
    current: config[secret] ?? '',
    previous: config[previousOf(secret)],
    next: config[nextOf(secret)],
  };
  const { current, previous, next, done } = rotated(secret, found, step, force);
  for (const [name, before, value] of [
    [secret, found.current, current],
    [previousOf(secret), found.previous, previous],
    [nextOf(secret), found.next, next],
  ] as const) {
    if (value !== before) printResult(`${name}=${value ?? ''}`);
  }
  printNote(
    `${secret} comes from the environment: set the printed variables there, and remove those without a value.`,
  );
  return done;
};

export const rotateKey: AdminCommand = {
  name: 'rotate-key',
  usage: `${family} [--prepare] [--force]`,
  summary:
    'Create a new signing key, or switch to the prepared one; the current key still verifies. --prepare: servers accept the new key but do not sign with it yet.',
  run: async (args) => {
    const options = optionsOf(args, stepSchema);
    const chosen = FAMILIES[options.family];
    const step = options.prepare ? 'prepare' : 'rotate';
    const config = adminConfig(chosen.secret);
    const apply = config[chosen.secret] === undefined ? rotateInFolder : printForEnvironment;
    sayNextStep(chosen, apply(config, chosen, step, options.force));
    if (options.force) printNote('From then on, servers reject everything that a dropped key has signed.');
  },
};

export const dropPreviousKey: AdminCommand = {
  name: 'drop-previous-key',
  usage: family,
  summary: 'End an overlap: after a restart, servers accept only what the current key signed.',
  run: async (args) => {
    const { secret } = FAMILIES[optionsOf(args, familySchema).family];
    const config = adminConfig(secret);
    const others = `${previousOf(secret)} and ${nextOf(secret)}`;
    if (config[secret] !== undefined) {
      throw new Refusal(
        `${secret} comes from the environment: remove ${others} there and restart every server.`,
      );
    }
    dropStored(config, secret);
    printNote(`${config.DATA_DIR} no longer holds ${others}. Restart every server.`);
  },
};
