import { z } from 'zod';
import type { Route } from '../../../api/http/route.ts';
import { type Reply, route } from '../../../api/http/route.ts';
import { cursor, idParams, limit, text } from '../../../api/http/schemas.ts';
import type { Position } from '../../../application/ports/event-store.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { SearchGivenUp, TooManySearches } from '../../../application/ports/searches.ts';
import { DomainError, notFound } from '../../../domain/core/errors.ts';
import { listOf } from '../../../domain/core/list-schema.ts';

/** A small route table that uses every part of the pipeline. */

export const KNOWN = '0192abcd-0000-7000-8000-000000000001';
export const UNKNOWN = '0192abcd-0000-7000-8000-000000000002';

const anyone = { kind: 'principals', kinds: ['user'] } as const;
const admins = { kind: 'principals', kinds: ['user'], roles: ['admin'] } as const;

const isPosition = (value: string): value is Position => value.length > 0;
const at = (value: string): Position => {
  if (!isPosition(value)) throw new Error('no position');
  return value;
};

const thing = z.object({ id: z.string(), title: z.string() }).meta({ id: 'Thing' });

export const THROWN: Readonly<Record<string, () => Error>> = {
  unavailable: () => new StoreUnavailable('mongodb://user:pass@host is down'),
  costly: () => new SearchGivenUp('a search took too long'),
  searches: () => new TooManySearches('too many searches are waiting'),
  unknown: () => new TypeError('SELECT * FROM secrets'),
  assistant: () => new DomainError('assistant_not_entitled', 'Not part of the plan.', { plan: 'pro' }),
  behind: () => new DomainError('read_model_behind', 'Not there yet.'),
};

export const testRoutes = (effects: unknown[] = []): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/v1/things',
    aliases: ['/things'],
    operationId: 'createThing',
    summary: 'Makes a thing',
    description: 'A route of the tests.',
    tag: 'Things',
    access: anyone,
    query: z.object({ dry: z.string().optional() }),
    body: z.object({
      title: text({ max: 10 }),
      lines: listOf(z.object({ debit: z.int() }), { max: 1000 }).optional(),
    }),
    responses: { 201: thing },
    handle: async ({ body, idempotency, requestId, ip }) => {
      effects.push({ title: body.title, idempotency, requestId, ip });
      await new Promise((resolve) => setTimeout(resolve, 20));
      return {
        status: 201,
        body: { id: KNOWN, title: body.title, secret: 's3cret', n: effects.length },
        position: at('p7'),
        headers: { Location: '/api/v1/things/1' },
        secrets: ['secret'],
      };
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/things',
    operationId: 'listThings',
    summary: 'Lists things',
    description: 'A route of the tests.',
    tag: 'Things',
    access: anyone,
    query: z.object({ limit: limit(), cursor, state: z.string().optional() }),
    responses: { 200: z.array(thing) },
    reads: ['things'],
    handle: async ({ query }) => ({
      status: 200,
      body: [{ id: KNOWN, title: String(query.limit) }],
      next: { cursor: 'a b&c' },
    }),
  }),
  route({
    method: 'get',
    path: '/api/v1/things/:id',
    operationId: 'getThing',
    summary: 'Shows a thing',
    description: 'A route of the tests.',
    tag: 'Things',
    access: anyone,
    params: idParams,
    responses: { 200: thing },
    handle: async ({ params }): Promise<Reply> => {
      if (params.id !== KNOWN) throw notFound();
      return { status: 200, body: { id: params.id, title: 'One' } };
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/things/special',
    operationId: 'special',
    summary: 'A fixed path beside a variable',
    description: 'A route of the tests.',
    tag: 'Things',
    access: anyone,
    responses: { 200: z.object({ special: z.boolean() }) },
    handle: async () => ({ status: 200, body: { special: true } }),
  }),
  route({
    method: 'delete',
    path: '/api/v1/things/:id',
    operationId: 'deleteThing',
    summary: 'Removes a thing',
    description: 'A route of the tests.',
    tag: 'Things',
    access: admins,
    params: idParams,
    responses: { 204: null },
    handle: async () => ({ status: 204 }),
  }),
  {
    ...route({
      method: 'put',
      path: '/api/v1/big',
      operationId: 'big',
      summary: 'Takes larger bodies',
      description: 'A route of the tests.',
      tag: 'Things',
      access: admins,
      body: z.object({ text: z.string() }),
      responses: { 200: z.object({ size: z.int() }) },
      handle: async ({ body }) => ({ status: 200, body: { size: body.text.length } }),
    }),
    bodyLimit: 2_000_000,
  },
  route({
    method: 'post',
    path: '/api/v1/boom/:kind',
    operationId: 'boom',
    openQuery: true,
    summary: 'Fails',
    description: 'A route of the tests.',
    tag: 'Things',
    access: anyone,
    params: z.object({ kind: z.string() }),
    responses: { 204: null },
    errors: ['assistant_not_entitled', 'read_model_behind'],
    handle: async ({ params }) => {
      effects.push(params.kind);
      throw THROWN[params.kind]?.() ?? notFound();
    },
  }),
  route({
    method: 'get',
    path: '/super/tenants',
    operationId: 'listTenants',
    summary: 'Lists tenants',
    description: 'A route of the tests.',
    tag: 'Platform',
    access: { kind: 'principals', kinds: ['platform_admin'] },
    responses: { 200: z.array(z.string()) },
    handle: async () => ({ status: 200, body: [] }),
  }),
  route({
    method: 'post',
    path: '/auth/login',
    operationId: 'login',
    summary: 'Signs in',
    description: 'A route of the tests.',
    tag: 'Sign-in',
    access: { kind: 'public' },
    limit: 'login',
    body: z.object({ email: z.string(), password: z.string() }),
    responses: { 200: z.object({ token: z.string() }) },
    errors: ['invalid_credential'],
    handle: async ({ body }) => {
      if (body.password !== 'right') throw new DomainError('invalid_credential', 'Not these.');
      return { status: 200, body: { token: 't' } };
    },
  }),
];
