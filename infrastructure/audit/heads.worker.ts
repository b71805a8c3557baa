import { parentPort, workerData } from 'node:worker_threads';
import { openLogHeads } from './log-heads.ts';

/** Takes over heads whenever it is told to, for a moment: whoever asks may have to stop, and asks again. */
const port = parentPort;
if (port === null) throw new Error('this is the beginning of a thread');
// Written by `HeadThread` in the same release: no boundary lies between.
const { path, log } = workerData as { readonly path: string; readonly log: string };
const heads = openLogHeads(path, log);

const MOMENT_MS = 50;

port.on('message', () => {
  const began = performance.now();
  for (;;) {
    const { position, isEnd } = heads.step();
    if (!isEnd && performance.now() - began < MOMENT_MS) continue;
    port.postMessage(position);
    return;
  }
});
