import type { IncomingMessage } from 'node:http';
import type { Slice } from '../../application/core/concurrency/time-slices.ts';
import { clearTimeout, setTimeout } from '../../application/core/runtime/timers.ts';

/** Bytes of a body read per slice; Node by itself reads up to 2 MiB of each connection in one tick. */
const READ = 256 * 1024;
/** Time (ms) in which the rest of a refused request is discarded, so that the client reads the answer. */
const LINGER_MS = 10_000;

/** Reads a body, 256 KiB per slice. */
export const readInSlices = (request: IncomingMessage, slice: Slice, take: (chunk: Buffer) => void): void => {
  let read = 0;
  request.on('data', (chunk: Buffer) => {
    take(chunk);
    read += chunk.length;
    if (read < READ) return;
    read = 0;
    request.pause();
    void slice.next().then(() => request.resume());
  });
};

/** After a refusal, discards the rest of the body; closes the connection if the body does not end in 10 s. */
export const dropRest = (request: IncomingMessage, slice: () => Slice): void => {
  const { headers, complete, destroyed } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (complete || destroyed || !hasBody) return;
  request.removeAllListeners('data');
  readInSlices(request, slice(), () => undefined);
  request.resume();
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
};
