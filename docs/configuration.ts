import { type Variable, variables } from '../infrastructure/config/listing.ts';

const defaultOf = ({ fallback, unset }: Variable): string => {
  if (fallback !== undefined) return `\`${fallback}\``;
  return unset ?? 'unset';
};

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** `docs/configuration.md`. */
export const configurationGuide = (): string =>
  [
    '# Configuration',
    '',
    'Make a complete set of secrets, check the configuration, and start:',
    '',
    '```sh',
    '# Once: with a second set, the sealed texts of the first cannot be read. Prints the public key for auditors.',
    '[ -e .env ] || (umask 077; cp .env.example .env; npm run -s admin -- secrets >> .env)',
    '',
    '# Uncomment and set in it what differs, then:',
    'set -a; . ./.env; set +a                   # or the EnvironmentFile of systemd, or env_file of compose',
    'npm run -s admin -- config                 # what is in force, secrets masked; exit code 1: a server would not start',
    'npm start',
    '```',
    '',
    'Variables are read once from the environment, and an empty one counts as unset. Variables that are missing or wrong stop the start with',
    'one sentence each, all at once. A variable whose name is nearly that of one below, such as `RATE_LIMIT_PER_MINUT`, is a warning in the',
    'log. No message has a value.',
    '',
    'Generated from the schema (`npm run docs`).',
    '',
    '| variable | default | unit | meaning |',
    '|---|---|---|---|',
    ...variables().map((variable) => {
      const { name, unit = '', meaning } = variable;
      return `| \`${name}\` | ${cell(defaultOf(variable))} | ${unit} | ${cell(meaning)} |`;
    }),
    '',
  ].join('\n');

const plain = (text: string): string => text.replaceAll('`', '');

/** `.env.example`. */
export const exampleEnvironment = (): string =>
  [
    '# Every variable of the server, with its default (docs/configuration.md). Generated: npm run docs.',
    '# Secrets for production: npm run -s admin -- secrets >> .env',
    '',
    ...variables().flatMap((variable) => {
      const { name, fallback, unit, unset = 'unset', meaning } = variable;
      const notes = [unit, ...(fallback === undefined ? [`default: ${unset}`] : [])].filter(Boolean);
      const note = notes.length === 0 ? '' : ` (${plain(notes.join('; '))})`;
      return [`# ${plain(meaning)}${note}`, `#${name}=${fallback ?? ''}`, ''];
    }),
  ].join('\n');
