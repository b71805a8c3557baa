import { connect } from 'node:net';
import type { Server } from './server.ts';

/** HTTP as raw bytes, for requests that no client sends. */

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  /** The parsed body, or its text. */
  readonly body: unknown;
  /** The `error` of an error answer. */
  readonly error: string | undefined;
}

const WITHIN_MS = 3000;

/**
 * Sends bytes on one connection and returns all answers until the server closes it. The last request should have
 * `Connection: close`; otherwise half a second of silence ends the wait.
 */
export const sendRaw = (server: Pick<Server, 'port'>, bytes: string | Buffer): Promise<RawAnswer[]> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(server.port, '127.0.0.1', () => socket.write(bytes));
    const timer = setTimeout(() => socket.destroy(new Error('the server keeps silent')), WITHIN_MS);
    socket.setTimeout(500, () => socket.destroy());
    socket.on('data', (chunk) => chunks.push(chunk));
    // A server that refuses and closes before it has read all bytes resets the connection.
    socket.on('error', (error) => {
      if (chunks.length === 0 && !('code' in error)) reject(error);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answersIn(Buffer.concat(chunks)));
    });
  });

/** Splits consecutive answers by their `Content-Length`. */
const answersIn = (bytes: Buffer): RawAnswer[] => {
  const answers: RawAnswer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const head = bytes.subarray(at, end).toString('latin1');
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const text = bytes.subarray(end + 4, end + 4 + length).toString('utf8');
    answers.push(answerOf(head, text));
    at = end + 4 + length;
  }
  return answers;
};

const answerOf = (head: string, text: string): RawAnswer => {
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Not JSON.
  }
  const error =
    typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string'
      ? body.error
      : undefined;
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body, error };
};
