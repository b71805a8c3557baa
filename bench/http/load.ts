import { connect, type Socket } from 'node:net';

/**
 * A minimal load generator: keep-alive connections over `node:net`, prepared requests, and answers parsed only for
 * status and length. On two cores, a full HTTP client would be slower than the fastest server.
 */

/** The bytes of a request. */
export const requestBytes = (
  method: string,
  path: string,
  options: { readonly token?: string; readonly body?: unknown } = {},
): Buffer => {
  const { token, body } = options;
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1'];
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  if (body !== undefined) {
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`);
};

export interface Answer {
  readonly status: number;
  /** The body as Latin-1 text, which is enough to search it for ASCII. */
  readonly body: string;
}

const LENGTH = /\r\ncontent-length: *([0-9]+)/i;

/** Maximum time (ms) without an answer. */
const SILENCE_MS = 15_000;

/** A keep-alive connection with one request at a time. */
export class Connection {
  readonly #socket: Socket;
  #received = '';
  #settle: ((answer: Answer) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  private constructor(socket: Socket, silenceMs: number) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(silenceMs, () => this.#fail?.(new Error('the server did not answer in time')));
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail?.(error));
    socket.on('close', () => this.#fail?.(new Error('the server closed the connection')));
  }

  /** @param silenceMs maximum wait for an answer */
  static open(port: number, silenceMs = SILENCE_MS): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket, silenceMs));
      });
    });
  }

  /**
   * Sends a request and calls `settle` with the answer. Uses no promise, since there are tens of thousands of requests
   * per second.
   */
  send(request: Buffer, settle: (answer: Answer) => void, fail: (error: Error) => void): void {
    this.#settle = settle;
    this.#fail = fail;
    this.#socket.write(request);
  }

  request(request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => this.send(request, resolve, reject));
  }

  /** Returns the answer's body; asks again while a read model is behind. @throws for another status */
  async ask(request: Buffer, expectedStatus = 200): Promise<string> {
    let { status, body } = await this.request(request);
    while (status === 503 && body.includes('read_model_behind')) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      ({ status, body } = await this.request(request));
    }
    if (status !== expectedStatus) throw new Error(`answered ${status}: ${body.slice(0, 300)}`);
    return body;
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received =
      this.#received === '' ? chunk.toString('latin1') : this.#received + chunk.toString('latin1');
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(LENGTH.exec(this.#received)?.[1] ?? 0);
    if (this.#received.length < end + 4 + length) return;
    const answer = { status: Number(this.#received.slice(9, 12)), body: this.#received.slice(end + 4) };
    this.#received = '';
    this.#settle?.(answer);
  }
}

export interface LoadOptions {
  readonly port: number;
  /** A list of requests per connection, sent in a cycle. */
  readonly requests: readonly (readonly Buffer[])[];
  readonly seconds: number;
  readonly expectedStatus: number;
  /** Called with the time (ms) of each answer. */
  readonly onAnswer?: (ms: number) => void;
}

/**
 * Closed loop: each connection sends its next request when the previous one is answered.
 * @returns requests per second
 * @throws at the first answer with another status
 */
export const closedLoop = async (options: LoadOptions): Promise<number> => {
  const { port, requests, seconds, expectedStatus, onAnswer } = options;
  const connections = await Promise.all(requests.map(() => Connection.open(port)));
  let answered = 0;
  const began = performance.now();
  const until = began + seconds * 1000;
  let last = began;
  try {
    await Promise.all(
      connections.map(
        (connection, at) =>
          new Promise<void>((resolve, reject) => {
            const own = requests[at] ?? [];
            let next = 0;
            let sent = 0;
            const go = (): void => {
              const request = own[next++ % own.length];
              sent = performance.now();
              if (request === undefined) resolve();
              else connection.send(request, done, reject);
            };
            const done = ({ status, body }: Answer): void => {
              if (status !== expectedStatus) {
                reject(new Error(`answered ${status} instead of ${expectedStatus}: ${body.slice(0, 300)}`));
                return;
              }
              answered += 1;
              last = performance.now();
              onAnswer?.(last - sent);
              if (last < until) go();
              else resolve();
            };
            go();
          }),
      ),
    );
  } finally {
    for (const connection of connections) connection.close();
  }
  return (answered / (last - began)) * 1000;
};
