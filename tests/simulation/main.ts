import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { inProcesses } from './processes.ts';
import { type RunResult, replayOf, run } from './run.ts';

/**
 * `npm run simulate -- --seed 42`, `--seeds 1000` or `--minutes 10`. `--from 1` is the first seed, `--requests 300` the
 * number of requests of each run, `--jobs 2` the number of processes (default: one for each core). `--first` ends at
 * the first failure. With `--seed`, a failing run is run again with fewer requests, and its trace is printed; `--trace`
 * prints the trace in any case.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    requests: { type: 'string', default: '300' },
    jobs: { type: 'string' },
    trace: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
  },
});

const SHOWN = 10;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const describe = (result: RunResult): void => {
  const { seed, requests, calls, steps, seconds, faults } = result;
  const size = `${requests} changes, ${calls} HTTP requests, ${steps} steps`;
  print(`seed ${seed}: ${size}, ${Math.round(seconds)} s of virtual time`);
  if (faults.length === 0) return;
  print(`seed ${seed} fails: ${replayOf(result)}`);
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

const one = async (seed: number): Promise<number> => {
  const began = performance.now();
  const result = await run({ seed, requests: most });
  print(`the run took ${Math.round(performance.now() - began)} ms`);
  const shown = result.faults.length > 0 ? await shortened(result, most) : result;
  if (values.trace || shown.faults.length > 0) print(shown.trace.join('\n'));
  describe(shown);
  return shown.faults.length === 0 ? 0 : 1;
};

const many = async (): Promise<number> => {
  const began = performance.now();
  const first = Number(values.from);
  const count = Number(values.seeds ?? 2 ** 31);
  const deadline = began + Number(values.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  let [requests, calls, failed, done] = [0, 0, 0, 0];
  const jobs = Number(values.jobs ?? availableParallelism());
  const onResult = (result: RunResult): boolean => {
    done += 1;
    requests += result.requests;
    calls += result.calls;
    if (result.faults.length > 0) {
      failed += 1;
      describe(result);
    }
    return !(values.first && failed > 0);
  };
  if (jobs > 1) await inProcesses({ first, count, requests: most, jobs, deadline }, onResult);
  for (let seed = first; jobs === 1 && seed < first + count && performance.now() < deadline; seed += 1) {
    if (!onResult(await run({ seed, requests: most }))) break;
  }
  const seconds = (performance.now() - began) / 1_000;
  const rate = (count: number): string => `${count}, ${Math.round((count / seconds) * 60)} a minute`;
  print(`${done} seeds, ${failed} failed, ${seconds.toFixed(1)} s`);
  print(`HTTP requests: ${rate(calls)}; of these change something, without repeats: ${rate(requests)}`);
  return failed === 0 ? 0 : 1;
};

const isOne = values.seed !== undefined || (values.seeds === undefined && values.minutes === undefined);
// Timers and handles of stopped nodes would keep the process alive for a while.
process.exit(isOne ? await one(Number(values.seed ?? values.from)) : await many());
