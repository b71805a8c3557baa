import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BREAKS } from './breaks.ts';

/**
 * `npm run simulate:breaks`: applies each deliberate defect to a copy of the sources and runs seeds until one fails.
 * Ends with 1 when a defect is not found. `-- --only <words>` picks, `--seeds 200` is the most that are tried.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seeds: { type: 'string', default: '200' },
    requests: { type: 'string', default: '100' },
  },
});

const root = resolve(import.meta.dirname, '../../..');
const SOURCES = [
  'domain',
  'application',
  'projections',
  'infrastructure',
  'api',
  'tests/simulation',
  'tests/support',
  'package.json',
  'LICENSE',
];

let missed = 0;
for (const { name, file, changes } of BREAKS.filter((each) => each.name.includes(values.only))) {
  const copy = mkdtempSync(join(tmpdir(), 'broken-'));
  try {
    for (const part of SOURCES) cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    let text = readFileSync(join(copy, file), 'utf8');
    for (const [from, to] of changes) {
      if (!text.includes(from)) throw new Error(`${name}: ${file} does not hold ${from}`);
      text = text.replace(from, () => to);
    }
    writeFileSync(join(copy, file), text);
    const args = [
      'tests/simulation/main.ts',
      '--seeds',
      values.seeds,
      '--requests',
      values.requests,
      '--first',
    ];
    try {
      execFileSync(process.execPath, args, { cwd: copy, stdio: 'pipe', encoding: 'utf8' });
      missed += 1;
      console.log(`NOT FOUND in ${values.seeds} seeds: ${name}`);
    } catch (error) {
      const said: unknown = error instanceof Error ? Reflect.get(error, 'stdout') : undefined;
      const lines = String(said)
        .split('\n')
        .filter((line) => line !== '');
      console.log(`found: ${name}\n    ${lines.slice(0, 2).join(' ').slice(0, 240)}`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
process.exit(missed === 0 ? 0 : 1);
