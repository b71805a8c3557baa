import type { Socket } from 'node:net';
import { Client } from 'undici';
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
  #heard = 0;
  #ended: () => void = () => undefined;

  /** @param origin common to all URLs called on the connection */
  constructor(socket: Socket, origin: string) {
    this.#socket = socket;
    let used = false;
    this.#client = new Client(origin, {
      // Hands over the open socket once; a broken one is not replaced. Undici expects no callback before this
      // returns.
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
    return !this.#socket.destroyed;
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
   * Reads an answer up to the wanted length of its body. An answer whose body breaks off counts as truncated.
   * @param isLast asks the server to close afterwards
   * @throws the signal's reason, or undici's error
   */
  async exchange(
    { method, headers, body, maxResponseBytes }: OutboundRequest,
    path: string,
    isLast: boolean,
    signal: AbortSignal,
  ): Promise<Answered> {
    this.#heard = this.#socket.bytesRead;
    const call = { path, method, headers: sentHeaders(headers), body: body ?? null, reset: isLast, signal };
    const answer = await this.#client.request(call);
    const chunks: Buffer[] = [];
    let room = maxResponseBytes;
    let truncated = false;
    try {
      // A body without an encoding yields buffers; leaving the loop ends the call.
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        chunks.push(chunk.subarray(0, room));
        truncated = chunk.length > room;
        if (truncated) break;
        room -= chunk.length;
      }
    } catch {
      signal.throwIfAborted();
      truncated = true;
    }
    const kept = keptHeaders(answer.headers);
    return {
      kind: 'answered',
      status: answer.statusCode,
      headers: kept,
      body: Buffer.concat(chunks),
      truncated,
    };
  }

  close(): void {
    this.#socket.destroy();
    this.#end();
    void this.#client.destroy().catch(() => undefined);
  }

  #end(): void {
    const ended = this.#ended;
    this.#ended = () => undefined;
    ended();
  }
}
