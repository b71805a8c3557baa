import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How fast this machine is at the moment, for tests that promise a time: a slow or busy one gets more. */

/** A start of Node that does nothing, on a quiet machine. */
const QUIET_MS = 25;

/** Time (ms) from the start of a process that does nothing to its end. */
export const bareStart = async (): Promise<number> => {
  const began = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - began;
};

/** A time (ms) that holds on a quiet machine, as long as it takes at the present pace. Measured after what was timed. */
export const atPresentPace = async (ms: number): Promise<number> =>
  ms * Math.max(1, (await bareStart()) / QUIET_MS);
