import { z } from 'zod';
import { signed } from '../../simulation/client.ts';
import { Dice } from '../../simulation/dice.ts';
import { Hosts } from '../../simulation/hosts.ts';
import type { Reply } from '../../simulation/network.ts';
import { STARTED_AT, secretOf, World } from '../../simulation/world.ts';
import { type Known, type Step, walk } from './walk.ts';

/** An example as `api/openapi/examples.json` has it. */
export interface Example {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly answers: Readonly<Record<string, unknown>>;
}

const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string().optional() }))),
});

/** Method and path of each operation. */
const routesOf = (
  openapi: unknown,
): ReadonlyMap<string, { readonly method: string; readonly path: string }> => {
  const found = new Map<string, { method: string; path: string }>();
  for (const [path, operations] of Object.entries(document.parse(openapi).paths)) {
    for (const [method, { operationId }] of Object.entries(operations))
      if (operationId !== undefined) found.set(operationId, { method: method.toUpperCase(), path });
  }
  return found;
};

const atPath = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (part, key) => (typeof part === 'object' && part !== null ? Reflect.get(part, key) : undefined),
      value,
    );

const SECRET = /^(?:token|secret|prefix)$/;

/** The answer without what looks like a usable secret. */
const shown = (value: unknown, name = ''): unknown => {
  if (typeof value === 'string') {
    if (SECRET.test(name)) return `${/^(?:whsec_|svc_pat_)?/.exec(value)?.[0] ?? ''}xxxxxxxx`;
    return name === 'url' ? value.replace(/#.*$/, '#xxxxxxxx') : value;
  }
  if (Array.isArray(value)) return value.map((one) => shown(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(one, key)]));
};

/** Milliseconds of virtual time in which background work settles. */
const SETTLED_MS = 5_000;
/** Of a session; tokens in the document must not look usable. */
const HOUR = 3_600;

const tokenOf = (as: NonNullable<Step['as']>, known: Known): string | undefined => {
  const iat = STARTED_AT / 1_000 - 1;
  const person = { tenant_id: 'workshop', iat, exp: iat + HOUR };
  switch (as) {
    case 'nobody':
      return undefined;
    case 'cleo':
      return known('login', 'token');
    case 'platform': {
      const claims = { sub: 'root', email: 'root@platform.example', role: 'super_admin' };
      return signed({ ...claims, iat, exp: iat + HOUR }, secretOf('platform'));
    }
    case 'partner': {
      const claims = { sub: 'nora', email: 'nora@north.example', partner_id: 'north' };
      return signed(
        { ...claims, permissions: ['partner-billing'], iat, exp: iat + HOUR },
        secretOf('partner'),
      );
    }
    case 'ada':
      return signed(
        { ...person, sub: 'ada', email: 'ada@workshop.example', role: 'admin' },
        secretOf('tenant'),
      );
    case 'ben':
      return signed(
        { ...person, sub: 'ben', email: 'ben@workshop.example', role: 'operator' },
        secretOf('tenant'),
      );
    default:
      return as satisfies never;
  }
};

/**
 * Makes the requests of the walk to the product on virtual time, with ids and texts drawn from a seed, so that each run gives
 * the same answers. @throws {Error} when one is refused
 */
export const recordExamples = async (openapi: unknown): Promise<Record<string, Example>> => {
  const routes = routesOf(openapi);
  const world = new World(1, 0);
  const hosts = new Hosts(world, new Dice(1, 5));
  hosts.heal();
  const answers = new Map<string, unknown>();
  const examples: Record<string, Example> = {};
  const known = (operation: string, path: string): string => {
    const found = atPath(answers.get(operation), path);
    if (typeof found !== 'string') throw new Error(`${operation} has answered nothing at ${path}`);
    return found;
  };
  const tell = async (): Promise<void> => {
    const node = world.add('n0', 'all', hosts.outbound);
    await node.start();
    for (const step of walk(known)) {
      const { operation, as = 'ada', path = {}, query, body, settles } = step();
      const route = routes.get(operation);
      if (route === undefined) throw new Error(`no operation ${operation}`);
      await world.time.pause(settles ? SETTLED_MS : 1_000);
      const token = tokenOf(as, known);
      const filled = route.path.replace(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(path[name] ?? ''),
      );
      const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
      const reply: Reply = await node.call({
        ...{ method: route.method, path: filled + search, body },
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      if (reply.status >= 300) throw new Error(`${operation}: ${reply.status} ${JSON.stringify(reply.body)}`);
      answers.set(operation, reply.body);
      const before = examples[operation];
      const parameters = { ...path, ...query };
      examples[operation] = {
        ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
        ...(body === undefined ? {} : { body }),
        answers: {
          ...before?.answers,
          ...(reply.body === '' ? {} : { [reply.status]: shown(reply.body) }),
        },
      };
    }
  };
  try {
    world.faults.areOn = false;
    await world.open();
    await world.time.until(tell(), 60 * 60_000);
    return examples;
  } finally {
    await world.close();
  }
};
