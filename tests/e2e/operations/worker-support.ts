import { type Agent, request } from 'node:http';
import { z } from 'zod';
import { scrapeOf } from '../../support/metrics.ts';
import { eventually, type Server } from '../../support/server.ts';

/** Servers with `WORKERS=2` (decision 57). */

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends a request on a new connection, which any process may accept, or on one of `agent`'s. Rejects when the
 * connection breaks.
 */
export const alone = (
  server: Server,
  method: string,
  path: string,
  options: {
    readonly token?: string;
    readonly body?: unknown;
    readonly key?: string;
    readonly agent?: Agent;
  } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { token, body, key, agent = false } = options;
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const call = request({ host: '127.0.0.1', port: server.port, method, path, headers, agent }, (found) => {
      found.setEncoding('utf8');
      let text = '';
      found.on('data', (chunk: string) => {
        text += chunk;
      });
      found.on('end', () => resolve({ status: found.statusCode ?? 0, text }));
      found.on('error', reject);
    });
    call.on('error', reject);
    call.setTimeout(60_000, () => call.destroy(new Error(`${method} ${path} hangs`)));
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });

const started = z.object({ msg: z.literal('a process was started'), process: z.int(), pid: z.int() });

/** Ids of the processes started so far, by their place in the group. */
export const pidsOf = (server: Server): Map<number, number[]> => {
  const pids = new Map<number, number[]>();
  for (const line of server.output().split('\n')) {
    if (!line.includes('a process was started')) continue;
    const { process: place, pid } = started.parse(JSON.parse(line));
    pids.set(place, [...(pids.get(place) ?? []), pid]);
  }
  return pids;
};

/** Waits until both processes serve. */
export const allServe = (server: Server): Promise<true> =>
  eventually(
    'all processes serve',
    async () => {
      const { value } = scrapeOf((await alone(server, 'GET', '/metrics')).text);
      return ['api', 'all'].every((role) => value('workflow_build_info', { role }) === 1);
    },
    60_000,
  );
