import { z } from 'zod';
import { ensurePlatformAdmin } from '../../../api/first-run.ts';
import { Dice } from '../../simulation/dice.ts';
import { Hosts } from '../../simulation/hosts.ts';
import { type Reply, Upload } from '../../simulation/network.ts';
import type { SimulatedNode } from '../../simulation/node.ts';
import { World } from '../../simulation/world.ts';
import { assertionOf, tokenOf } from './callers.ts';
import { closing, FAILING_HOST, ROOT } from './closing.ts';
import { recordEnvelopes, recordedDeliveries } from './events.ts';
import { recordRefusals } from './refusals.ts';
import { type Step, walk } from './walk.ts';

/** An example as `api/openapi/examples.json` has it. */
export interface Example {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** JSON answers by status; other answers by status and media type. */
  readonly answers: Readonly<Record<string, unknown>>;
}

/** The part of a run that is stored in `api/openapi/examples.json`. */
export interface Recorded {
  readonly operations: Readonly<Record<string, Example>>;
  readonly errors: Readonly<Record<string, unknown>>;
  readonly events: Readonly<Record<string, unknown>>;
}

const answer = z.looseObject({ content: z.record(z.string(), z.unknown()).default({}) });
const document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({ operationId: z.string().optional(), responses: z.record(z.string(), answer) }),
    ),
  ),
});

interface Described {
  readonly method: string;
  readonly path: string;
  /** The media type of an answer that is not JSON. */
  readonly typeOf: (status: number) => string | undefined;
}

const routesOf = (openapi: unknown): ReadonlyMap<string, Described> => {
  const found = new Map<string, Described>();
  for (const [path, operations] of Object.entries(document.parse(openapi).paths)) {
    for (const [method, { operationId, responses }] of Object.entries(operations)) {
      const typeOf = (status: number) =>
        Object.keys(responses[status]?.content ?? {}).find((type) => type !== 'application/json');
      if (operationId !== undefined) found.set(operationId, { method: method.toUpperCase(), path, typeOf });
    }
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

const SECRET = /^(?:token|secret|prefix|link)$/;

/** The answer with its secrets and the version of Node replaced. */
const shown = (value: unknown, name = ''): unknown => {
  if (typeof value === 'string') {
    // The version of Node in the answer of `version`.
    if (name === 'node') return '24.0.0';
    if (SECRET.test(name)) return `${/^(?:whsec_|svc_pat_)?/.exec(value)?.[0] ?? ''}xxxxxxxx`;
    return name === 'url' ? value.replace(/#.*$/, '#xxxxxxxx') : value;
  }
  if (Array.isArray(value)) return value.map((one) => shown(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(one, key)]));
};

/** The longest virtual time (ms) of the walk. */
const LONGEST_MS = 24 * 60 * 60_000;
/** Milliseconds of virtual time in which background work settles. */
const SETTLED_MS = 5_000;
const ENVIRONMENT = {
  PLATFORM_ADMIN_EMAIL: ROOT.email,
  PLATFORM_ADMIN_PASSWORD: ROOT.password,
  BILLING_UPSTREAM_URL: 'https://billing.example/invoices',
};
/** Allows one request at once. */
const LIMITED = { ...ENVIRONMENT, RATE_LIMIT_PER_MINUTE: '5' };

/** Hosts that answer without faults, except one that always fails, and the billing system, which fails once. */
const hostsOf = (world: World): Hosts => {
  const hosts = new Hosts(world, new Dice(1, 5));
  hosts.heal();
  hosts.serve(FAILING_HOST, () => ({ status: 500 }));
  let invoices = 0;
  hosts.serve('billing.example', () => {
    invoices += 1;
    return invoices === 1 ? { status: 503 } : { status: 200, body: { reference: 'B-2026-0017' } };
  });
  return hosts;
};

/** Texts and lists of an answer are shown to this length. */
const SHOWN = { characters: 2_000, elements: 5 };

const cut = (value: unknown): unknown => {
  if (typeof value === 'string' && value.length > SHOWN.characters)
    return value.slice(0, value.lastIndexOf('\n', SHOWN.characters) + 1);
  return Array.isArray(value) ? value.slice(0, SHOWN.elements) : value;
};

/** The body as the document shows it: a form with a file by its text, and secrets replaced. */
const bodyOf = (body: unknown): unknown => (body instanceof Upload ? { file: body.text } : shown(body));

/**
 * Makes the requests of the walk to the product on virtual time, with ids and texts drawn from a seed, so that each run
 * gives the same answers. @throws {Error} when a request is refused
 */
export const recordExamples = async (openapi: unknown): Promise<Recorded> => {
  const routes = routesOf(openapi);
  const world = new World(1, 0);
  const hosts = hostsOf(world);
  const answers = new Map<string, unknown>();
  const operations: Record<string, Example> = {};
  const known = (operation: string, path: string): string => {
    const found = atPath(answers.get(operation), path);
    if (typeof found !== 'string') throw new Error(`${operation} has answered nothing at ${path}`);
    return found;
  };

  const described = (operation: string): Described => {
    const found = routes.get(operation);
    if (found === undefined) throw new Error(`no operation ${operation}`);
    return found;
  };

  const send = async (
    node: SimulatedNode,
    step: Step,
    { method, path: template }: Described,
  ): Promise<Reply> => {
    const { as = 'ada', path = {}, query, body, headers, status } = step;
    const token = as === 'nobody' ? undefined : tokenOf(as, known);
    const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const reply = await node.call({
      ...{ method, path: filled + search, body },
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    });
    if (status === undefined ? reply.status >= 300 : reply.status !== status)
      throw new Error(`${step.operation}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply;
  };

  const keep = (step: Step, { status, body: answer }: Reply, route: Described): void => {
    const { operation, path, query, body } = step;
    const parameters = { ...path, ...query };
    const key = typeof answer === 'string' ? `${status} ${route.typeOf(status)}` : String(status);
    operations[operation] = {
      ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
      ...(body === undefined ? {} : { body: bodyOf(body) }),
      answers: {
        ...operations[operation]?.answers,
        ...(answer === '' || step.status !== undefined ? {} : { [key]: cut(shown(answer)) }),
      },
    };
  };

  const take = async (node: SimulatedNode, step: Step): Promise<void> => {
    const route = described(step.operation);
    await world.time.pause(step.settles ? SETTLED_MS : 1_000);
    for (let left = step.times ?? 0; left > 0; left -= 1) await send(node, step, route);
    if (step.times !== undefined) return;
    const reply = await send(node, step, route);
    answers.set(step.operation, reply.body);
    if (!step.isSkipped) keep(step, reply, route);
  };

  const tell = async (): Promise<Recorded> => {
    // A node with the role `api` that starts after the first write is not ready while no worker runs.
    const early = world.add('early', 'api', hosts.outbound, ENVIRONMENT);
    await early.start();
    const bakery = { id: 'bakery', name: 'The Bakery', plan: 'hobby' };
    await send(early, { operation: 'createTenant', as: 'platform', body: bakery }, described('createTenant'));
    const limited = world.add('limited', 'api', hosts.outbound, LIMITED);
    await limited.start();
    const ready = await limited.call({ method: 'GET', path: '/health/ready' });
    const node = world.add('node', 'all', hosts.outbound, ENVIRONMENT);
    await node.start();
    if (node.platform !== undefined) await ensurePlatformAdmin(node.platform, node.platform.core.config);
    for (const step of walk(known)) await take(node, step());
    const tokens = { ada: tokenOf('ada', known), ben: tokenOf('ben', known), eve: tokenOf('eve', known) };
    const envelopes = await recordEnvelopes(world, node, tokens, known);
    for (const step of closing(known, () => assertionOf(world.time.now))) await take(node, step());
    keep({ operation: 'healthReady' }, ready, described('healthReady'));
    const errors = await recordRefusals(world, { node, limited }, tokens);
    await world.time.pause(SETTLED_MS);
    return { operations, errors, events: { ...envelopes, ...recordedDeliveries(hosts) } };
  };
  try {
    world.faults.areOn = false;
    await world.open({ isSqlite: true });
    return await world.time.until(tell(), LONGEST_MS);
  } finally {
    await world.close();
  }
};
