import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { type Slice, timeSlices } from '../../application/core/concurrency/time-slices.ts';
import { randomBytes } from '../../application/core/runtime/random.ts';
import { setImmediate, setTimeout } from '../../application/core/runtime/timers.ts';
import { latest, type Position } from '../../application/ports/event-store.ts';
import { textFrame } from './frame.ts';

/** The product's close codes (decisions, section 4). */
export const CLOSE = {
  expired: 4401,
  forbidden: 4403,
  slowReader: 4413,
  /** The client reconnects with `?after=` and the last position it saw. */
  resume: 1012,
} as const;

const MAX_UNREAD_BYTES = 1024 * 1024;
/** Time (ms) to answer a close frame; then the peer is terminated, because `close()` alone leaves it in CLOSING. */
const CLOSE_TIMEOUT_MS = 1000;
const MAX_MISSED_PINGS = 2;
/** Bytes of a client's frames read per slice: they have no meaning, but parsing thousands of small ones takes long. */
const READ_BYTES = 16 * 1024;
/** Maximum time (ms) for which a reader may take none of the bytes that wait for it. */
export const UNREAD_MS = 8000;

/**
 * One connected socket of a user. It gets each envelope once and in order: first by a replay up to the position `owed`,
 * then live. `owed` advances with each envelope that arrives during the replay.
 */
export class Peer {
  readonly tenantId: string;
  readonly userId: string;
  readonly #socket: WebSocket;
  /** The socket's connection, for prepared frames. */
  readonly #connection: Duplex;
  readonly #gone = new AbortController();
  /** Everything up to this position was sent or skipped. */
  #through: Position | undefined;
  /** The position that the replay must reach. */
  #owed: Position | undefined;
  #isLive = false;
  /** Payloads of unanswered pings; a pong with another payload is ignored. */
  #pings: string[] = [];
  /** Bytes that the operating system has taken, and when it last took some. */
  #taken = 0;
  #takenAt = Number.POSITIVE_INFINITY;

  /** @param through the last position that the client has seen @param owed the position that the replay must reach */
  constructor(
    socket: WebSocket,
    connection: Duplex,
    user: { readonly tenantId: string; readonly userId: string },
    { through, owed }: { readonly through: Position | undefined; readonly owed: Position | undefined },
  ) {
    this.#socket = socket;
    this.#connection = connection;
    this.tenantId = user.tenantId;
    this.userId = user.userId;
    this.#through = through;
    this.#owed = owed;
    socket.on('pong', (payload: Buffer) => {
      if (this.#pings.includes(payload.toString('latin1'))) this.#pings = [];
    });
    socket.on('close', () => this.#gone.abort());
    readInSlices(socket, connection, timeSlices.of(user.tenantId, 'readSocket'));
  }

  /** Aborted when the connection has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  get through(): Position | undefined {
    return this.#through;
  }

  /** The position that the replay must still reach; undefined once the replay has reached it. */
  get owed(): Position | undefined {
    const [through, owed] = [this.#through, this.#owed];
    return owed !== undefined && (through === undefined || owed > through) ? owed : undefined;
  }

  /** Sends an envelope, or notes its position for the replay. @returns whether it was sent */
  deliver(position: Position, frame: Buffer): boolean {
    if (this.#through !== undefined && position <= this.#through) return false;
    if (!this.#isLive) {
      this.#owed = latest(this.#owed, position);
      return false;
    }
    this.#through = position;
    return this.#write(frame);
  }

  /** Records that everything up to `through` was sent or replaced by a resync. */
  replayed(through: Position): void {
    this.#through = through;
  }

  /** Ends the replay: from now on envelopes are sent as they arrive. */
  goLive(): void {
    this.#isLive = true;
  }

  send(text: string): void {
    this.#write(textFrame(text));
  }

  /** Sends one frame; resolves when the operating system has all bytes of the frame, or the connection has ended. */
  async sendAndFlush(text: string): Promise<void> {
    if (!this.isOpen) return;
    await new Promise<void>((resolve) => {
      this.#connection.write(textFrame(text), () => resolve());
    });
  }

  /** Writes a frame, or closes the socket if too much is unread. @returns whether the frame was written */
  #write(frame: Buffer): boolean {
    if (!this.isOpen) return false;
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) {
      this.close(CLOSE.slowReader, 'reading too slowly');
      return false;
    }
    // Envelopes of one tick are written together, since a write costs more than its bytes.
    if (this.#connection.writableCorked === 0) {
      this.#connection.cork();
      setImmediate(() => this.#connection.uncork());
    }
    this.#connection.write(frame);
    return true;
  }

  /**
   * Closes a socket whose client takes none of the bytes that wait for it, even if the client sends bytes. Called every
   * second.
   * @param now monotonic ms
   */
  checkReader(now: number): void {
    const taken = takenBy(this.#connection);
    if (this.#connection.writableLength === 0 || taken !== this.#taken) {
      this.#taken = taken;
      this.#takenAt = now;
    } else if (now - this.#takenAt > UNREAD_MS) this.close(CLOSE.slowReader, 'reading too slowly');
  }

  /** Sends a ping, or terminates the peer if it has missed two pings. */
  ping(): void {
    if (this.#pings.length >= MAX_MISSED_PINGS) {
      this.#socket.terminate();
      return;
    }
    // Random, so that a peer that does not read cannot answer.
    const payload = randomBytes(8);
    this.#pings.push(payload.toString('latin1'));
    if (this.isOpen) this.#socket.ping(payload);
  }

  close(code: number, reason: string): void {
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }
}

/** Pauses the socket, not its connection: `ws` itself resumes the connection. */
const readInSlices = (socket: WebSocket, connection: Duplex, slice: Slice): void => {
  let read = 0;
  connection.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read < READ_BYTES || socket.readyState !== socket.OPEN) return;
    read = 0;
    socket.pause();
    void slice.next().then(() => socket.resume());
  });
};

/** Bytes that a connection has passed to the operating system. */
const takenBy = (connection: Duplex): number =>
  connection instanceof Socket ? connection.bytesWritten - connection.writableLength : 0;
