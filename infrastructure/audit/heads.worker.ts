import { parentPort, workerData } from 'node:worker_threads';
import { openLogHeads } from './log-heads.ts';

/** Copies heads for a short time per message, so that the caller can stop between messages. */
const port = parentPort;
if (port === null) throw new Error('this is the beginning of a thread');
// `HeadThread` wrote it in the same release, so it is not validated.
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
