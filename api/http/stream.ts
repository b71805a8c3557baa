import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';

/**
 * A body produced in chunks. A chunk is requested once the socket has taken the chunk before, so that buffers can be
 * reused.
 */
export class ChunkedBody {
  readonly source: AsyncGenerator<Uint8Array, void, void>;
  /** Aborted to end the source; the body is then truncated. */
  readonly stopping: AbortSignal;

  constructor(source: AsyncGenerator<Uint8Array, void, void>, stopping: AbortSignal) {
    this.source = source;
    this.stopping = stopping;
  }
}

export type Streamed = Readable | ChunkedBody;

export const isStreamed = (body: unknown): body is Streamed =>
  body instanceof Readable || body instanceof ChunkedBody;

/** Ends the source of a body that will not be sent. */
export const endSource = (body: Streamed): void => {
  if (body instanceof Readable) body.destroy();
  // A source that has not started ends without side effects.
  else void body.source.return().catch(() => undefined);
};

/**
 * Streams a body at the reader's speed. A source that fails midway closes the connection, so that the reader notices
 * the truncation; a closed connection ends the source. `PendingAnswers` closes the connection of a stalled reader.
 */
export const sendStream = (response: ServerResponse, body: Streamed): void => {
  // After a disconnection no later event would end the source.
  if (response.destroyed || response.req.socket.destroyed) {
    endSource(body);
    return;
  }
  if (body instanceof ChunkedBody && body.stopping.aborted) {
    endSource(body);
    response.destroy();
    return;
  }
  if (body instanceof Readable) pipeline(body, response, () => undefined);
  else void sendChunks(response, body);
};

const sendChunks = async (response: ServerResponse, { source, stopping }: ChunkedBody): Promise<void> => {
  const breakOff = (): void => void response.destroy();
  stopping.addEventListener('abort', breakOff);
  try {
    for await (const chunk of source) if (!(await isTaken(response, chunk))) return;
    response.end();
  } catch {
    breakOff();
  } finally {
    stopping.removeEventListener('abort', breakOff);
  }
};

/** False when the reader has disconnected. */
const isTaken = (response: ServerResponse, chunk: Uint8Array): Promise<boolean> =>
  new Promise((resolve) => {
    const gone = (): void => resolve(false);
    response.once('close', gone);
    response.write(chunk, (error) => {
      response.off('close', gone);
      resolve(!error);
    });
  });
