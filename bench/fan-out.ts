import { once } from 'node:events';
import { WebSocket } from 'ws';
import { Connection, requestBytes } from './http/load.ts';
import { inFolder, makePairs, messagesPath, type Pair, startPlatformChild } from './http/platform.ts';
import { type Line, milliseconds } from './report.ts';
import { median, percentile, scaled, until } from './rounds.ts';

export const PER_SECOND = 200;
const PAIRS = 20;
const CONNECTIONS = 8;
const MOST_MS = 25;

/**
 * Latency from the POST to the envelope in the other person's socket, at 200 messages per second. Messages are sent on
 * schedule even when the server lags, and times count from the scheduled time, so that stalls are visible.
 */
export const benchFanOut = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const platform = await startPlatformChild(folder);
    try {
      const pairs = await makePairs(platform.port, PAIRS);
      await steady(platform.port, pairs, scaled(600, scale, 40));
      const { posts, envelopes } = await steady(platform.port, pairs, scaled(3000, scale, 100));
      const [post, envelope] = [percentile(posts, 0.99), percentile(envelopes, 0.99)];
      const beyond = envelope - post;
      return [
        {
          figure: 'POST to envelope at 200/s, p99',
          value: milliseconds(envelope),
          yardstick: { name: 'the POST itself, p99', value: milliseconds(post) },
          target: { text: `+ ${MOST_MS} ms`, met: beyond <= MOST_MS },
        },
        {
          figure: 'POST to envelope at 200/s, median',
          value: milliseconds(median(envelopes)),
          yardstick: { name: 'the POST itself, median', value: milliseconds(median(posts)) },
        },
      ];
    } finally {
      await platform.stop();
    }
  });

export interface Times {
  readonly posts: number[];
  readonly envelopes: number[];
}

/** Sends messages at {@link PER_SECOND}, each at its scheduled time. */
export const steady = async (port: number, pairs: readonly Pair[], count: number): Promise<Times> => {
  const due = new Map<string, number>();
  const times: Times = { posts: [], envelopes: [] };
  const sockets = await Promise.all(
    pairs.map((pair) => follow(port, pair.tokens[1], (body) => arrived(body, due, times.envelopes))),
  );
  const idle = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(port)));
  const open = [...idle];
  const began = performance.now() + 50;
  const pending: Promise<void>[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const at = began + (nth * 1000) / PER_SECOND;
    await until(at);
    const pair = pairs[nth % pairs.length];
    if (pair === undefined) throw new Error('no conversations');
    const body = `message ${nth} `.padEnd(120, '.');
    due.set(body, at);
    const request = requestBytes('POST', messagesPath(pair.id), { token: pair.tokens[0], body: { body } });
    const connection = idle.pop() ?? (await opened(port, open));
    pending.push(
      connection.request(request).then(({ status }) => {
        if (status !== 201) throw new Error(`a POST was answered ${status}`);
        times.posts.push(performance.now() - at);
        idle.push(connection);
      }),
    );
  }
  await Promise.all(pending);
  const deadline = performance.now() + 5000;
  while (times.envelopes.length < count && performance.now() < deadline) await until(performance.now() + 5);
  for (const socket of sockets) socket.terminate();
  for (const connection of open) connection.close();
  if (times.envelopes.length < count)
    throw new Error(`${count - times.envelopes.length} envelopes are missing`);
  return times;
};

const opened = async (port: number, open: Connection[]): Promise<Connection> => {
  const connection = await Connection.open(port);
  open.push(connection);
  return connection;
};

const follow = async (port: number, token: string, onMessage: (body: string) => void): Promise<WebSocket> => {
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/ws`, { headers });
  socket.on('message', (data) => {
    const envelope = JSON.parse(String(data));
    if (envelope.kind === 'message') onMessage(envelope.message.body);
  });
  await once(socket, 'open');
  return socket;
};

const arrived = (body: string, due: Map<string, number>, times: number[]): void => {
  const at = due.get(body);
  if (at === undefined) return;
  due.delete(body);
  times.push(performance.now() - at);
};
