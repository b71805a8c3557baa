import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import { verifyExport } from '../../api/admin/verify-export.ts';

/** Both verifiers as auditors run them: `npm run verify`, and the Python one. */

const fault = z.strictObject({
  kind: z.string(),
  line: z.number().nullable(),
  stream: z.string().nullable(),
  revision: z.number().nullable(),
  message: z.string().min(1),
});

const verdict = z.strictObject({
  verified: z.boolean(),
  fault: fault.nullable(),
  tenant_id: z.string().nullable(),
  events: z.number(),
  streams: z.number(),
  head: z.strictObject({ position: z.string(), signed_at: z.string() }).nullable(),
  not_covered: z.number(),
});
export type Verdict = z.output<typeof verdict>;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (command: string, args: readonly string[]): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });

const root = join(import.meta.dirname, '../..');

export const verify = (...args: readonly string[]): Promise<Ran> =>
  run(process.execPath, [join(root, 'api/admin/verify.ts'), ...args]);

const FIND = 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")';
let found: string | undefined;
/**
 * Path of the Python interpreter; empty without Python 3.9 or later. It is resolved once, since `python3` may be a
 * script that searches for the interpreter at each start.
 */
const interpreter = (): string => {
  found ??= String(spawnSync('python3', ['-c', FIND]).stdout ?? '').trim();
  return found;
};

/** Whether the Python verifier can run here. */
export const hasPython = (): boolean => interpreter() !== '';

/**
 * Runs the verifier with options in this process, since a process for each of many attacks would take too long.
 * @param source the export, when it is not in a file
 */
export const verdictOfArgs = async (
  args: readonly string[],
  source?: AsyncIterable<Buffer>,
): Promise<Verdict> => {
  const optionOf = (name: string): string | undefined => {
    const at = args.indexOf(`--${name}`);
    return at < 0 ? undefined : args[at + 1];
  };
  const options = {
    export: optionOf('export') ?? '',
    proof: optionOf('proof'),
    heads: optionOf('heads'),
    'public-key': optionOf('public-key'),
    'not-before': optionOf('not-before'),
    strict: args.includes('--strict'),
  };
  return verdict.parse(await verifyExport(options, source));
};

export const verdictOf = ({ code, stdout, stderr }: Ran): Verdict => {
  if (code === 2) throw new Error(`it could not be checked: ${stderr}`);
  const found = verdict.parse(JSON.parse(stdout));
  if ((code === 0) !== found.verified) throw new Error(`ended with ${code}: ${stdout}`);
  return found;
};

export const verdictOfNode = async (...args: readonly string[]): Promise<Verdict> =>
  verdictOf(await verify(...args, '--json'));

export const runPython = (...args: readonly string[]): Promise<Ran> =>
  run(interpreter(), [join(root, 'docs/verify.py'), ...args]);

export const verdictOfPython = async (...args: readonly string[]): Promise<Verdict> =>
  verdictOf(await runPython(...args));

/** One process for many runs, since starting Python takes longer than checking a short export. */
const MANY = `
import contextlib, io, json, runpy, sys
main = runpy.run_path(sys.argv[1])["main"]
for line in sys.stdin:
    sys.argv[1:] = json.loads(line)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main()
    print(json.dumps({"code": code, "stdout": out.getvalue(), "stderr": err.getvalue()}))
`;

const ran = z.strictObject({ code: z.number(), stdout: z.string(), stderr: z.string() });

/** The exit code and output of each run, as by {@link runPython}. */
export const runPythonOften = (runs: readonly (readonly string[])[]): Ran[] => {
  const input = runs.map((args) => `${JSON.stringify(args)}\n`).join('');
  const { status, stdout, stderr } = spawnSync(interpreter(), ['-c', MANY, join(root, 'docs/verify.py')], {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`the verifier ended with ${status}: ${stderr}`);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => ran.parse(JSON.parse(line)));
};

/** The verdict without its message. */
export const withoutMessage = ({ fault: found, ...rest }: Verdict) => ({
  ...rest,
  fault: found === null ? null : { ...found, message: '' },
});
