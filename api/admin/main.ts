import { BackupError } from '../../infrastructure/backup/manifest.ts';
import { ConfigError } from '../../infrastructure/config.ts';
import { ImportError } from '../../infrastructure/event-store/log-import.ts';
import { MoveError } from '../../infrastructure/move/manifest.ts';
import { keepFilesPrivate } from '../../infrastructure/private-files.ts';
import { mintPartnerAssertion } from './assertion.ts';
import { backup, restoreBackup } from './backups.ts';
import { type AdminCommand, printNote, printResult, Refusal } from './command.ts';
import { makeSecrets, showConfig } from './configuration.ts';
import { convertKeys } from './convert-keys.ts';
import { compareReadModels, verifyData } from './data-checks.ts';
import { dropPreviousKey, rotateKey } from './keys.ts';
import { exportAll, importAll } from './moves.ts';
import { packLog } from './pack-log.ts';
import { createPlatformAdmin, setPlatformAdminPassword } from './platform-admins.ts';

/**
 * `npm run admin -- <command>`: commands on the stores that the environment names. Exit codes: 0, 1 when the command
 * failed, 2 for invalid arguments.
 */

const COMMANDS: readonly AdminCommand[] = [
  makeSecrets,
  showConfig,
  createPlatformAdmin,
  setPlatformAdminPassword,
  mintPartnerAssertion,
  rotateKey,
  dropPreviousKey,
  compareReadModels,
  verifyData,
  backup,
  restoreBackup,
  packLog,
  convertKeys,
  exportAll,
  importAll,
];

const helpOf = (commands: readonly AdminCommand[]): string =>
  [
    'npm run -s admin -- <command> [options]',
    '',
    ...commands.flatMap(({ name, usage, summary }) => [`  ${name} ${usage}`, `      ${summary}`, '']),
    'Commands read the same environment as the server (DATA_DIR, EVENTSTORE_URL, …).',
  ].join('\n');

const isHelp = (argument: string): boolean => argument === '--help' || argument === '-h';

const main = async (args: readonly string[]): Promise<void> => {
  keepFilesPrivate();
  const [name, ...rest] = args;
  const command = COMMANDS.find((one) => one.name === name);
  if (args.some(isHelp)) {
    printResult(helpOf(command === undefined ? COMMANDS : [command]));
    return;
  }
  if (command === undefined) {
    printNote(helpOf(COMMANDS));
    throw new Refusal(
      name === undefined ? 'Name a command.' : 'There is no such command. The list is above.',
      2,
    );
  }
  await command.run(rest);
};

/** Errors whose message is printed unchanged. */
const EXPECTED = [Refusal, ConfigError, BackupError, MoveError];

const sentenceOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ImportError) return `This cannot be imported: ${message}.`;
  return EXPECTED.some((type) => error instanceof type) ? message : `The command failed: ${message}`;
};

const fail = (error: unknown): void => {
  const code = error instanceof Refusal ? error.exitCode : 1;
  // Stores that were opened before the failure may still be open, and would keep the process running.
  process.stderr.write(`${sentenceOf(error)}\n`, () => process.exit(code));
};

// The reader of the output has ended, such as `head`, or the disk of the output is full.
process.stdout.on('error', fail);
main(process.argv.slice(2)).catch(fail);
