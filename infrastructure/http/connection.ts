import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { Answered, OutboundRequest } from '../../application/ports/outbound-http.ts';
import { keptHeaders, sentHeaders } from './messages.ts';

/** Maximum bytes of an answer's headers. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Closes a connection idle for this time (ms), or earlier when the server asks for it. */
const IDLE_MS = 4_000;

/** A socket to a checked address, used for one exchange at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #client: Client;
  readonly #openedAt = performance.now();
  #isOpen = true;
  #heard = 0;
  #ended: () => void = () => undefined;

  /** @param origin common to all URLs called on the connection */
  constructor(socket: Socket, origin: string) {
    this.#socket = socket;
    let used = false;
    this.#client = new Client(origin, {
      // Hands over the open socket once; a broken one is not replaced. Undici expects the callback after `connect`
      // has returned.
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

  /** False once the connection is known to be closed. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#socket.destroyed;
  }

  get ageMs(): number {
    return performance.now() - this.#openedAt;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** True until a byte of the last exchange's answer has arrived. */
  get isSilent(): boolean {
    return this.#socket.bytesRead === this.#heard;
  }

  /** Sets the function that is called once, when the connection closes; replaces an earlier one. */
  onceEnded(ended: () => void): void {
    this.#ended = ended;
  }

  /**
   * @param isLast asks the server to close afterwards
   * @throws the signal's reason, or undici's error
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

/** Collects an answer up to the wanted length of its body. An answer whose body breaks off counts as truncated. */
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

  /** The exchange could not start. */
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
    // 1xx is informational: the answer follows.
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
