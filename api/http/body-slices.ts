import type { IncomingMessage } from 'node:http';
import type { Slice } from '../../application/core/concurrency/time-slices.ts';
import { clearTimeout, setTimeout } from '../../application/core/runtime/timers.ts';

/** Bytes of a body read per slice; Node by itself reads up to 2 MiB of each connection in one tick. */
const READ = 256 * 1024;
/** Minimum bytes counted for a chunk, since each takes time. */
const LEAST = 256;
/** Chunks after which their average size is checked: each takes hundreds of bytes, and Node buffers 64 KiB of them. */
const CHECKED_CHUNKS = 4096;
const LEAST_AVERAGE = 8;
/** Time (ms) in which the rest of a refused request is discarded, so that the client reads the answer. */
const LINGER_MS = 10_000;

/** Reads a body, 256 KiB or 1024 chunks per slice; closes the connection if the chunks are far too small. */
export const readInSlices = (request: IncomingMessage, slice: Slice, take: (chunk: Buffer) => void): void => {
  let read = 0;
  let chunks = 0;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    take(chunk);
    chunks += 1;
    bytes += chunk.length;
    if (chunks >= CHECKED_CHUNKS && bytes < chunks * LEAST_AVERAGE) {
      // Paused, since the chunks that wait would still be emitted.
      request.pause().destroy();
      return;
    }
    read += Math.max(chunk.length, LEAST);
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
