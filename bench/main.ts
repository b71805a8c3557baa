import { parseArgs } from 'node:util';
import { figures } from './figures.ts';
import { jsonLine, type Line, table } from './report.ts';

/**
 * `npm run bench`: prints each figure with its yardstick of the same run, as a table and a line of JSON.
 *
 *   --scale 0.01   a hundredth of the sizes; targets are printed, not checked
 *   --only name    one figure (several: repeat it)
 *   --check        exit 1 when a target is missed
 */
const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [] },
    check: { type: 'boolean', default: false },
  },
});

const scale = Number(values.scale);
if (!(scale > 0 && scale <= 10)) throw new Error('--scale must be a number above 0 and at most 10');
const names = figures.map(({ name }) => name);
for (const name of values.only) {
  if (!names.includes(name)) throw new Error(`--only must be one of ${names.join(', ')}`);
}

const lines: Line[] = [];
for (const { name, run } of figures) {
  if (values.only.length > 0 && !values.only.includes(name)) continue;
  const began = performance.now();
  process.stderr.write(`${name} … `);
  lines.push(...(await run(scale)));
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(1)} s\n`);
}
const checked = scale >= 1;
process.stdout.write(`\n${table(lines, checked)}\n\n${jsonLine(lines, scale)}\n`);
const missed = checked && lines.some(({ target }) => target !== undefined && !target.met);
process.exitCode = values.check && missed ? 1 : 0;
