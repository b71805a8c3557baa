import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { Answered, OutboundRequest } from '../../application/ports/outbound-http.ts';
import { keptHeaders, sentHeaders } from './messages.ts';

/** Of what a server says before its body; more is no answer. */
const MAX_HEADER_BYTES = 16 * 1024;
/** A connection on which nothing is said is closed, or sooner when the server asks for it. */
const IDLE_MS = 4_000;

/** A socket that has reached an address that was judged, and what is said on it: one exchange after the other. */
export class Connection {
  readonly #socket: Socket;
  readonly #client: Client;
  readonly #openedAt = performance.now();
  #isOpen = true;
  #heard = 0;
  #ended: () => void = () => undefined;

  /** @param origin of the URLs that are called on it */
  constructor(socket: Socket, origin: string) {
    this.#socket = socket;
    let used = false;
    this.#client = new Client(origin, {
      // The socket was opened for this; when it breaks there is none to go on with. Undici does not expect an answer
      // before this has returned.
      connect: (_options, callback) => {
        const first = !used;
        used = true;
        process.nextTick(() => {
          if (first) callback(null, socket);
          else callback(new Error('the connection has ended'), null);
        });
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
    });
    socket.once('close', () => this.#end());
  }

  /** False as soon as it is known that it has ended. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#socket.destroyed;
  }

  get ageMs(): number {
    return performance.now() - this.#openedAt;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** True while nothing has come in answer to the last exchange that was begun. */
  get isSilent(): boolean {
    return this.#socket.bytesRead === this.#heard;
  }

  /** Told once, when it ends. */
  onceEnded(ended: () => void): void {
    this.#ended = ended;
  }

  /**
   * @param isLast asks the server to close afterwards
   * @throws the signal's reason, or what undici says
   */
  exchange(call: OutboundRequest, path: string, isLast: boolean, signal: AbortSignal): Promise<Answered> {
    this.#heard = this.#socket.bytesRead;
    const { method, body = null } = call;
    const headers = sentHeaders(call.headers);
    return new Promise((resolve, reject) => {
      const answer = new Answer(call.maxResponseBytes, signal, resolve, reject);
      try {
        this.#client.dispatch({ path, method, headers, body, reset: isLast }, answer);
      } catch (error) {
        answer.refused(error);
      }
    });
  }

  close(): void {
    this.#socket.destroy();
    this.#end();
    void this.#client.destroy().catch(() => undefined);
  }

  #end(): void {
    this.#isOpen = false;
    const ended = this.#ended;
    this.#ended = () => undefined;
    ended();
  }
}

/** Takes an answer in as it comes, and no more of its body than is wanted; one that breaks off is cut there. */
class Answer implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #resolve: (answer: Answered) => void;
  readonly #reject: (error: unknown) => void;
  readonly #chunks: Buffer[] = [];
  #room: number;
  #head: Pick<Answered, 'status' | 'headers'> | undefined;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    maxBytes: number,
    signal: AbortSignal,
    resolve: (answer: Answered) => void,
    reject: (error: unknown) => void,
  ) {
    this.#room = maxBytes;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener('abort', this.#giveUp);
  }

  /** It could not even be begun. */
  refused(error: unknown): void {
    this.#fail(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#giveUp();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // Informational: the answer is still to come.
    if (status >= 200) this.#head = { status, headers: keptHeaders(headers) };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk.subarray(0, this.#room));
    if (chunk.length <= this.#room) {
      this.#room -= chunk.length;
      return;
    }
    this.#settle(true);
    controller.abort(new Error('enough was read'));
  }

  onResponseEnd(): void {
    this.#settle(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#head === undefined || this.#signal.aborted) this.#fail(error);
    else this.#settle(true);
  }

  #settle(truncated: boolean): void {
    this.#signal.removeEventListener('abort', this.#giveUp);
    if (this.#head === undefined) {
      this.#reject(new Error('an answer without a beginning'));
      return;
    }
    const { status, headers } = this.#head;
    this.#resolve({ kind: 'answered', status, headers, body: Buffer.concat(this.#chunks), truncated });
  }

  #fail(error: unknown): void {
    this.#signal.removeEventListener('abort', this.#giveUp);
    this.#reject(error);
  }

  readonly #giveUp = (): void => {
    this.#fail(this.#signal.reason);
    this.#controller?.abort(new Error('given up'));
  };
}
