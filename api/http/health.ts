import { z } from 'zod';
import { type Route, route } from './route.ts';

/** Conditions for serving requests by name (stores reachable, read models caught up …). */
export type Readiness = () => Promise<Readonly<Record<string, boolean>>>;

const ready = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) });
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
    summary: 'Says that the stores are reached and the read models have caught up',
    tag: 'Operations',
    access: { kind: 'public' },
    responses: { 200: ready, 503: notReady },
    handle: async () => {
      const found = await readiness();
      const checks = Object.fromEntries(
        Object.entries(found).map(([name, good]) => [name, good ? 'ok' : 'failed']),
      );
      if (Object.values(found).every(Boolean)) return { status: 200, body: { status: 'ready', checks } };
      const body = {
        error: 'unavailable',
        message: 'Not ready to serve yet.',
        status: 'unavailable',
        checks,
      };
      return { status: 503, body, headers: { 'Retry-After': '1' } };
    },
  }),
];
