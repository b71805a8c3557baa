import type { ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';

/** A reader that takes nothing for so long is not waited for any more: it would hold what is read open for ever. */
const STALLED_MS = 60_000;

/**
 * Sends a stream as the body, no faster than it is read. A source that fails half way ends the connection, so that the
 * reader sees that the answer is not whole; a reader that goes away, or stalls, ends the source.
 */
export const sendStream = (response: ServerResponse, body: Readable, stalledMs = STALLED_MS): void => {
  // Nothing would ever tell the source of a reader that went away before.
  if (response.destroyed || response.socket?.destroyed !== false) {
    body.destroy();
    return;
  }
  response.setTimeout(stalledMs, () => response.destroy());
  pipeline(body, response, () => undefined);
};
