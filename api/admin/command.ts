import { parseArgs } from 'node:util';
import { z } from 'zod';
import { type Config, type RequiredSecret, readConfig } from '../../infrastructure/config.ts';

/** One command of `npm run admin`. */
export interface AdminCommand {
  readonly name: string;
  /** The command's options, as the help prints them. */
  readonly usage: string;
  readonly summary: string;
  /** @throws {Refusal} */
  readonly run: (args: readonly string[]) => Promise<void>;
}

/** Thrown to end a command: the message of this error is printed, without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly exitCode: number;

  /** @param exitCode 1: the command failed; 2: its arguments are invalid */
  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Writes to standard error; standard output holds only a command's result. */
export const printNote = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

export const printResult = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/**
 * The options of a command: a boolean of the schema is a flag, any other field takes a text. Errors do not repeat the
 * arguments, which may hold a secret.
 */
export const optionsOf = <S extends z.ZodObject>(args: readonly string[], schema: S): z.output<S> => {
  const options = Object.fromEntries(
    Object.entries(schema.shape).map(([name, field]) => [
      name,
      field instanceof z.ZodBoolean ? FLAG : ({ type: 'string' } as const),
    ]),
  );
  let values: unknown;
  try {
    values = parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch {
    throw new Refusal('The arguments are not valid; --help shows the options.', 2);
  }
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Refusal(`--${String(issue?.path[0])} is missing or not valid; --help shows the options.`, 2);
};

const FLAG = { type: 'boolean', default: false } as const;

export const emailOption = z.email().max(320);

/**
 * The configuration; in production it must have the secrets in `uses`. Leaves out `PLATFORM_ADMIN_EMAIL` and
 * `PLATFORM_ADMIN_PASSWORD`: a command may be started with only one of them, which `readConfig` refuses.
 */
export const adminConfig = (...uses: readonly RequiredSecret[]): Config =>
  readConfig({ ...process.env, PLATFORM_ADMIN_EMAIL: undefined, PLATFORM_ADMIN_PASSWORD: undefined }, uses);
