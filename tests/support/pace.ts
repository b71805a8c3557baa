import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How fast this machine is at the moment, for tests that promise a time: a slow or busy machine gets more time. */

/** Time (ms) of {@link bareStart} on a quiet machine. */
const QUIET_MS = 25;

/** Time (ms) from the start of a process that does nothing to its end. */
export const bareStart = async (): Promise<number> => {
  const began = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - began;
};

/** Scales a time (ms) of a quiet machine to the present pace. Called after the timed work, whose pace it measures. */
export const atPresentPace = async (ms: number): Promise<number> =>
  ms * Math.max(1, (await bareStart()) / QUIET_MS);
