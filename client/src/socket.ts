import type { components } from './api.ts';
import { ApiError } from './errors.ts';
import { type RetryOptions, waitAfter } from './retry.ts';

export interface MessageEnvelope {
  readonly kind: 'message';
  readonly event: 'created';
  readonly position: string;
  readonly conversation_id: string;
  readonly message: {
    readonly id: string;
    readonly sender_user_id: string;
    readonly body: string;
    readonly created_at: string;
  };
}

export interface NotificationEnvelope {
  readonly kind: 'notification';
  readonly event: 'created';
  readonly position: string;
  readonly notification: components['schemas']['Notification'];
}

export type Envelope = MessageEnvelope | NotificationEnvelope;

export type SocketState =
  | { readonly kind: 'connecting' }
  /**
   * `resumed`: envelopes missed since the last position follow. Otherwise this is the first connection, or the server
   * refused the position as malformed: read the current state over REST now.
   */
  | { readonly kind: 'ready'; readonly resumed: boolean }
  /** The connection was lost; the next one is tried after `ms`. */
  | { readonly kind: 'waiting'; readonly ms: number }
  /** Final: {@link Socket.close} was called, or the credential is refused. */
  | { readonly kind: 'closed'; readonly error?: Error };

export interface SocketOptions {
  /** {@link Socket.position} of a former socket, to resume there. */
  readonly after?: string | undefined;
  /** Called once for each envelope, in order. */
  readonly onEnvelope: (envelope: Envelope) => void;
  /** The server cannot send some envelopes: read the current state over REST. Later envelopes follow. */
  readonly onResync?: ((position: string) => void) | undefined;
  readonly onState?: ((state: SocketState) => void) | undefined;
  readonly retry?: Omit<RetryOptions, 'times'> | undefined;
}

export interface Socket {
  /**
   * Position of the last envelope or resync handed over, or of the start if there was none. Before the first
   * connection: `after` of the options.
   */
  readonly position: string | undefined;
  close(): void;
}

interface Connecting extends SocketOptions {
  readonly url: string;
  readonly token: () => Promise<string | undefined>;
  /** Whether `token` may return a new token later. */
  readonly renews: boolean;
  /** @throws {ApiError} when the credential or the position (400) is refused */
  readonly check: (after: string | undefined, signal: AbortSignal) => Promise<unknown>;
}

type Frame = Envelope | { readonly kind: 'system'; readonly event: string; readonly position: string };

/** Close codes of the server. */
const EXPIRED = 4401;
const FORBIDDEN = 4403;
/** Time (ms) within which a connection must be ready, and a check answered. */
const READY_MS = 15_000;
/** Interval (ms) of empty frames: a peer that only reads never notices a connection that was lost without a close. */
const BEAT_MS = 30_000;

/** Stores the position of each envelope that it hands over. The next connection resumes after that position. */
export class ResumingSocket implements Socket {
  readonly #options: Connecting;
  #position: string | undefined;
  /** The current connection; frames of former connections are ignored. */
  #socket: WebSocket | undefined;
  /** Starts the next attempt, ends an attempt that takes too long, or sends empty frames. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of failed or lost connections since a connection was last ready. */
  #failures = 0;
  #isClosed = false;

  constructor(options: Connecting) {
    this.#options = options;
    this.#position = options.after;
    // Not at once: `onState` may use the socket, which the caller does not have yet.
    queueMicrotask(() => void this.#connect());
  }

  get position(): string | undefined {
    return this.#position;
  }

  close(): void {
    this.#end();
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return;
    this.#tell({ kind: 'connecting' });
    let token: string | undefined;
    try {
      token = await this.#options.token();
    } catch {
      return this.#wait();
    }
    if (this.#isClosed) return;
    const after = this.#position;
    const url = new URL('/api/v1/ws', this.#options.url);
    url.protocol = url.protocol.replace('http', 'ws');
    if (after !== undefined) url.searchParams.set('after', after);
    let socket: WebSocket;
    try {
      // The token is sent in a header, because proxies log URLs.
      socket = new WebSocket(url, token === undefined ? [] : ['bearer', token]);
    } catch {
      // Such as an empty token, which no protocol can be.
      return this.#check(after);
    }
    let wasOpen = false;
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#lost(socket, wasOpen, undefined, after), READY_MS);
    socket.onopen = () => {
      wasOpen = true;
    };
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket) this.#take(JSON.parse(String(data)), after);
    };
    socket.onclose = ({ code }) => this.#lost(socket, wasOpen, code, after);
    // A `close` event follows.
    socket.onerror = () => undefined;
  }

  /** Ignores unknown kinds (specification, WebSocket). */
  #take(frame: Frame, after: string | undefined): void {
    if (frame.kind === 'message' || frame.kind === 'notification') {
      this.#position = frame.position;
      this.#options.onEnvelope(frame);
    } else if (frame.kind === 'system' && frame.event === 'ready') {
      clearTimeout(this.#timer);
      this.#timer = setInterval(() => this.#socket?.send(''), BEAT_MS);
      this.#failures = 0;
      // After a resume, envelopes between the two positions follow.
      this.#position = after ?? frame.position;
      this.#tell({ kind: 'ready', resumed: after !== undefined });
    } else if (frame.kind === 'system' && frame.event === 'resync') {
      this.#position = frame.position;
      this.#options.onResync?.(frame.position);
    }
  }

  #lost(socket: WebSocket, wasOpen: boolean, code: number | undefined, after: string | undefined): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    clearTimeout(this.#timer);
    socket.close();
    if (code === FORBIDDEN) this.#end(new Error('The account or the tenant is not active.'));
    else if (code === EXPIRED && !this.#options.renews) this.#end(new Error('The token has expired.'));
    else if (wasOpen) this.#wait();
    else void this.#check(after);
  }

  /** Sends a request to find out why a handshake failed, since a browser does not tell. */
  async #check(after: string | undefined): Promise<void> {
    try {
      await this.#options.check(after, AbortSignal.timeout(READY_MS));
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if (status === 403 || (status === 401 && !this.#options.renews)) {
        this.#end(error instanceof Error ? error : undefined);
        return;
      }
      // Every further try with a malformed position would be refused.
      if (status === 400 && this.#position === after) this.#position = undefined;
    }
    this.#wait();
  }

  #wait(): void {
    if (this.#isClosed) return;
    this.#failures += 1;
    const ms = waitAfter(this.#failures, this.#options.retry ?? {});
    this.#tell({ kind: 'waiting', ms });
    this.#timer = setTimeout(() => void this.#connect(), ms);
  }

  #end(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.#tell({ kind: 'closed', ...(error === undefined ? {} : { error }) });
  }

  #tell(state: SocketState): void {
    this.#options.onState?.(state);
  }
}
