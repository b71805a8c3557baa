import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Break } from './breaks.ts';

const root = resolve(import.meta.dirname, '../../..');

/**
 * Runs seeds with a defect, first the seed that is known to find it, until a run fails.
 * @returns what the simulation said; undefined when no seed fails
 */
export const found = async (
  { name, seed, requests = 20 }: Break,
  seeds: number,
): Promise<string | undefined> =>
  (await failure(name, ['--from', String(seed), '--seeds', '1'], requests)) ??
  (await failure(name, ['--seeds', String(seeds)], requests));

const failure = (name: string, which: readonly string[], requests: number): Promise<string | undefined> => {
  const args = ['--import', './tests/simulation/breaks/apply.ts', 'tests/simulation/main.ts', ...which];
  const env = { ...process.env, BREAK: name, NODE_COMPILE_CACHE: join(tmpdir(), 'simulation-compiled') };
  return new Promise((done, failed) => {
    execFile(
      process.execPath,
      [...args, '--requests', String(requests), '--first', '--jobs', '1'],
      { cwd: root, env, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        const said = stdout.match(/^seed \d+ fails.*\n.*$/m)?.[0];
        if (error === null) done(undefined);
        else if (said === undefined) failed(new Error(`${name}: ${stderr}`));
        else done(said);
      },
    );
  });
};
