import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type Client, clientOf } from './client.ts';
import {
  cleanUp,
  eventually,
  freeLeases,
  isInUse,
  randomName,
  type Server,
  type ServerOptions,
  startServer,
  startSharedServer,
  unusual,
} from './server.ts';
import { conversation, liveMessage, tenant as shape, user } from './shapes.ts';
import { type Person, platformToken, tenantToken } from './tokens.ts';

/** A running server with tenants and people. */

export interface Member extends Person {
  readonly name: string;
  readonly token: string;
  /** Calls with {@link token}. */
  readonly api: Client;
}

export interface TestTenant {
  readonly id: string;
  readonly admin: Member;
  /** Creates a person, an operator by default. */
  person(name: string, role?: 'admin' | 'operator'): Promise<Member>;
}

export interface World {
  /** Replaced by {@link restart}; clients then call the new server. */
  readonly server: Server;
  readonly anybody: Client;
  readonly platform: Client;
  tenant(): Promise<TestTenant>;
  /**
   * Restarts on the same data folder, after `stop` or `kill` of {@link server}.
   * @param leases `kept`: the new process waits until the leases of the killed process expire, as in production
   */
  restart(env?: ServerOptions['env'], leases?: 'freed' | 'kept'): Promise<void>;
  /** Waits until the server reports that it is ready. */
  ready(): Promise<void>;
  end(): Promise<void>;
}

export const BASE = '/api/v1/tenant/messaging/conversations';
export const NOTIFICATIONS = '/api/v1/tenant/notifications';
export const USERS = '/api/v1/tenant/users';

/** Kills the servers of the file in `after` hooks, except shared ones; also after a failed start. */
export const endWorld = cleanUp;

/** A server for the calling file only; its tests may end it. */
export const startWorld = async (options: ServerOptions = {}): Promise<World> =>
  worldOf(await startServer(options), options);

const shared = new Map<string, { world: World; hasEnded: boolean }>();

/**
 * A server shared by the test files of a process, one per environment; each file creates its own tenants. It cannot be
 * stopped or restarted: {@link startLater} stands in for a restart. If a failed test has ended it, the next file gets a new one.
 */
export const sharedWorld = async (env: Readonly<Record<string, string>> = {}): Promise<World> => {
  const key = JSON.stringify(unusual(env).sort());
  const present = shared.get(key);
  if (present !== undefined && !present.hasEnded) return present.world;
  const server = await startSharedServer(env);
  const made = { world: await worldOf(server, { env }), hasEnded: false };
  void server.exited.then(() => {
    made.hasEnded = true;
  });
  shared.set(key, made);
  return made.world;
};

/** Limits the requests of each caller, and the logins from each address. */
export const LIMITED = { RATE_LIMIT_PER_MINUTE: '60', LOGIN_LIMIT_PER_MINUTE: '3' } as const;

/**
 * Limits logins to three a minute for each address, which `x-forwarded-for` names: a test uses addresses of its own.
 */
export const LIMITED_LOGINS = { LOGIN_LIMIT_PER_MINUTE: '3', TRUST_PROXY: 'loopback' } as const;

/**
 * A further server on the data of `world` for the calling file. Like a restarted one, it knows only what is stored, so a
 * test of what outlives a process needs no server of its own to restart.
 */
export const startLater = (world: World, env: ServerOptions['env'] = {}): Promise<Server> =>
  startServer({ dataDir: world.server.dataDir, env });

export interface Pair {
  readonly world: World;
  /** The second server, on the same data. */
  readonly other: Server;
}

/** Two servers for the calling file only. */
export const startPair = async (): Promise<Pair> => {
  const world = await startWorld();
  return { world, other: await startServer({ dataDir: world.server.dataDir }) };
};

let pair: Pair | undefined;

/** Two servers on the same data, shared like the server of {@link sharedWorld}. */
export const sharedPair = async (): Promise<Pair> => {
  if (pair !== undefined) return pair;
  const first = await startSharedServer({});
  const other = await startSharedServer({}, first);
  pair = { world: await worldOf(first, {}), other };
  void Promise.race([first.exited, other.exited]).then(() => {
    pair = undefined;
  });
  return pair;
};

/** For `beforeEach` hooks: when a test has ended the server, restarts it on the same data. */
export const restartEnded = async (world: World): Promise<void> => {
  const hasEnded = await Promise.race([world.server.exited.then(() => true), setImmediate(false)]);
  if (hasEnded) await world.restart();
};

const worldOf = async (first: Server, options: ServerOptions): Promise<World> => {
  let server = first;
  const anybody = await clientOf(() => server);
  const platform = anybody.with(platformToken());

  const member = (person: Person, name: string): Member => {
    const token = tenantToken(person);
    return { ...person, name, token, api: anybody.with(token) };
  };

  const tenant = async (): Promise<TestTenant> => {
    const id = randomName('t');
    (await platform.post('/super/tenants', { id, name: 'A tenant of the tests' })).as(shape, 201);
    const founder: Person = {
      tenantId: id,
      id: randomUUID(),
      email: `admin@${id}.example`.replace('_', '-'),
      role: 'admin',
    };
    const admin = member(founder, 'admin');
    // The first request with a signed token registers the person.
    (await admin.api.get('/api/v1/tenant/me')).as(user.loose());
    const person: TestTenant['person'] = async (name, role = 'operator') => {
      const email = `${randomName('p').replace('_', '-')}@people.example`;
      const answer = await admin.api.post(USERS, { email, display_name: name, role });
      const made = answer.as(user, 201);
      return member({ tenantId: id, id: made.id, email, role }, name);
    };
    return { id, admin, person };
  };

  return {
    get server() {
      return server;
    },
    anybody,
    platform,
    tenant,
    restart: async (env = {}, leases = 'freed') => {
      await server.exited;
      if (leases === 'freed' && !isInUse(server.dataDir)) freeLeases(server.dataDir);
      server = await startServer({ ...options, dataDir: server.dataDir, env: { ...options.env, ...env } });
    },
    ready: async () => {
      await eventually('ready', async () => (await anybody.get('/health/ready')).status === 200, 60_000);
    },
    end: cleanUp,
  };
};

/** Starts a conversation of the caller and others. @returns its id */
export const talk = async (caller: Member, ...others: readonly Member[]): Promise<string> => {
  const answer = await caller.api.post(BASE, { participant_user_ids: others.map(({ id }) => id) });
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.json)}`);
  return conversation.parse(answer.json).id;
};

export const say = async (sender: Member, conversationId: string, body: string) =>
  (await sender.api.post(`${BASE}/${conversationId}/messages`, { body })).as(liveMessage, 201);

export const token = (person: { readonly name: string; readonly id: string }): string =>
  `@[${person.name}](user:${person.id})`;
