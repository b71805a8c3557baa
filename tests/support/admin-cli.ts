import { spawn } from 'node:child_process';
import { productFile } from './bundle.ts';
import { OF_CHILDREN } from './server.ts';

/** Runs `npm run admin` as a child process. */

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const MAIN = productFile('api/admin/main.ts');

/** @param env the environment besides `PATH` @param input standard input; default: none */
export const admin = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  input = '',
  withinMs = 120_000,
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...OF_CHILDREN, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
