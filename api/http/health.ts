import { z } from 'zod';
import { operatorRoute, type Route, route } from './route.ts';

/**
 * `starting`: the start is not complete. `catching_up`: healthy, but behind the log. `missing`: no process folds
 * read models. `failed`: a store does not answer.
 */
const CHECKS = ['ok', 'starting', 'catching_up', 'missing', 'failed'] as const;
export type Check = (typeof CHECKS)[number];

/** Conditions for serving requests, by name, such as reachable stores or read models that have caught up. */
export type Readiness = () => Promise<{
  readonly checks: Readonly<Record<string, Check>>;
  /** Whether load balancers should send requests here; stays true while a process that was ready catches up. */
  readonly serves: boolean;
}>;

const STATUSES = ['ready', 'starting', 'catching_up', 'no_worker', 'unavailable'] as const;
type Status = (typeof STATUSES)[number];

const ready = z.object({
  status: z.enum(STATUSES),
  checks: z.record(z.string(), z.enum(CHECKS)),
});
const notReady = ready
  .extend({ error: z.literal('unavailable'), message: z.string(), request_id: z.string() })
  .meta({ id: 'NotReady' });

/** The build that runs, for `GET /version`. */
export interface Build {
  readonly version: string;
  /** Revision of the sources, if the build was given one. */
  readonly revision?: string | null | undefined;
}

export const versionRoute = ({ version, revision = null }: Build): Route =>
  route({
    ...operatorRoute,
    path: '/version',
    operationId: 'version',
    summary: 'The version of the running build',
    description:
      'Answers `version` as in `package.json`, `revision` of the sources where the build was given one (`BUILD_REVISION`), and the version of `node`. During an upgrade it tells which build a node runs.',
    isPrompt: true,
    responses: { 200: z.object({ version: z.string(), revision: z.string().nullable(), node: z.string() }) },
    handle: async () => ({ status: 200, body: { version, revision, node: process.versions.node } }),
  });

/** `GET /health/live` reports that the process runs, `GET /health/ready` that it can serve. */
export const healthRoutes = (readiness: Readiness): readonly Route[] => [
  route({
    ...operatorRoute,
    path: '/health/live',
    operationId: 'healthLive',
    openQuery: true,
    summary: 'Liveness: whether the process runs',
    description: 'For a supervisor that restarts the process. It does not check the stores.',
    isPrompt: true,
    responses: { 200: z.object({ status: z.literal('live') }) },
    handle: async () => ({ status: 200, body: { status: 'live' } }),
  }),
  route({
    ...operatorRoute,
    path: '/health/ready',
    operationId: 'healthReady',
    openQuery: true,
    summary: 'Readiness: whether the stores are reachable and the read models have caught up',
    description: 'For a load balancer. `checks` has the state of each check.',
    isPrompt: true,
    responses: { 200: ready.meta({ id: 'Ready' }), 503: notReady },
    handle: async ({ requestId }) => {
      const { checks, serves } = await readiness();
      const status = statusOf(Object.values(checks));
      if (serves) return { status: 200, body: { status, checks } };
      const refusal = { error: 'unavailable', message: MESSAGES[status], request_id: requestId };
      const body = { ...refusal, status, checks };
      return { status: 503, body, headers: { 'Retry-After': '1' } };
    },
  }),
];

/** The status of the worst check. */
const statusOf = (checks: readonly Check[]): Status => {
  if (checks.includes('failed')) return 'unavailable';
  if (checks.includes('missing')) return 'no_worker';
  if (checks.includes('starting')) return 'starting';
  return checks.includes('catching_up') ? 'catching_up' : 'ready';
};

const MESSAGES: Readonly<Record<Status, string>> = {
  ready: 'Not ready to serve yet.',
  starting: 'Not ready to serve yet: the start is not complete.',
  catching_up: 'Not ready to serve yet: the read models are catching up with the log.',
  no_worker: 'Not ready to serve yet: no worker updates the read models. Start one with ROLE=worker.',
  unavailable: 'Not ready to serve: a store is unavailable.',
};
