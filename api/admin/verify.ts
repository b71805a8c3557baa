import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Verdict } from '../../application/audit/verify/fault.ts';
import { Misuse, type VerifyOptions, verifyExport } from './verify-export.ts';

/**
 * `npm run verify`, and the packed `verify.mjs`: checks an export of a tenant's events without a server
 * (docs/audit.md). Exit codes: 0 for a valid export, 1 for faulty data, 2 when the check was impossible.
 */

const HELP = `npm run -s verify -- --export events.ndjson [options]
or packed:  node verify.mjs --export events.ndjson [options]

  --export FILE        lines of GET /audit/events; - reads standard input
  --proof FILE         answer of GET /audit/proof; as NDJSON (Accept: application/x-ndjson) it also tells which stream differs
  --heads FILE         heads that AUDIT_HEADS received: each is checked, and the proof must not be older
  --public-key KEY     base64, or a file in PEM; needed with --proof and --heads
  --not-before INSTANT fails if the newest head was signed before this time
  --strict             fails if an event comes after the newest head
  --json               prints the verdict as one line of JSON`;

const optionsOf = (args: readonly string[]): (VerifyOptions & { json: boolean }) | undefined => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        export: { type: 'string' },
        proof: { type: 'string' },
        heads: { type: 'string' },
        'public-key': { type: 'string' },
        'not-before': { type: 'string' },
        strict: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return undefined;
    if (values.export !== undefined) return { ...values, export: values.export };
  } catch {
    throw new Misuse('The arguments are not valid; --help shows the options.');
  }
  throw new Misuse('--export is needed; --help shows the options.');
};

const sentences = ({ fault, events, streams, tenant_id, head, not_covered }: Verdict): string => {
  if (fault !== null) {
    const line = fault.line === null ? '' : ` (line ${fault.line})`;
    return `NOT VERIFIED: ${fault.kind}${line}: ${fault.message}`;
  }
  const chains = `VERIFIED: ${events} events in ${streams} streams of ${tenant_id ?? 'no tenant'} are unchanged.`;
  if (head === null) {
    return `${chains}\nWithout a signed head it is not proven that no stream was shortened or removed.`;
  }
  const whole = `They are complete up to position ${head.position}, by the head signed at ${head.signed_at}.`;
  const later = `${not_covered} events after that position are not covered by the head.`;
  return [chains, whole, ...(not_covered > 0 ? [later] : [])].join('\n');
};

const main = async (args: readonly string[]): Promise<number> => {
  const options = optionsOf(args);
  if (options === undefined) {
    await written(HELP);
    return 0;
  }
  const verdict = await verifyExport(options);
  await written(options.json ? JSON.stringify(verdict) : sentences(verdict));
  return verdict.verified ? 0 : 1;
};

/** Rejects if the text cannot be written (full disk, closed pipe), so that the exit code is 2. */
const written = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.once('error', reject);
    process.stdout.write(`${text}\n`, (error) => (error ? reject(error) : resolve()));
  });

const fail = (error: unknown): never => {
  const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  try {
    writeSync(process.stderr.fd, `${sentence}\n`);
  } catch {
    // The pipe is closed; the exit code still tells that the check was impossible.
  }
  process.exit(2);
};

// Without this handler Node would exit with 1, which means faulty data.
process.on('uncaughtException', fail);
main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
}, fail);
