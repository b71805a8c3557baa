import { parseArgs } from 'node:util';
import { BREAKS } from './breaks.ts';
import { found } from './try.ts';

/**
 * `npm run simulate:breaks`: runs seeds with each deliberate defect until one fails. Ends with 1 when a defect is not
 * found. `-- --only <words>` selects defects by their name, `--seeds 200` is the greatest number of seeds to try, and
 * `--requests 60` the number of requests of each run.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seeds: { type: 'string', default: '200' },
    requests: { type: 'string' },
  },
});

let missed = 0;
for (const each of BREAKS.filter(({ name }) => name.includes(values.only))) {
  const size = values.requests === undefined ? {} : { requests: Number(values.requests) };
  const said = await found({ ...each, ...size }, Number(values.seeds));
  if (said === undefined) missed += 1;
  console.log(
    said === undefined
      ? `NOT FOUND in ${values.seeds} seeds: ${each.name}`
      : `found: ${each.name}\n  ${said}`,
  );
}
process.exit(missed === 0 ? 0 : 1);
