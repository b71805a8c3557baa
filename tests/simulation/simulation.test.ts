import { availableParallelism } from 'node:os';
import { setImmediate as realTick } from 'node:timers/promises';
import { expect } from 'chai';
import { nodeTimers, type Timers, useTimers } from '../../application/core/runtime/timers.ts';
import { inProcesses } from './processes.ts';
import { type RunResult, replayOf, run } from './run.ts';

/** Seeds that once failed, with the size of their run: they come first. */
const ONCE_FAILED: readonly (readonly [seed: number, requests: number])[] = [
  // A growth of the log whose events were not passed on was missed by a follower.
  [1001, 150],
  [1013, 20],
  // The password of a session changed on a node whose clock was behind.
  [32, 300],
  // The checkpoint of a subscriber was lost, and no event followed.
  [13, 60],
  // The checkpoint of a read model was not stored, and no event followed.
  [40595, 20],
  // A question that was recorded at its first try was refused at its repeat.
  [11335, 10],
  [12223, 10],
  // Issuing an invoice took longer than the time without appends after which the log counts as quiet.
  [14161, 10],
  // A write of a reference landed late, after its target was deleted.
  [15253, 10],
  // A report added up half a batch, as it may on a store without transactions.
  [9550, 10],
  [21081, 10],
  // A node had not received the last events when the run was checked.
  [9501, 10],
  // A change of password that had landed without an answer was refused at its repeat.
  [16898, 10],
];
/** The same number on every machine; `npm run simulate -- --seeds 1000` tries more. */
const SEEDS = 500;
/** Ends only runs that stand still. */
const TIMEOUT_MS = 1_200_000;

const faultsOf = (result: RunResult): string =>
  result.faults.map(({ oracle, text }) => `${replayOf(result)}\n  ${oracle}: ${text}\n`).join('');

describe('The simulated system', () => {
  it('keeps its promises under the faults of seeds that once failed', async () => {
    for (const [seed, requests] of ONCE_FAILED) expect(faultsOf(await run({ seed, requests }))).to.equal('');
  }).timeout(TIMEOUT_MS);

  it('keeps its promises under the faults of each seed', async () => {
    const results: RunResult[] = [];
    const deadline = performance.now() + TIMEOUT_MS;
    const play = { first: 1, count: SEEDS, requests: 10, jobs: availableParallelism(), deadline };
    await inProcesses(play, (result) => results.push(result) > 0);
    expect(results.map(faultsOf).join('')).to.equal('');
    expect(results).to.have.length(SEEDS);
    for (const { requests, asked } of results) expect(requests).to.be.greaterThan(asked);
  }).timeout(TIMEOUT_MS);

  it('plays the same run again for the same seed, whatever ran before', async () => {
    const first = await run({ seed: 21, requests: 40 });
    await run({ seed: 22, requests: 20 });
    const second = await run({ seed: 21, requests: 40 });
    expect(second.trace).to.deep.equal(first.trace);
  }).timeout(TIMEOUT_MS);

  it('leaves no work that continues in the next run', async () => {
    await run({ seed: 43510, requests: 20 });
    const calls: (keyof Timers)[] = [];
    const noted: Timers = {
      ...nodeTimers,
      monotonic: () => {
        calls.push('monotonic');
        return nodeTimers.monotonic();
      },
      clearTimeout: (timer) => {
        calls.push('clearTimeout');
        nodeTimers.clearTimeout(timer);
      },
    };
    const restore = useTimers(noted);
    for (let ticks = 0; ticks < 20; ticks += 1) await realTick();
    restore();
    expect(calls).to.deep.equal([]);
  }).timeout(TIMEOUT_MS);
});
