import { relative } from 'node:path';
import { demandShortTicks, noteTicks, ticksIn } from './tick-check.ts';

/**
 * Searches the output of test servers for credentials when they end; one credential fails the run. Finds by form: JWTs,
 * API tokens, webhook secrets, tokens of public links, and texts after `Bearer`. Finds by value: secrets that the test
 * client sent or received, and keys and passwords of the servers' environment.
 */

export interface Piece {
  /** The test that ran when the text was written. */
  readonly test: string;
  readonly text: string;
}

export interface Leak {
  readonly test: string;
  /** The kind of credential. */
  readonly what: string;
  /** The line without the credential. */
  readonly line: string;
}

/** All leaks of the run; the hooks at the end of this file check it. */
const found: Leak[] = [];
const secrets = new Set<string>();

const FORMS: readonly (readonly [string, RegExp])[] = [
  ['a JWT', /eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g],
  // Lists show the prefix of eight characters; the rest is secret.
  ['an API token', /svc_pat_[0-9A-Za-z]{12,}/g],
  ['a webhook secret', /whsec_[\w-]{12,}/g],
  ['the token of a public link', /\/public\/validate\/[\w%-]{16,}/g],
  ['a bearer', /\bbearer(?:\s|%20)+[\w.~+/=-]{12,}/gi],
];

/** Shorter secrets could be ordinary words of a line. */
const SHORTEST = 10;
const SECRET_KEYS = new Set(['password', 'token', 'secret', 'client_secret', 'assertion', 'api_key']);
const SECRET_VARIABLES = /SECRET|PASSWORD|TOKEN|_KEY/;

const isKnownByForm = (value: string): boolean => FORMS.some(([, form]) => value.search(form) === 0);

const learn = (value: string): void => {
  if (value.length >= SHORTEST && !isKnownByForm(value)) secrets.add(value);
};

/** Remembers the secrets in a body, by the names of their keys, at any depth. */
export const noteSecrets = (body: unknown): void => {
  if (typeof body !== 'object' || body === null) return;
  for (const [key, value] of Object.entries(body)) {
    if (typeof value === 'string') {
      if (SECRET_KEYS.has(key)) learn(value);
    } else noteSecrets(value);
  }
};

/** Remembers the keys and passwords of a server's environment. */
export const noteEnvironment = (env: Readonly<Record<string, string | undefined>>): void => {
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && SECRET_VARIABLES.test(name)) learn(value);
  }
};

/**
 * The only credentials that are printed on purpose: sign-ins of the demo, created in an empty development store and
 * shown once (decisions, section 12).
 */
const DEMO_SIGN_IN = /^ {2}(?:platform admin|demo admin|demo operator) {2,}\S+@\S+ +\S+$/gm;

const formsOf = (secret: string): ReadonlySet<string> =>
  new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);

/** Returns the credentials in a server's output. */
export const leaksIn = (pieces: readonly Piece[], known: Iterable<string> = secrets): Leak[] => {
  const text = pieces
    .map((piece) => piece.text)
    .join('')
    .replaceAll(DEMO_SIGN_IN, (line) => ' '.repeat(line.length));
  const leaks: Leak[] = [];
  const report = (what: string, at: number, credential: string): void => {
    const line = text.slice(text.lastIndexOf('\n', at) + 1).split('\n', 1)[0] ?? '';
    const shown = line.replaceAll(credential, `<${what}>`).slice(0, 300);
    leaks.push({ test: writerAt(pieces, at), what, line: shown });
  };
  for (const [what, form] of FORMS) {
    for (const match of text.matchAll(form)) report(what, match.index, match[0]);
  }
  for (const secret of known) {
    for (const form of formsOf(secret)) {
      const at = text.indexOf(form);
      if (at >= 0) report('a secret of the tests', at, form);
    }
  }
  return leaks;
};

const writerAt = (pieces: readonly Piece[], at: number): string => {
  let end = 0;
  for (const { test, text } of pieces) {
    end += text.length;
    if (at < end) return test;
  }
  return 'nobody';
};

let running: { file: string; title: string } | undefined;

const nameOf = (file: string): string => relative(process.cwd(), file);

/** The test file in the present call stack. */
const callingFile = (): string =>
  /(?:file:\/\/)?(\/[^\s()]+\.test\.ts)/.exec(new Error().stack ?? '')?.[1] ?? '';

const watched = new Set<Piece[]>();

/** Collects one server's output, and searches it when the server ends, at the latest at the end of the run. */
export const watchOutput = (server: 'of one file' | 'shared') => {
  const pieces: Piece[] = [];
  const startedBy = server === 'shared' ? '' : callingFile();
  watched.add(pieces);
  return {
    wrote: (text: string): void => {
      const isOurs = running !== undefined && (startedBy === '' || running.file === startedBy);
      const test = isOurs
        ? `${nameOf(running?.file ?? '')} › ${running?.title}`
        : `a hook of ${nameOf(startedBy)}`;
      pieces.push({ test, text });
    },
    text: (): string => pieces.map(({ text }) => text).join(''),
    ended: (): void => {
      watched.delete(pieces);
      check(pieces);
    },
  };
};

const check = (pieces: readonly Piece[]): void => {
  found.push(...leaksIn(pieces));
  noteTicks(ticksIn(pieces.map(({ text }) => text).join(''), (at) => writerAt(pieces, at)));
};

/** Searches the servers that still run, and fails with all leaks. */
const demandNoLeaks = (): void => {
  for (const pieces of watched) check(pieces);
  if (found.length === 0) return;
  const list = found.map(({ test, what, line }) => `  ${what} in a log of ${test}:\n    ${line}`);
  throw new Error(`Servers of the tests wrote credentials:\n${[...new Set(list)].join('\n')}`);
};

// Hooks for the whole run; benchmarks use these servers without mocha.
if (typeof beforeEach === 'function') {
  beforeEach(function () {
    const test = this.currentTest;
    running = { file: test?.file ?? '', title: test?.fullTitle() ?? '' };
  });
  after('no server has written a credential', demandNoLeaks);
  after('no server has stood still', demandShortTicks);
}
