import { type DestinationStream, type Logger as Pino, pino, stdTimeFunctions } from 'pino';

/**
 * Fields redacted from log lines: at the top level, one level down, and in `headers` one level down. A safety net,
 * since no code should log them.
 */
const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  'cookie',
  'Cookie',
  'password',
  'token',
  'secret',
  'assertion',
  'api_key',
  'client_secret',
];

const REDACTED = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.headers.${field}`]);

/**
 * Logs JSON lines, or readable ones on a terminal.
 * @param level a pino level
 * @param destination default: standard output
 */
export const createLogger = (level: string, destination?: DestinationStream): Pino => {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
  };
  if (destination !== undefined) return pino(options, destination);
  if (!process.stdout.isTTY) return pino(options);
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { translateTime: 'HH:MM:ss.l' } },
  });
};
