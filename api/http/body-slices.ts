import type { IncomingMessage } from 'node:http';
import type { Slice } from '../../application/core/concurrency/time-slices.ts';
import { clearTimeout, setTimeout } from '../../application/core/runtime/timers.ts';

/** Bytes of a body read per slice; Node by itself reads up to 2 MiB of each connection in one tick. */
const READ = 256 * 1024;
/** Minimum bytes counted for a chunk, since each takes time. */
const LEAST = 256;
/** Chunks of a body after which their average size is checked: each takes hundreds of bytes of memory. */
const CHECKED_CHUNKS = 4096;
/** Least bytes of a chunk on average. */
const LEAST_AVERAGE = 8;
/** Time (ms) in which the rest of a refused request is discarded, so that the client reads the answer. */
const LINGER_MS = 10_000;

/** Returns a function that takes each chunk of a body and tells whether there are too many small ones so far. */
export const chunkCheck = (): ((chunk: Buffer) => boolean) => {
  let [chunks, bytes] = [0, 0];
  return ({ length }) => {
    chunks += 1;
    bytes += length;
    return chunks >= CHECKED_CHUNKS && bytes < chunks * LEAST_AVERAGE;
  };
};

/** Reads a body, 256 KiB or 1024 chunks per slice. */
export const readInSlices = (request: IncomingMessage, slice: Slice, take: (chunk: Buffer) => void): void => {
  let read = 0;
  request.on('data', (chunk: Buffer) => {
    take(chunk);
    if (request.destroyed) return;
    read += Math.max(chunk.length, LEAST);
    if (read < READ) return;
    read = 0;
    request.pause();
    void slice.next().then(() => request.resume());
  });
};

/**
 * After a refusal, discards the rest of the body. Closes the connection if the body does not end in 10 s, or has too
 * many small chunks.
 */
export const dropRest = (request: IncomingMessage, slice: () => Slice): void => {
  const { headers, complete, destroyed } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (complete || destroyed || !hasBody) return;
  request.removeAllListeners('data');
  const isTooFine = chunkCheck();
  readInSlices(request, slice(), (chunk) => {
    // Paused, since the chunks that wait would still be emitted.
    if (isTooFine(chunk)) request.pause().destroy();
  });
  request.resume();
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
};
