import { startChild } from './http/child.ts';
import { closedLoop, requestBytes } from './http/load.ts';
import {
  BODY,
  inFolder,
  listenIdly,
  makePairs,
  messageRequests,
  startPlatformChild,
} from './http/platform.ts';
import { tenantToken } from './http/tokens.ts';
import { type Line, perSecond } from './report.ts';
import { alternate } from './rounds.ts';

const CONNECTIONS = 64;
const ROUNDS = 3;
const OF_BARE = 0.3;
const OF_CRUD = 2.5;

/**
 * Compares `POST …/messages` with plain Express and with a plain CRUD route under the same load: 64 connections of 64
 * people in 32 conversations. Each conversation has one open WebSocket.
 */
export const benchPostMessage = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const seconds = Math.max(0.3, 4 * scale);
    const warmUp = Math.max(0.3, 3 * scale);
    const bare = await startChild('http/bare-express.ts', '/');
    const crud = await startChild('http/plain-crud.ts', '/', { DATA_DIR: folder });
    const platform = await startPlatformChild(`${folder}/platform`);
    try {
      const pairs = await makePairs(platform.port, CONNECTIONS / 2);
      const sockets = await Promise.all(pairs.map((pair) => listenIdly(platform.port, pair.tokens[1])));
      const posts = messageRequests(pairs);
      const echo = requestBytes('POST', '/echo', { body: BODY });
      const inserts = Array.from({ length: CONNECTIONS }, (_, nth) => {
        const token = tenantToken('bench', `user-${nth}`);
        return [requestBytes('POST', `/conversations/c${nth >> 1}/messages`, { token, body: BODY })];
      });
      const sides = (each: number) => ({
        bare: () =>
          closedLoop({
            port: bare.port,
            requests: Array(64).fill([echo]),
            seconds: each,
            expectedStatus: 200,
          }),
        crud: () => closedLoop({ port: crud.port, requests: inserts, seconds: each, expectedStatus: 201 }),
        platform: () =>
          closedLoop({ port: platform.port, requests: posts, seconds: each, expectedStatus: 201 }),
      });
      await alternate(1, sides(warmUp));
      const rates = await alternate(ROUNDS, sides(seconds));
      for (const socket of sockets) socket.destroy();
      return [
        lineOf(rates.platform, 'bare Express, parse and echo', rates.bare, OF_BARE),
        lineOf(rates.platform, 'plain CRUD, one transaction each', rates.crud, OF_CRUD),
      ];
    } finally {
      await Promise.all([bare.stop(), crud.stop(), platform.stop()]);
    }
  });

const lineOf = (value: number, name: string, yardstick: number, least: number): Line => ({
  figure: 'POST message, 64 connections',
  value: perSecond(value),
  yardstick: { name, value: perSecond(yardstick) },
  target: { text: `≥ ${least}`, met: value / yardstick >= least },
});

/** Messages per second, as in {@link benchPostMessage}, without the yardsticks and without open WebSockets. */
export const postRate = (scale: number): Promise<number> =>
  inFolder(async (folder) => {
    const platform = await startPlatformChild(folder);
    try {
      const requests = messageRequests(await makePairs(platform.port, CONNECTIONS / 2));
      const seconds = Math.max(0.3, 3 * scale);
      const run = () => closedLoop({ port: platform.port, requests, seconds, expectedStatus: 201 });
      await run();
      return await run();
    } finally {
      await platform.stop();
    }
  });
