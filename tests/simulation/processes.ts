import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import type { RunResult } from './run.ts';

export interface Seeds {
  readonly first: number;
  readonly count: number;
  /** Size of each run. */
  readonly requests: number;
  /** Processes at a time. */
  readonly jobs: number;
  /** No run begins after this time (ms since the start of this process). */
  readonly deadline: number;
}

/** Number of runs after which a process ends, so that memory that runs leave behind does not add up. */
const RUNS = 250;

const ran = z.object({
  seed: z.number(),
  requests: z.number(),
  calls: z.number(),
  asked: z.number(),
  steps: z.number(),
  seconds: z.number(),
  faults: z.array(z.object({ oracle: z.string(), text: z.string() })),
});

/**
 * Runs seeds in several processes, each seed once.
 * @param onResult called after each run, without its trace; false ends all
 */
export const inProcesses = async (
  { first, count, requests, jobs, deadline }: Seeds,
  onResult: (result: RunResult) => boolean,
): Promise<void> => {
  let next = first;
  let isOver = false;
  const isLeft = (): boolean => !isOver && next < first + count && performance.now() < deadline;
  const children = new Set<ChildProcess>();

  const oneProcess = async (): Promise<void> => {
    const child = fork(new URL('./runner.ts', import.meta.url), { stdio: 'inherit' });
    children.add(child);
    let [runs, running] = [0, -1];
    const send = (): void => {
      if (!isLeft() || runs >= RUNS) {
        running = -1;
        if (child.connected) child.disconnect();
        return;
      }
      runs += 1;
      running = next;
      next += 1;
      child.send({ seed: running, requests });
    };
    child.on('message', (message: unknown) => {
      if (!onResult({ ...ran.parse(message), trace: [] })) {
        isOver = true;
        for (const each of children) each.kill();
        return;
      }
      send();
    });
    send();
    await once(child, 'exit');
    children.delete(child);
    if (running >= 0 && !isOver) {
      const text = `the process ended with ${child.exitCode ?? child.signalCode}`;
      const faults = [{ oracle: 'the process lives', text }];
      isOver = !onResult({
        seed: running,
        requests: 0,
        calls: 0,
        asked: requests,
        steps: 0,
        seconds: 0,
        faults,
        trace: [],
      });
    }
  };
  const lane = async (): Promise<void> => {
    while (isLeft()) await oneProcess();
  };
  await Promise.all(Array.from({ length: jobs }, lane));
};
