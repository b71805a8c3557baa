import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { SocketServer, type SocketServerDeps } from '../../api/ws/socket-server.ts';
import type { UserPrincipal } from '../../application/core/commands/principal.ts';
import { LiveFeed } from '../../application/core/subscriptions/live-feed.ts';
import { Envelopes } from '../../application/messaging/envelopes.ts';
import { type Position, StoreUnavailable } from '../../application/ports/event-store.ts';
import type { KeyStore } from '../../application/ports/key-store.ts';
import { registerUser, userStream } from '../../domain/identity/user.ts';
import { conversationStream, sendMessage, startConversation } from '../../domain/messaging/conversation.ts';
import { inboxStream, raiseNotification } from '../../domain/notifications/inbox.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { causeOf } from './book.ts';
import { silentMetrics, testClock } from './fakes.ts';
import { memoryStores, type SharedStores, startNode, type TestNode } from './node.ts';
import { type Listening, listen } from './socket.ts';

/** The WebSocket server in the test's process, over memory stores whose key store can fail per tenant. */

const tokenOf = (tenantId: string, userId: string): string => `${tenantId}.${userId}`;

export const principalOf = (token: string | undefined): UserPrincipal => {
  const [tenantId = '', userId = ''] = (token ?? '').split('.');
  return {
    kind: 'user',
    tenantId,
    userId,
    email: `${userId}@example.com`,
    role: 'operator',
    rights: { plan: 'free', entitlements: { ledger: false, assistant: false } },
  };
};

/** Writes like another process: the keys of its texts are not cached by the server under test. */
export const writerOf = (node: TestNode, tenantId: string) => {
  const conversation = { tenantId, type: conversationStream, id: 'c1', cause: causeOf('x') };
  return {
    start: () =>
      node.commands.execute({
        ...conversation,
        decide: (state) =>
          startConversation(state, { conversationId: 'c1', dmKey: 'k', participants: ['ann', 'bob'] }),
      }),
    /** @returns the message's id and position; its key is called `message-<id>` */
    send: async (body: string) => {
      const id = randomUUID();
      const { position } = await node.commands.execute({
        ...conversation,
        decide: (state, at) =>
          sendMessage(
            state,
            { messageId: id, textKey: `message-${id}`, senderId: 'ann', storedBody: body, mentioned: [] },
            at,
          ),
      });
      if (position === undefined) throw new Error('no position');
      return { id, position };
    },
    /** Notifies Bob. */
    notify: async (snippet: string) => {
      const id = randomUUID();
      await node.commands.execute({
        tenantId,
        type: inboxStream,
        id: 'bob',
        cause: causeOf('x'),
        decide: (state) =>
          raiseNotification(state, {
            notification_id: id,
            recipient_user_id: 'bob',
            kind: 'message_mention',
            actor_user_id: 'ann',
            subject_kind: 'conversation',
            subject_id: 'c1',
            note_id: id,
            snippet,
            snippet_key: `message-${id}`,
          }),
      });
      return id;
    },
    join: (userId: string) =>
      node.commands.execute({
        tenantId,
        type: userStream,
        id: userId,
        cause: causeOf('x'),
        decide: (state) =>
          registerUser(state, {
            userId,
            email: `${userId}@example.com`,
            displayName: userId,
            role: 'operator',
            origin: 'admin',
          }),
      }),
    deactivate: (userId: string) =>
      node.commands.execute({
        tenantId,
        type: userStream,
        id: userId,
        cause: causeOf('x'),
        decide: () => [
          { type: 'UserStatusChanged' as const, data: { user_id: userId, status: 'deactivated' as const } },
        ],
      }),
  };
};

export const startSocketNode = async (
  stores: SharedStores = memoryStores(),
  options: Partial<
    Pick<SocketServerDeps, 'appendLine' | 'authentication' | 'heartbeatMs' | 'socketLimits'>
  > = {},
) => {
  /** Tenants whose keys cannot be read. `fails`: store unavailable; `damaged`: another error; `hangs`: no answer. */
  const away = new Map<string, 'fails' | 'hangs' | 'damaged'>();
  /** Keys of messages that the server has requested. */
  const asked: string[] = [];
  const keyStore: KeyStore = {
    ...stores.keyStore,
    getMany: async (ids) => {
      for (const id of ids) {
        if (id.includes('/message-')) asked.push(id);
        const fault = away.get(id.split('/', 1)[0] ?? '');
        if (fault === 'fails') throw new StoreUnavailable('gone');
        if (fault === 'damaged') throw new Error('damaged');
        if (fault === 'hangs') await new Promise(() => undefined);
      }
      return stores.keyStore.getMany(ids);
    },
  };
  const node = startNode({ ...stores, keyStore });
  const time = testClock();
  const feed = new LiveFeed(node);
  const stopping = new AbortController();
  const started = Promise.withResolvers<void>();
  const following = feed.run(stopping.signal, started.resolve);
  await started.promise;
  const positions: Position[] = [];
  const sockets = new SocketServer({
    ...node,
    authentication: {
      authenticate: async (token) => principalOf(token),
      expiryOf: () => systemClock.now() + 3_600_000,
    },
    clock: systemClock,
    envelopes: new Envelopes(node),
    feed,
    limits: { request: () => undefined, ofTenant: () => undefined },
    appendLine: async () => undefined,
    onPosition: (_tenantId, position) => void positions.push(position),
    metrics: { ...silentMetrics, refused: () => undefined },
    monotonic: time.now,
    ...options,
  });
  const http = createServer();
  const connections = new Set<Socket>();
  http.on('connection', (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
  });
  http.on('upgrade', sockets.upgrade);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = http.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const server = { base: `http://127.0.0.1:${address.port}` };
  return {
    node,
    away,
    asked,
    positions,
    time,
    feed,
    server,
    connections,
    token: tokenOf,
    connect: (tenantId: string, userId: string, after?: string): Promise<Listening> =>
      listen(server, tokenOf(tenantId, userId), after === undefined ? {} : { after }),
    close: (): void => sockets.close(),
    end: async (): Promise<void> => {
      sockets.close();
      stopping.abort();
      for (const connection of connections) connection.destroy();
      await Promise.all([following, new Promise((resolve) => http.close(resolve))]);
    },
  };
};

export type SocketNode = Awaited<ReturnType<typeof startSocketNode>>;
