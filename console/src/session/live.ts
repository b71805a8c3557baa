import type { Envelope, Socket, SocketState } from '../../../client/src/index.ts';
import { clientOf } from './clients.ts';
import { getSessions, identityOf, signIn, type TenantSession } from './store.ts';

/** One socket per identity for all parts of the page. It is open while it has listeners, and resumes where it ended. */

export interface LiveListener {
  readonly onEnvelope?: (envelope: Envelope) => void;
  /** Envelopes may have been missed: the data must be read again over REST. */
  readonly onGap?: () => void;
  readonly onState?: (state: SocketState) => void;
}

/** Minimum time (ms) between two restarts, so that a refused session does not flood the server. */
const RESTART_MS = 10_000;

class Hub {
  readonly #listeners = new Set<LiveListener>();
  readonly #session: TenantSession;
  #socket: Socket | undefined;
  #position: string | undefined;
  #restartedAt = 0;
  state: SocketState = { kind: 'connecting' };

  constructor(session: TenantSession) {
    this.#session = session;
  }

  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    this.#socket ??= this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#position = this.#socket?.position;
      this.#socket?.close();
      this.#socket = undefined;
    };
  }

  #open(): Socket {
    return clientOf(this.#session).socket({
      after: this.#position,
      onEnvelope: (envelope) => {
        for (const { onEnvelope } of this.#listeners) onEnvelope?.(envelope);
      },
      onResync: () => this.#gap(),
      onState: (state) => {
        // What happened between the first reads of the page and this moment was sent to no socket.
        if (state.kind === 'ready' && !state.resumed) this.#gap();
        if (state.kind === 'closed' && state.error !== undefined) void this.#restart();
        this.state = state;
        for (const { onState } of this.#listeners) onState?.(state);
      },
    });
  }

  /**
   * Called when the server refuses the socket: the session has ended, the role was lowered, or the tenant is suspended.
   * Reads the present role from the server; the request waits for a new sign-in if the session has ended.
   */
  async #restart(): Promise<void> {
    const closed = this.#socket;
    const since = Date.now() - this.#restartedAt;
    if (since < RESTART_MS) await new Promise((resolve) => setTimeout(resolve, RESTART_MS - since));
    this.#restartedAt = Date.now();
    // Meanwhile the listeners may have left, and new ones may have opened another socket.
    const isNeeded = (): boolean => this.#listeners.size > 0 && this.#socket === closed;
    if (getSessions().tenant === undefined || !isNeeded()) return;
    try {
      const { role } = await clientOf(this.#session).get('/api/v1/tenant/me');
      const now = getSessions().tenant;
      if (now !== undefined && identityOf(now) === identityOf(this.#session) && now.role !== role) {
        signIn({ ...now, role });
      }
    } catch {
      // Also a refusal may be temporary: a suspended tenant may be active again.
      if (isNeeded()) void this.#restart();
      return;
    }
    if (!isNeeded()) return;
    this.#position = closed?.position;
    this.#socket = this.#open();
  }

  #gap(): void {
    for (const { onGap } of this.#listeners) onGap?.();
  }
}

const hubs = new Map<string, Hub>();

export const liveHub = (session: TenantSession): Hub => {
  const identity = identityOf(session);
  const known = hubs.get(identity) ?? new Hub(session);
  hubs.set(identity, known);
  return known;
};
