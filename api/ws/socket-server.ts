import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { UserPrincipal } from '../../application/core/commands/principal.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../../application/core/events/event-codec.ts';
import {
  clearInterval,
  clearTimeout,
  monotonic,
  setInterval,
  setTimeout,
  type Timer,
} from '../../application/core/runtime/timers.ts';
import { continueSpan } from '../../application/core/runtime/tracing.ts';
import type { LiveFeed } from '../../application/core/subscriptions/live-feed.ts';
import { ENVELOPE_TYPES, type Envelope, type Envelopes } from '../../application/messaging/envelopes.ts';
import type { Clock, Ids } from '../../application/ports/clock.ts';
import type { EventStore, Position } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Metrics } from '../../application/ports/metrics.ts';
import { DomainError, invalid } from '../../domain/core/errors.ts';
import { TenantStatusChanged } from '../../domain/tenancy/tenant.ts';
import { errorAnswer } from '../http/errors.ts';
import type { HttpMetrics } from '../http/metrics.ts';
import { requestIdOf } from '../http/request-id.ts';
import { textFrame } from './frame.ts';
import { LiveQueues } from './live-queues.ts';
import { CLOSE, Peer } from './peer.ts';
import { Peers, type SocketLimits } from './peers.ts';
import { Replays } from './replays.ts';
import { checkHandshake, type Handshake, type HandshakeDeps, refuseUpgrade } from './upgrade.ts';
import { WITHDRAWALS, withdrawnFrom } from './withdrawals.ts';

export interface SocketServerDeps extends HandshakeDeps {
  readonly envelopes: Envelopes;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly feed: LiveFeed;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly socketLimits?: SocketLimits;
  /** Called with the position of what a peer got or will not get, so that its next REST reads include it. */
  readonly onPosition: (tenantId: string, position: Position) => void;
  readonly metrics: Pick<Metrics, 'socketsOpen' | 'socketClosed' | 'envelopesSent'> &
    Pick<HttpMetrics, 'refused'>;
  readonly logger: Logger;
  readonly heartbeatMs?: number;
  /** Monotonic milliseconds. */
  readonly monotonic?: () => number;
}

const HEARTBEAT_MS = 25_000;
const MAX_FRAME_BYTES = 64 * 1024;
/** Interval (ms) of the checks for peers that wait too long. */
const CHECK_MS = 1000;

const HANDLED_TYPES = [...[TenantStatusChanged, ...WITHDRAWALS].map(({ type }) => type), ...ENVELOPE_TYPES];

/** Maximum of sockets of a user and of a tenant that are connected to this node at a time (docs/limits.md). */
export const SOCKET_LIMITS: SocketLimits = { perUser: 100, perTenant: 10_000 };

/**
 * The multiplexed WebSocket (specification, Events; decisions, section 4): handshake, replay after a position,
 * live envelopes, heartbeat, and closing at the end of the credential's validity or rights.
 */
export class SocketServer {
  readonly #deps: SocketServerDeps;
  readonly #server: WebSocketServer;
  readonly #peers: Peers;
  readonly #queues: LiveQueues;
  readonly #replays: Replays;
  readonly #heartbeat: Timer;
  readonly #checks: Timer;
  /** By tenant: the position of the last event with an envelope. */
  readonly #lastOf = new Map<string, Position>();
  /** Refuses a handshake that is being checked. */
  readonly #handshakes = new Set<(error: DomainError) => void>();
  #closing = false;

  constructor(deps: SocketServerDeps) {
    this.#deps = deps;
    this.#peers = new Peers(deps.socketLimits ?? SOCKET_LIMITS);
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      // Answers `bearer`, never an offered token: the library's default is the first protocol of the list.
      handleProtocols: (protocols) => (protocols.has('bearer') ? 'bearer' : false),
    });
    // The library would answer these refusals with HTML.
    this.#server.on('wsClientError', (error, socket) => {
      const issue = { path: 'Sec-WebSocket-Key', code: 'invalid_format', message: error.message };
      refuseUpgrade(socket, errorAnswer(invalid([issue])), deps.ids.next());
    });
    const { envelopes, events, codec, onPosition, metrics, logger } = deps;
    const elapsed = deps.monotonic ?? monotonic;
    const position = () => deps.feed.position;
    this.#replays = new Replays({
      envelopes,
      events,
      codec,
      position,
      onPosition,
      metrics,
      logger,
      monotonic: elapsed,
    });
    this.#queues = new LiveQueues({
      envelopes,
      logger,
      monotonic: elapsed,
      send: (event, envelope) => this.#send(event, envelope),
      onFailed: (event) => this.#resync(event),
      onGivenUp: (tenantId) => {
        for (const peer of this.#peers.ofTenant(tenantId)) peer.close(CLOSE.resume, 'try again');
      },
    });
    this.#heartbeat = setInterval(() => {
      void this.#peers.ping();
    }, deps.heartbeatMs ?? HEARTBEAT_MS).unref();
    this.#checks = setInterval(() => {
      this.#replays.check();
      this.#queues.check();
      const now = elapsed();
      for (const peer of this.#peers.all()) peer.checkReader(now);
    }, CHECK_MS).unref();
    deps.feed.onEvent((event) => this.#onEvent(event), HANDLED_TYPES);
  }

  /** Listener for the HTTP server's `upgrade` event. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    const requestId = requestIdOf(request, this.#deps.ids);
    const refused = Promise.withResolvers<never>();
    this.#handshakes.add(refused.reject);
    if (this.#closing) refused.reject(stopping());
    const checked = checkHandshake(request, requestId, this.#deps, (principal) => this.#checkRoom(principal));
    Promise.race([checked, refused.promise])
      .finally(() => this.#handshakes.delete(refused.reject))
      .then((handshake) => {
        // Checked again, since other handshakes may have ended meanwhile.
        this.#checkRoom(handshake.principal);
        this.#server.handleUpgrade(request, socket, head, (webSocket) =>
          this.#connected(webSocket, socket, handshake),
        );
      })
      .catch((error: unknown) => {
        const answer = errorAnswer(error);
        const { metrics, logger } = this.#deps;
        metrics.refused(answer);
        if (answer.status >= 500) {
          logger.error({ request_id: requestId, status: answer.status, err: error }, 'a handshake failed');
        }
        refuseUpgrade(socket, answer, requestId);
      });
  };

  /** @throws {DomainError} `unavailable` during a stop, `rate_limited` above the limits of sockets */
  #checkRoom({ tenantId, userId }: UserPrincipal): void {
    if (this.#closing) throw stopping();
    this.#peers.checkRoom(tenantId, userId);
  }

  /** Asks every peer to reconnect, and refuses handshakes, which may wait for a store; without waiting. */
  close(): void {
    this.#closing = true;
    for (const refuse of this.#handshakes) refuse(stopping());
    clearInterval(this.#heartbeat);
    clearInterval(this.#checks);
    for (const peer of this.#peers.all()) peer.close(CLOSE.resume, 'the server is restarting');
  }

  #connected(socket: WebSocket, connection: Duplex, handshake: Handshake): void {
    const { principal, after, expiresAt } = handshake;
    const { tenantId } = principal;
    const { metrics } = this.#deps;
    const start = this.#deps.feed.position;
    const peer = new Peer(socket, connection, principal, { through: after ?? start, owed: start });
    socket.on('error', (error) => this.#deps.logger.debug({ err: error }, 'a socket failed'));
    // Frames from clients have no meaning; reading them keeps the connection's buffers empty.
    socket.on('message', () => undefined);
    this.#peers.add(peer);
    metrics.socketsOpen(this.#peers.count);
    void this.#recheck(peer, handshake);
    const expiry = setTimeout(
      () => peer.close(CLOSE.expired, 'the credential has expired'),
      Math.max(0, expiresAt - this.#deps.clock.now()),
    );
    expiry.unref();
    socket.on('close', (code) => {
      clearTimeout(expiry);
      metrics.socketClosed(code);
      this.#peers.remove(peer);
      if (!this.#peers.hasTenant(tenantId)) this.#queues.end(tenantId);
      metrics.socketsOpen(this.#peers.count);
    });
    const last = this.#lastOf.get(tenantId);
    // A client that does not resume reads its data over REST now, and gets no envelope up to `start`.
    if (after === undefined && last !== undefined) this.#deps.onPosition(tenantId, last);
    peer.send(JSON.stringify({ kind: 'system', event: 'ready', position: after ?? start ?? '' }));
    void this.#replays.run(peer);
  }

  /**
   * Checks the rights again: a withdrawal between the first check and the peer's registration has not closed this
   * peer.
   */
  async #recheck(peer: Peer, { token, principal }: Handshake): Promise<void> {
    try {
      const now = await this.#deps.authentication.authenticate(token, 'tenant');
      if (now.kind === 'user' && now.role === principal.role) return;
    } catch (error) {
      if (errorAnswer(error).status >= 500) {
        this.#deps.logger.warn({ err: error }, 'the rights of a socket could not be checked again');
        return peer.close(CLOSE.resume, 'the rights cannot be checked now');
      }
    }
    peer.close(CLOSE.forbidden, 'no longer allowed');
  }

  #onEvent(event: LoggedEvent): void {
    const tenant = dataOf(TenantStatusChanged, event);
    if (tenant?.status === 'suspended') forbid(this.#peers.ofTenant(tenant.tenant_id));
    const hasEnvelope = ENVELOPE_TYPES.includes(event.type);
    if (hasEnvelope) this.#lastOf.set(event.tenantId, event.position);
    if (!this.#peers.hasTenant(event.tenantId)) return;
    const userId = withdrawnFrom(event);
    if (userId !== undefined) forbid(this.#peers.ofUser(event.tenantId, userId));
    if (hasEnvelope) this.#queues.add(event);
  }

  #send(event: LoggedEvent, envelope: Envelope): void {
    const text = envelope.text();
    if (text === undefined) return;
    this.#deps.onPosition(event.tenantId, event.position);
    const span = continueSpan('socket send', 'producer', event.traceparent, { 'tenant.id': event.tenantId });
    const frame = textFrame(text);
    let sent = 0;
    for (const userId of envelope.recipients) {
      for (const peer of this.#peers.ofUser(event.tenantId, userId)) {
        if (peer.deliver(event.position, frame)) sent += 1;
      }
    }
    this.#deps.metrics.envelopesSent(sent);
    span?.end({ 'socket.count': sent });
  }

  /** Sends a resync for an event without an envelope: the tenant's clients then read the event's data over REST. */
  #resync({ tenantId, position }: LoggedEvent): void {
    this.#deps.onPosition(tenantId, position);
    const frame = textFrame(JSON.stringify({ kind: 'system', event: 'resync', position }));
    for (const peer of this.#peers.ofTenant(tenantId)) peer.deliver(position, frame);
  }
}

const stopping = (): DomainError => new DomainError('unavailable', 'The server is stopping.');

const forbid = (peers: Iterable<Peer>): void => {
  for (const peer of peers) peer.close(CLOSE.forbidden, 'no longer allowed');
};
