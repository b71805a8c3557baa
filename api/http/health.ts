import { z } from 'zod';
import { type Route, route } from './route.ts';

export type Check = 'ok' | 'catching_up' | 'failed';

/** Conditions for serving requests, by name, such as reachable stores or read models that have caught up. */
export type Readiness = () => Promise<{
  readonly checks: Readonly<Record<string, Check>>;
  /** Whether load balancers should send requests here; stays true while a node that was ready catches up. */
  readonly serves: boolean;
}>;

const ready = z.object({
  status: z.enum(['ready', 'catching_up', 'unavailable']),
  checks: z.record(z.string(), z.enum(['ok', 'catching_up', 'failed'])),
});
const notReady = ready.extend({ error: z.literal('unavailable'), message: z.string() });

/** `GET /health/live` reports that the process runs, `GET /health/ready` that it can serve. */
export const healthRoutes = (readiness: Readiness): readonly Route[] => [
  route({
    method: 'get',
    path: '/health/live',
    operationId: 'healthLive',
    summary: 'Says that the process runs',
    tag: 'Operations',
    access: { kind: 'public' },
    responses: { 200: z.object({ status: z.literal('live') }) },
    handle: async () => ({ status: 200, body: { status: 'live' } }),
  }),
  route({
    method: 'get',
    path: '/health/ready',
    operationId: 'healthReady',
    summary: 'Says that the stores are reached and whether the read models have caught up',
    tag: 'Operations',
    access: { kind: 'public' },
    responses: { 200: ready, 503: notReady },
    handle: async () => {
      const { checks, serves } = await readiness();
      const status = statusOf(Object.values(checks));
      if (serves) return { status: 200, body: { status, checks } };
      const body = { error: 'unavailable', message: 'Not ready to serve yet.', status, checks };
      return { status: 503, body, headers: { 'Retry-After': '1' } };
    },
  }),
];

const statusOf = (checks: readonly Check[]): 'ready' | 'catching_up' | 'unavailable' => {
  if (checks.includes('failed')) return 'unavailable';
  return checks.includes('catching_up') ? 'catching_up' : 'ready';
};
