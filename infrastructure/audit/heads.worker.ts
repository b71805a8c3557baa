import { parentPort, workerData } from 'node:worker_threads';
import { openLogHeads } from './log-heads.ts';

/** Takes over the heads up to the end of the log whenever it is told to. */
const port = parentPort;
if (port === null) throw new Error('this is the beginning of a thread');
// Written by `HeadThread` in the same release: no boundary lies between.
const { path, log } = workerData as { readonly path: string; readonly log: string };
const heads = openLogHeads(path, log);

port.on('message', () => {
  for (;;) {
    const { position, isEnd } = heads.step();
    if (!isEnd) continue;
    port.postMessage(position);
    return;
  }
});
