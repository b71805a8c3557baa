import { z } from 'zod';
import { type Config, nextOf, previousOf, type SigningSecret } from '../../infrastructure/config.ts';
import {
  dropStored,
  type Rotated,
  type Rotation,
  rotated,
  rotateStored,
} from '../../infrastructure/development-secrets.ts';
import { type AdminCommand, adminConfig, optionsOf, produce, Refusal, say } from './command.ts';

/** The credentials that each family's key signs, and their longest lifetime. */
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

/** The operator's next action after a step, for keys in the environment and in the data folder. */
const sayNextStep = ({ secret, lives }: Family, done: Rotated): void => {
  if (done === 'prepared') {
    say('Restart every server: all of them then verify with the new key, and none signs with it.');
    say('After that: rotate-key without --prepare.');
    return;
  }
  say('Restart every server: it then signs with the new key and verifies with both.');
  if (done === 'made' && secret !== 'PARTNER_EXCHANGE_SECRET') {
    say(
      'Until then a server that was not restarted refuses what a restarted one signs; --prepare avoids that.',
    );
  }
  say(`The overlap may end ${lives} after the last restart.`);
  if (secret === 'PARTNER_EXCHANGE_SECRET') say('The hosting portal must be given the new one as well.');
};

const rotateInFolder = (config: Config, { secret }: Family, step: Rotation, force: boolean): Rotated => {
  for (const one of [previousOf(secret), nextOf(secret)]) {
    if (config[one] !== undefined) {
      throw new Refusal(`Take ${one} out of the environment first: it would hide the kept one.`);
    }
  }
  const done = rotateStored(config, secret, step, force);
  say(
    {
      made: `${secret} was made anew in ${config.DATA_DIR}; the one before is kept as ${previousOf(secret)}.`,
      prepared: `${nextOf(secret)} was made in ${config.DATA_DIR}; ${secret} is as it was.`,
      exchanged: `${nextOf(secret)} is now ${secret} in ${config.DATA_DIR}; the one before is kept as ${previousOf(secret)}.`,
    }[done],
  );
  return done;
};

/** Prints the variables that the operator has to set. An empty value counts as unset. */
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
    if (value !== before) produce(`${name}=${value ?? ''}`);
  }
  say(`${secret} comes from the environment: set there what was printed, an empty one to nothing.`);
  return done;
};

export const rotateKey: AdminCommand = {
  name: 'rotate-key',
  usage: `${family} [--prepare] [--force]`,
  summary:
    'Make a new signing key, or exchange for the prepared one; the present one goes on verifying. --prepare: the new one verifies only, for now.',
  run: async (args) => {
    const options = optionsOf(args, stepSchema);
    const chosen = FAMILIES[options.family];
    const step = options.prepare ? 'prepare' : 'rotate';
    const config = adminConfig(chosen.secret);
    const apply = config[chosen.secret] === undefined ? rotateInFolder : printForEnvironment;
    sayNextStep(chosen, apply(config, chosen, step, options.force));
    if (options.force) say('What a key that was dropped has signed is refused from then on.');
  },
};

export const dropPreviousKey: AdminCommand = {
  name: 'drop-previous-key',
  usage: family,
  summary: 'End an overlap: only what the present key signed counts from the next start on.',
  run: async (args) => {
    const { secret } = FAMILIES[optionsOf(args, familySchema).family];
    const config = adminConfig(secret);
    const others = `${previousOf(secret)} and ${nextOf(secret)}`;
    if (config[secret] !== undefined) {
      throw new Refusal(
        `${secret} comes from the environment: take ${others} away there and restart every server.`,
      );
    }
    dropStored(config, secret);
    say(`${others} were dropped from ${config.DATA_DIR}, as far as they were there. Restart every server.`);
  },
};
