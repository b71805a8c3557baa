import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Position } from '../../application/ports/event-store.ts';
import { textFrame } from './frame.ts';

/** Close codes of ours (decisions, section 4). */
export const CLOSE = {
  expired: 4401,
  forbidden: 4403,
  slowReader: 4413,
  restarting: 1012,
} as const;

const MAX_UNREAD_BYTES = 1024 * 1024;
/** A peer that does not answer the close is cut off: `close()` alone leaves it in CLOSING. */
const CLOSE_PATIENCE_MS = 1000;

/** One connected socket of a user. Envelopes that arrive during its replay wait behind it. */
export class Peer {
  readonly tenantId: string;
  readonly userId: string;
  readonly #socket: WebSocket;
  /** The connection below the socket, for frames made beforehand. */
  readonly #connection: Duplex;
  #waiting: { position: Position; frame: Buffer }[] | undefined = [];
  #waitingBytes = 0;
  #missedPings = 0;

  constructor(socket: WebSocket, connection: Duplex, tenantId: string, userId: string) {
    this.#socket = socket;
    this.#connection = connection;
    this.tenantId = tenantId;
    this.userId = userId;
    socket.on('pong', () => {
      this.#missedPings = 0;
    });
  }

  /** Sends, or keeps while a replay is under way; closes a reader that leaves too much unread. */
  deliver(position: Position, frame: Buffer): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push({ position, frame });
      this.#waitingBytes += frame.length;
      if (this.#waitingBytes > MAX_UNREAD_BYTES) this.close(CLOSE.slowReader, 'reading too slowly');
      return;
    }
    this.#write(frame);
  }

  send(text: string): void {
    this.#write(textFrame(text));
  }

  #write(frame: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) {
      this.close(CLOSE.slowReader, 'reading too slowly');
      return;
    }
    // Envelopes of one turn of the event loop leave together: a write costs more than what it carries.
    if (this.#connection.writableCorked === 0) {
      this.#connection.cork();
      setImmediate(() => this.#connection.uncork());
    }
    this.#connection.write(frame);
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Resolves when what was sent has left for the peer's side, so that a replay does not pile up. */
  async drained(): Promise<void> {
    while (this.isOpen && this.#socket.bufferedAmount > MAX_UNREAD_BYTES / 4) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Ends the replay: what arrived meanwhile and was not part of it follows, then everything as it comes. */
  goLive(replayedThrough: Position | undefined): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const { position, frame } of waiting) {
      if (replayedThrough === undefined || position > replayedThrough) this.#write(frame);
    }
  }

  /** One heartbeat: a peer that missed two pings is gone. */
  ping(): void {
    if (this.#missedPings >= 2) {
      this.#socket.terminate();
      return;
    }
    this.#missedPings += 1;
    if (this.isOpen) this.#socket.ping();
  }

  close(code: number, reason: string): void {
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_PATIENCE_MS).unref();
  }
}
