import { z } from 'zod';
import type { Client } from './client.ts';

/** The tenant's event log (decisions, section 11); strict, to detect additional keys. */

export const EVENT_LOG = '/api/v1/tenant/audit/event-log';

export const logLine = z.strictObject({
  at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  actor: z.strictObject({
    kind: z.enum(['user', 'platform_admin', 'api_token', 'extension', 'partner', 'public', 'system']),
    id: z.string(),
    email: z.string(),
  }),
  impersonated_by: z.string().optional(),
  action: z.string().regex(/^[a-z][a-z0-9_]*$/),
  subject: z.strictObject({ kind: z.string().min(1), id: z.string().min(1) }),
  position: z.string().min(1),
  request_id: z.string().min(1),
});
export type LogLine = z.output<typeof logLine>;

/** One page and the path of the next. */
export const logPage = async (api: Client, path = EVENT_LOG) => {
  const answer = await api.get(path);
  const next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
  return { lines: answer.as(z.array(logLine)), next };
};

/** Every line, newest first. */
export const wholeLog = async (api: Client, query = ''): Promise<LogLine[]> => {
  const all: LogLine[] = [];
  let path: string | undefined = `${EVENT_LOG}?limit=200${query}`;
  while (path !== undefined) {
    const page: Awaited<ReturnType<typeof logPage>> = await logPage(api, path);
    all.push(...page.lines);
    path = page.next;
  }
  return all;
};
