import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { OF_CHILDREN } from './server.ts';

/**
 * Tools that check the documents and generate clients. They have a folder and a lockfile of their own, since no other
 * code needs their many packages and their older TypeScript. The first test that uses the tools installs them.
 */

const SOURCE = join(import.meta.dirname, 'openapi-tools');
/** Outside `tests`, whose files are all searched and run. */
export const FOLDER = join(import.meta.dirname, '../../node_modules/.openapi-tools');
export const GENERATED = join(FOLDER, 'generated');

const MINUTES_5 = 300_000;

/**
 * Runs a program in the folder.
 * @param more further variables for the program; installers need all variables of this process
 * @throws with the program's output when it fails
 */
export const run = async (
  program: string,
  args: readonly string[],
  more: Readonly<Record<string, string | undefined>> = {},
): Promise<string> => {
  const env = { ...OF_CHILDREN, HOME: process.env.HOME, REDOCLY_TELEMETRY: 'off', NO_COLOR: '1', ...more };
  const options = { cwd: FOLDER, env, timeout: MINUTES_5, maxBuffer: 64 * 1024 * 1024 };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, [...args], options);
    return stdout + stderr;
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(
      `${program} ${args.join(' ')}: ${error instanceof Error ? error.message : ''}\n${output}`,
    );
  }
};

/** Runs an installed tool on this Node. */
export const tool = (name: string, ...args: readonly string[]): Promise<string> =>
  run(process.execPath, [join(FOLDER, 'node_modules/.bin', name), ...args]);

/** Installs the packages of the lockfile unless they are installed. Removes files that a former run generated. */
export const installTools = async (): Promise<void> => {
  rmSync(GENERATED, { recursive: true, force: true });
  cpSync(SOURCE, FOLDER, { recursive: true });
  const [wanted, mark] = [join(FOLDER, 'package-lock.json'), join(FOLDER, 'node_modules/.installed')];
  if (existsSync(mark) && readFileSync(mark, 'utf8') === readFileSync(wanted, 'utf8')) return;
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], process.env);
  await run('cp', [wanted, mark]);
};

/** Python with the generator of `requirements.txt`; undefined where it cannot be installed. */
export const pythonTools = async (): Promise<string | undefined> => {
  const folder = join(FOLDER, 'node_modules/.python');
  const python = join(folder, 'bin/python');
  try {
    if (!existsSync(join(folder, 'bin/openapi-python-client'))) {
      const packages = ['install', '-q', '--no-compile', '-r', 'requirements.txt'];
      try {
        // A pip in the folder takes as long to install as the packages.
        await run('python3', ['-m', 'venv', '--without-pip', folder]);
        await run('python3', ['-m', 'pip', '--python', python, ...packages], process.env);
      } catch {
        await run('python3', ['-m', 'venv', folder]);
        await run(python, ['-m', 'pip', ...packages], process.env);
      }
    }
    return python;
  } catch {
    return undefined;
  }
};
