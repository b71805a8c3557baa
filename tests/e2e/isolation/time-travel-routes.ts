import type { Attack } from './routes.ts';

const stateOf = (stream: string): string =>
  `/api/v1/tenant/audit/streams/${encodeURIComponent(stream)}/state`;

/** States of another tenant's streams, by their full names, and by their ids under the caller's own tenant. */
export const TIME_TRAVEL_ROUTES: Readonly<Record<string, Attack>> = {
  'GET /api/v1/tenant/audit/streams/{stream}/state': (foreign, own) =>
    [
      ['user', foreign.user],
      ['conversation', foreign.conversation],
      ['record', foreign.job],
      ['entry', foreign.entry],
      ['bulk', foreign.bulkSession],
      ['api_token', foreign.apiToken],
    ]
      .flatMap(([category, id]) => [
        stateOf(`${foreign.tenant}.${category}-${id}`),
        stateOf(`${own.tenant}.${category}-${id}`),
        `${stateOf(`${foreign.tenant}.${category}-${id}`)}?at=2030-01-01T00:00:00Z`,
      ])
      .concat(
        stateOf(`${foreign.tenant}.journal-main`),
        stateOf(`platform.tenant-${foreign.tenant}`),
        `${stateOf(`${own.tenant}.user-${own.user}`)}?tenant_id=${foreign.tenant}`,
      )
      .map((path) => ({ method: 'GET', path })),
};
