import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { effectiveConfig } from '../../infrastructure/config/listing.ts';
import { misspelledVariables } from '../../infrastructure/config/misspelled-variables.ts';
import { ConfigError, REQUIRED_SECRETS, readConfig } from '../../infrastructure/config.ts';
import { type AdminCommand, optionsOf, printNote, printResult } from './command.ts';

const NONE = z.object({});

/** Prints the configuration in force, and fails if a server would refuse the configuration. */
export const showConfig: AdminCommand = {
  name: 'config',
  usage: '',
  summary:
    'Print the configuration in force, secrets masked; the exit code is 1 when a server would not start with it.',
  run: async (args) => {
    optionsOf(args, NONE);
    for (const { variable, meant: suggestion } of misspelledVariables(process.env)) {
      printNote(`${variable} is unknown and has no effect. Did you mean ${suggestion}?`);
    }
    for (const line of effectiveConfig(process.env)) printResult(line);
    try {
      readConfig(process.env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      printNote('');
      throw error;
    }
  },
};

/** Prints new secrets for production. Stores nothing. */
export const makeSecrets: AdminCommand = {
  name: 'secrets',
  usage: '',
  summary:
    'Print a complete set of new secrets for the environment; the public key for auditors goes to standard error.',
  run: async (args) => {
    optionsOf(args, NONE);
    for (const name of REQUIRED_SECRETS) printResult(`${name}=${randomBytes(32).toString('base64url')}`);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    printResult(
      `AUDIT_SIGNING_KEY=${privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')}`,
    );
    printNote(
      'Nothing was stored. Put these into the environment of every server, and keep a copy of MASTER_KEY in a safe place:',
    );
    printNote('without it the sealed texts of a backup cannot be read.');
    printNote('');
    printNote(
      'Give auditors this public key once, in person, in a contract or on your own website, but never through the server:',
    );
    printNote(`  ${publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`);
    printNote('They check exports with: npm run -s verify -- --export … --proof … --public-key <this key>');
  },
};
