import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Authentication } from '../../application/authentication.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../../application/codec.ts';
import { ENVELOPE_TYPES, type Envelopes } from '../../application/envelopes.ts';
import type { LiveFeed } from '../../application/live-feed.ts';
import type { Clock, Ids } from '../../application/ports/clock.ts';
import type { EventStore, Position } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Metrics } from '../../application/ports/metrics.ts';
import { callerKey, type UserPrincipal } from '../../application/principal.ts';
import { tenantPrefix } from '../../application/streams.ts';
import { DomainError, invalid } from '../../domain/errors.ts';
import { UserForgotten, UserRoleChanged, UserStatusChanged } from '../../domain/identity/user.ts';
import { TenantStatusChanged } from '../../domain/tenancy/tenant.ts';
import { rateLimited } from '../http/errors.ts';
import { type LeaveLine, trailOf, witnessed } from '../http/trail.ts';
import { textFrame } from './frame.ts';
import { CLOSE, Peer } from './peer.ts';
import { refuse, tokenOf } from './upgrade.ts';

/**
 * The multiplexed WebSocket (specification, Events; decisions, section 4): handshake, replay after a position,
 * heartbeat, and closing when the credential's time or right ends.
 */
export interface SocketServerDeps {
  readonly authentication: Authentication;
  readonly envelopes: Envelopes;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly feed: LiveFeed;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Seconds to wait when a caller asks too often; undefined: welcome. */
  readonly limit: (callerKey: string) => number | undefined;
  readonly leaveLine: LeaveLine;
  /** Told of what peers learn: who then reads over REST finds it. */
  readonly told: (tenantId: string, position: Position) => void;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly heartbeatMs?: number;
}

const PATH = '/api/v1/ws';
/** As the event log names it. */
const ROUTE = { method: 'get', path: PATH, operationId: 'openSocket' } as const;
const HEARTBEAT_MS = 25_000;
const MAX_FRAME_BYTES = 64 * 1024;
const MAX_REPLAYED = 1000;
/** A replay that would have to look through more of the log than this is answered with a resync instead. */
const MAX_SCANNED = 50_000;
const PAGE = 500;

/** Types of the events that are acted upon. */
const LOOKED_AT = [
  ...[TenantStatusChanged, UserStatusChanged, UserRoleChanged, UserForgotten].map(({ type }) => type),
  ...ENVELOPE_TYPES,
];

interface Handshake {
  readonly token: string;
  readonly principal: UserPrincipal;
  readonly after: Position | undefined;
  readonly expiresAt: number;
}

export class SocketServer {
  readonly #deps: SocketServerDeps;
  readonly #server: WebSocketServer;
  /** Peers by tenant, then user. */
  readonly #peers = new Map<string, Map<string, Set<Peer>>>();
  readonly #heartbeat: NodeJS.Timeout;
  #count = 0;
  #closing = false;

  constructor(deps: SocketServerDeps) {
    this.#deps = deps;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      // Never an offered token: the library's default would send back the first protocol of the list.
      handleProtocols: (protocols) => (protocols.has('bearer') ? 'bearer' : false),
    });
    // What the library would refuse with a page of HTML.
    this.#server.on('wsClientError', (error, socket) => {
      const issue = { path: 'Sec-WebSocket-Key', code: 'invalid_format', message: error.message };
      refuse(socket, invalid([issue]), deps.ids.next());
    });
    this.#heartbeat = setInterval(() => {
      for (const peer of this.#all()) peer.ping();
    }, deps.heartbeatMs ?? HEARTBEAT_MS);
    this.#heartbeat.unref();
    deps.feed.onEvent((event) => this.#onEvent(event), LOOKED_AT);
  }

  /** For the HTTP server's `upgrade` event. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    const requestId = this.#deps.ids.next();
    this.#handshake(request, requestId)
      .then((handshake) => {
        this.#server.handleUpgrade(request, socket, head, (peer) => this.#connected(peer, socket, handshake));
      })
      .catch((error: unknown) => refuse(socket, error, requestId));
  };

  /** Tells every peer to come back, and waits for none. */
  close(): void {
    this.#closing = true;
    clearInterval(this.#heartbeat);
    for (const peer of this.#all()) peer.close(CLOSE.restarting, 'the server is restarting');
  }

  async #handshake(request: IncomingMessage, requestId: string): Promise<Handshake> {
    const target = request.url ?? '';
    const url = URL.parse(target, 'http://localhost');
    // One spelling, as of every route: the URL parser would also take `//x/api/v1/ws` and `/y/%2e%2e/api/v1/ws`.
    const path = target.startsWith('/') ? target.split('?', 1)[0] : url?.pathname;
    if (url === null || path !== PATH) throw new DomainError('not_found', 'No such resource.');
    if (this.#closing) throw new DomainError('unavailable', 'The server is stopping.');
    const token = tokenOf(request, url);
    const { authentication, events } = this.#deps;
    const principal = await authentication.authenticate(token, 'tenant');
    if (principal.kind !== 'user' || token === undefined) {
      throw new DomainError('invalid_credential', 'The credential is not valid.');
    }
    const trail = trailOf(request, requestId, ROUTE, principal, () => undefined, this.#deps.leaveLine);
    return witnessed(trail, 101, () => {
      const wait = this.#deps.limit(callerKey(principal));
      if (wait !== undefined) throw rateLimited(wait);
      const given = url.searchParams.get('after');
      const after = given === null ? undefined : events.parsePosition(given);
      if (given !== null && after === undefined) {
        throw invalid([{ path: 'after', code: 'invalid_format', message: 'after is not a position.' }]);
      }
      return { token, principal, after, expiresAt: authentication.expiryOf(token) };
    });
  }

  #connected(socket: WebSocket, connection: Duplex, handshake: Handshake): void {
    const { principal, after, expiresAt } = handshake;
    const { tenantId, userId } = principal;
    const peer = new Peer(socket, connection, tenantId, userId);
    socket.on('error', (error) => this.#deps.logger.debug({ err: error }, 'a socket failed'));
    // Frames from clients have no meaning; reading them keeps the connection's buffers empty.
    socket.on('message', () => undefined);
    const users = this.#peers.get(tenantId) ?? new Map<string, Set<Peer>>();
    this.#peers.set(tenantId, users);
    users.set(userId, (users.get(userId) ?? new Set<Peer>()).add(peer));
    this.#counted(1);
    void this.#recheck(peer, handshake);
    const expiry = setTimeout(
      () => peer.close(CLOSE.expired, 'the credential has expired'),
      Math.max(0, expiresAt - this.#deps.clock.now()),
    );
    expiry.unref();
    socket.on('close', () => {
      clearTimeout(expiry);
      users.get(userId)?.delete(peer);
      if (users.get(userId)?.size === 0) users.delete(userId);
      if (users.size === 0 && this.#peers.get(tenantId) === users) this.#peers.delete(tenantId);
      this.#counted(-1);
    });
    // From here on live envelopes wait in the peer; everything up to this position is the replay's.
    const upTo = this.#deps.feed.position;
    peer.send(JSON.stringify({ kind: 'system', event: 'ready', position: upTo ?? '' }));
    this.#replay(peer, after, upTo).catch((error: unknown) => {
      this.#deps.logger.warn({ err: error }, 'a replay failed');
      peer.close(1011, 'the replay failed');
    });
  }

  /**
   * What was withdrawn between the check of the credential and the peer's place in the list closed nobody: the peer
   * was not there yet.
   */
  async #recheck(peer: Peer, { token, principal }: Handshake): Promise<void> {
    try {
      const now = await this.#deps.authentication.authenticate(token, 'tenant');
      if (now.kind === 'user' && now.role === principal.role) return;
    } catch (error) {
      if (!(error instanceof DomainError))
        this.#deps.logger.warn({ err: error }, 'a socket was not rechecked');
    }
    peer.close(CLOSE.forbidden, 'no longer allowed');
  }

  async #replay(peer: Peer, after: Position | undefined, upTo: Position | undefined): Promise<void> {
    if (after !== undefined && upTo !== undefined && after < upTo) {
      const texts = await this.#missed(peer, after, upTo);
      if (texts === undefined) {
        peer.send(JSON.stringify({ kind: 'system', event: 'resync', position: upTo }));
      } else {
        for (const text of texts) {
          peer.send(text);
          await peer.drained();
        }
      }
    }
    peer.goLive(upTo);
  }

  /** What the user missed, or undefined when it is too much to replay. */
  async #missed(peer: Peer, after: Position, upTo: Position): Promise<string[] | undefined> {
    const { events, codec, envelopes } = this.#deps;
    const filter = { streamPrefix: tenantPrefix(peer.tenantId), types: ENVELOPE_TYPES };
    const texts: string[] = [];
    let from = after;
    for (let scanned = 0; peer.isOpen; scanned += PAGE) {
      const page = await events.readAll({ from, filter, limit: PAGE });
      for (const stored of page) {
        if (stored.position > upTo) return texts;
        const event = codec.decode(stored);
        from = stored.position;
        // Whom it is for, before its text is opened.
        if (!(await envelopes.recipients(event)).includes(peer.userId)) continue;
        const envelope = await envelopes.of(event);
        if (envelope !== undefined) texts.push(envelope.text);
        if (texts.length > MAX_REPLAYED) return undefined;
      }
      if (page.length < PAGE) return texts;
      if (scanned >= MAX_SCANNED) return undefined;
    }
    return texts;
  }

  #onEvent(event: LoggedEvent): Promise<void> | undefined {
    const tenant = dataOf(TenantStatusChanged, event);
    if (tenant?.status === 'suspended') {
      this.#forbid([...(this.#peers.get(tenant.tenant_id)?.values() ?? [])]);
    }
    const users = this.#peers.get(event.tenantId);
    if (users === undefined) return undefined;
    const status = dataOf(UserStatusChanged, event);
    const role = dataOf(UserRoleChanged, event);
    if (status?.status === 'deactivated') this.#forbidUser(users, status.user_id);
    const forgotten = dataOf(UserForgotten, event);
    if (forgotten !== undefined) this.#forbidUser(users, forgotten.user_id);
    // Lowered: who may still connect comes back with the rights that are left.
    if (role?.role === 'operator') this.#forbidUser(users, role.user_id);
    return ENVELOPE_TYPES.includes(event.type) ? this.#fanOut(event) : undefined;
  }

  async #fanOut(event: LoggedEvent): Promise<void> {
    const envelope = await this.#deps.envelopes.of(event);
    if (envelope === undefined) return;
    let frame: Buffer | undefined;
    let sent = 0;
    this.#deps.told(event.tenantId, event.position);
    for (const userId of envelope.recipients) {
      for (const peer of this.#peers.get(event.tenantId)?.get(userId) ?? []) {
        frame ??= textFrame(envelope.text);
        peer.deliver(event.position, frame);
        sent += 1;
      }
    }
    this.#deps.metrics.envelopesSent(sent);
  }

  #forbidUser(users: ReadonlyMap<string, ReadonlySet<Peer>>, userId: string): void {
    const peers = users.get(userId);
    if (peers !== undefined) this.#forbid([peers]);
  }

  #forbid(groups: readonly ReadonlySet<Peer>[]): void {
    for (const peers of groups) {
      for (const peer of peers) peer.close(CLOSE.forbidden, 'no longer allowed');
    }
  }

  #counted(change: number): void {
    this.#count += change;
    this.#deps.metrics.socketsOpen(this.#count);
  }

  *#all(): Iterable<Peer> {
    for (const users of this.#peers.values()) {
      for (const peers of users.values()) yield* peers;
    }
  }
}
