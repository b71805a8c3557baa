import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';

/** A reader that takes nothing for so long is not waited for any more: it would hold what is read open for ever. */
const STALLED_MS = 60_000;

/**
 * A body that is made piece by piece. The next piece is asked for when the system has taken the one before, so that what
 * that was in can be used again.
 */
export class Pieces {
  readonly source: AsyncGenerator<Uint8Array, void, void>;
  /** Aborted when the source is not to be gone on with: the body is broken off. */
  readonly stopping: AbortSignal;

  constructor(source: AsyncGenerator<Uint8Array, void, void>, stopping: AbortSignal) {
    this.source = source;
    this.stopping = stopping;
  }
}

export type Streamed = Readable | Pieces;

export const isStreamed = (body: unknown): body is Streamed =>
  body instanceof Readable || body instanceof Pieces;

/** Ends what will not be sent. */
export const letGo = (body: Streamed): void => {
  if (body instanceof Readable) body.destroy();
  // One that has not begun ends without having done anything.
  else void body.source.return().catch(() => undefined);
};

/**
 * Sends a stream as the body, no faster than it is read. A source that fails half way ends the connection, so that the
 * reader sees that the answer is not whole; a reader that goes away, or stalls, ends the source.
 */
export const sendStream = (response: ServerResponse, body: Streamed, stalledMs = STALLED_MS): void => {
  const connection = response.req.socket;
  // Nothing would ever tell the source of a reader that went away before.
  if (response.destroyed || connection.destroyed) {
    letGo(body);
    return;
  }
  if (response.socket === null) {
    waitForTurn(response, body, stalledMs);
    return;
  }
  if (body instanceof Pieces && body.stopping.aborted) {
    letGo(body);
    response.destroy();
    return;
  }
  response.setTimeout(stalledMs, () => response.destroy());
  if (body instanceof Readable) pipeline(body, response, () => undefined);
  else void sendPieces(response, body);
};

/** Of connections whose answers before them are still being sent. */
const waiting = new WeakMap<Socket, Set<Streamed>>();

const waitForTurn = (response: ServerResponse, body: Streamed, stalledMs: number): void => {
  const connection = response.req.socket;
  const bodies = waiting.get(connection) ?? new Set();
  if (!waiting.has(connection)) {
    waiting.set(connection, bodies);
    connection.once('close', () => bodies.forEach(letGo));
  }
  bodies.add(body);
  // Behind an answer that nobody takes, it would wait for ever.
  connection.setTimeout(stalledMs);
  const failed = (): void => void response.destroy();
  if (body instanceof Readable) body.once('error', failed);
  response.once('socket', () => {
    bodies.delete(body);
    if (body instanceof Readable) body.off('error', failed);
    sendStream(response, body, stalledMs);
  });
};

const sendPieces = async (response: ServerResponse, { source, stopping }: Pieces): Promise<void> => {
  const breakOff = (): void => void response.destroy();
  stopping.addEventListener('abort', breakOff);
  try {
    for await (const piece of source) if (!(await isTaken(response, piece))) return;
    response.end();
  } catch {
    breakOff();
  } finally {
    stopping.removeEventListener('abort', breakOff);
  }
};

/** False when the reader has gone away. */
const isTaken = (response: ServerResponse, piece: Uint8Array): Promise<boolean> =>
  new Promise((resolve) => {
    const gone = (): void => resolve(false);
    response.once('close', gone);
    response.write(piece, (error) => {
      response.off('close', gone);
      resolve(!error);
    });
  });
