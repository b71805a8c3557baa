import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { codePoints, isStorableText } from '../../domain/core/text.ts';
import { Refusal, say } from './command.ts';

const VARIABLE = 'PLATFORM_ADMIN_PASSWORD';

/**
 * A new password: from the environment, unless that names another admin; else the first line of standard input, which a
 * terminal does not echo. Never from an argument, which other users of the machine could read.
 * @throws {Refusal}
 */
export const newPassword = async (email: string): Promise<string> => {
  const { [VARIABLE]: given = '', PLATFORM_ADMIN_EMAIL: owner = '' } = process.env;
  const isTheirs = owner === '' || owner.toLowerCase() === email.toLowerCase();
  const fromEnvironment = given !== '' && isTheirs;
  if (fromEnvironment) say(`The password is taken from ${VARIABLE}.`);
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
    if (terminal) say('');
  }
};
