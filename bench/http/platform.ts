import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packaged from '../../package.json' with { type: 'json' };
import { type Child, startChild } from './child.ts';
import { Connection, requestBytes } from './load.ts';
import { SECRETS, tenantToken } from './tokens.ts';

/** The product as started by `npm start`, in its own process. */

export const TENANT = 'bench';
const API = '/api/v1/tenant/messaging/conversations';
/** The platform admin. */
export const ADMIN = { email: 'root@bench.example', password: 'bench-password' };

/** Variables that `npm start` sets for the system's libraries, such as `MALLOC_ARENA_MAX`. */
const ofStart = Object.fromEntries(
  [...packaged.scripts.start.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
);

/** Environment of the server under test: no rate limits, only warnings in the log, known secrets. */
export const platformEnvironment = (dataDir: string): Record<string, string> => ({
  ...SECRETS,
  ...ofStart,
  DATA_DIR: dataDir,
  DEMO: '0',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_MINUTE: '0',
  LOGIN_LIMIT_PER_MINUTE: '0',
  PLATFORM_ADMIN_EMAIL: ADMIN.email,
  PLATFORM_ADMIN_PASSWORD: ADMIN.password,
});

const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');

/**
 * Node options of `npm start`. `BENCH_NODE_OPTIONS` adds options for the server under test only, such as
 * `--cpu-prof`.
 */
export const nodeOptions: readonly string[] = [
  ...words(packaged.scripts.start).filter((word) => word.startsWith('--')),
  ...words(process.env.BENCH_NODE_OPTIONS ?? ''),
];

/** @param own overrides of the usual environment @param options further options of Node */
export const startPlatformChild = (
  dataDir: string,
  own: Readonly<Record<string, string>> = {},
  options: readonly string[] = [],
): Promise<Child> =>
  startChild('../api/main.ts', '/health/ready', { ...platformEnvironment(dataDir), ...own }, [
    ...nodeOptions,
    ...options,
  ]);

/** A conversation of two people. */
export interface Pair {
  readonly id: string;
  readonly tokens: readonly [string, string];
}

/** Creates the bench's tenant and `count` conversations of two people each, over HTTP. */
export const makePairs = async (port: number, count: number, tenantId = TENANT): Promise<Pair[]> => {
  const connection = await Connection.open(port);
  try {
    const login = await connection.ask(requestBytes('POST', '/super/auth/login', { body: ADMIN }));
    const { token } = JSON.parse(login);
    const tenant = { id: tenantId, name: 'Bench', plan: 'enterprise' };
    await connection.ask(requestBytes('POST', '/super/tenants', { token, body: tenant }), 201);
    const pairs: Pair[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      const users = [`user-${nth}a`, `user-${nth}b`] as const;
      const tokens = [tenantToken(tenantId, users[0]), tenantToken(tenantId, users[1])] as const;
      for (const own of tokens) await connection.ask(requestBytes('GET', API, { token: own }));
      const started = await connection.ask(
        requestBytes('POST', API, { token: tokens[0], body: { participant_user_ids: users } }),
        201,
      );
      pairs.push({ id: JSON.parse(started).id, tokens });
    }
    return pairs;
  } finally {
    connection.close();
  }
};

export const BODY = { body: 'A message of an ordinary length, as people send them all day long. '.repeat(2) };

/** One message per person, sent repeatedly. */
export const messageRequests = (pairs: readonly Pair[]): Buffer[][] =>
  pairs.flatMap(({ id, tokens }) =>
    tokens.map((token) => [requestBytes('POST', messagesPath(id), { token, body: BODY })]),
  );

export const messagesPath = (conversationId: string): string => `${API}/${conversationId}/messages`;
export const conversationsPath = API;

/** A WebSocket that drops frames unread. The server does its full work, the load generator almost none. */
export const listenIdly = (port: number, token: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', (chunk) => {
      if (!chunk.toString('latin1', 0, 12).endsWith('101')) reject(new Error('the upgrade was refused'));
      socket.resume();
      resolve(socket);
    });
    socket.write(
      `GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16, 1).toString('base64')}\r\n` +
        `Authorization: Bearer ${token}\r\n\r\n`,
    );
  });

/** Calls `run` with a new folder, and removes the folder afterwards. */
export const inFolder = async <T>(run: (folder: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    return await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
