import { parseArgs } from 'node:util';
import { type RunResult, run } from './run.ts';

/**
 * `npm run simulate -- --seed 42`, `--seeds 1000` or `--minutes 10`; `--from 1` is the first seed, `--requests 300` their
 * size, `--first` ends at the first failure. A single failing seed is run again with fewer requests, and its trace printed;
 * `--trace` prints it in any case.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    requests: { type: 'string', default: '300' },
    trace: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
  },
});

const SHOWN = 10;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const describe = ({ seed, requests, steps, seconds, faults }: RunResult): void => {
  print(`seed ${seed}: ${requests} requests, ${steps} steps, ${Math.round(seconds)} s of virtual time`);
  if (faults.length > 0) print(`seed ${seed} fails:`);
  for (const { oracle, text } of faults.slice(0, SHOWN)) print(`  ${oracle}: ${text}`);
};

/** The run with the fewest requests, of 10, 20, 40 and so on, that still fails. */
const shortened = async (failed: RunResult, most: number): Promise<RunResult> => {
  for (let requests = 10; requests < most; requests *= 2) {
    const result = await run({ seed: failed.seed, requests });
    if (result.faults.length > 0) return result;
  }
  return failed;
};

const most = Number(values.requests);
const began = performance.now();
const deadline = began + Number(values.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
const first = Number(values.seed ?? values.from);
const count = Number(
  values.seed === undefined ? (values.seeds ?? (values.minutes === undefined ? 1 : 2 ** 31)) : 1,
);
let [requests, failed, done] = [0, 0, 0];
for (let seed = first; seed < first + count && performance.now() < deadline; seed += 1) {
  const result = await run({ seed, requests: most });
  requests += result.requests;
  done += 1;
  const hasFailed = result.faults.length > 0;
  if (hasFailed) failed += 1;
  const shown = count === 1 && hasFailed ? await shortened(result, most) : result;
  if (values.trace || (count === 1 && hasFailed)) print(shown.trace.join('\n'));
  if (count === 1 || hasFailed) describe(shown);
  if (values.first && hasFailed) break;
}
const seconds = (performance.now() - began) / 1_000;
const rate = Math.round((requests / seconds) * 60);
print(
  `${done} seeds, ${failed} failed, ${requests} requests, ${seconds.toFixed(1)} s, ${rate} requests a minute`,
);
process.exit(failed === 0 ? 0 : 1);
